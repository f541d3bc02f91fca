//! When a stage needs most, what is in flight then, what is printed at which moment, and what comes on top.

use leptos::html::Div;
use leptos::prelude::*;

use super::reserved::ReservedLine;
use crate::browser;
use crate::components::form::control_id;
use crate::parts::{InSight, Table, deferred_signal, passing_memo, text_cells};
use crate::state::ResultsState;
use megatron_memory::config::fields::FieldId;
use megatron_memory::memory::overhead::{self, memory_range};
use megatron_memory::report::amount::Scale;
use megatron_memory::report::charts::Subject;
use megatron_memory::report::scene::Px;
use megatron_memory::report::{in_flight, moments};
use megatron_memory::source::Source;

/// What there is to say about the shown stage's peak.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Peak {
    /// When the peak is, and what stays between steps, as two sentences.
    moment: String,
    /// The chunks of the stage with their micro batches.
    chunks: Vec<in_flight::InFlightRow>,
    /// What is printed at the moments of the job.
    moments: Vec<moments::MomentRow>,
    /// The overheads on top of the prediction.
    overheads: Vec<Overhead>,
    /// The prediction with the least and with the most of all overheads.
    device: String,
}

/// An overhead on top of the prediction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Overhead {
    what: &'static str,
    /// The field that sets it.
    field: FieldId,
    /// The least and the most, or one amount where they are the same.
    range: String,
    source: Source,
}

/// What there is to say about the shown stage's peak.
#[component]
pub(super) fn PeakFacts() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let place = NodeRef::<Div>::new();
    let peak = deferred_signal(
        place,
        InSight::AfterFrame,
        move || results.page.outcome.track(),
        move || results.with_subject(Px::ZERO, Peak::of).flatten(),
    );
    let is_known = Memo::new(move |_| peak.read().is_some());
    view! {
        <div class="peaks" node_ref=place>
            <Show when=move || is_known.get()>
                <p>{move || of_peak(peak, |peak| peak.moment.clone())}</p>
                <InFlightTable peak=peak />
                <MomentTable peak=peak />
                <OverheadTable peak=peak />
                <ReservedLine />
            </Show>
        </div>
    }
}

fn of_peak<T: Default>(peak: ReadSignal<Option<Peak>>, read: impl FnOnce(&Peak) -> T) -> T {
    peak.read().as_ref().map(read).unwrap_or_default()
}

#[component]
fn InFlightTable(peak: ReadSignal<Option<Peak>>) -> impl IntoView {
    let row = |row: &in_flight::InFlightRow| {
        let cells = [&row.chunk, &row.layers, &row.alive, &row.each, &row.all];
        view! { <tr>{text_cells(cells.map(String::clone))}</tr> }
    };
    view! {
        <div class="table-scroll">
            <Table caption="Micro batches in flight" headings=["Chunk", "Layers", "In flight", "Each keeps", "Together"]>
                {move || of_peak(peak, |peak| peak.chunks.iter().map(row).collect_view())}
            </Table>
        </div>
    }
}

/// What a log says at which moment of the job: Megatron-LM prints its line after the first iteration with
/// `--log-interval 1`, before the optimizer has moments in the passes.
#[component]
fn MomentTable(peak: ReadSignal<Option<Peak>>) -> impl IntoView {
    let row = |row: &moments::MomentRow| {
        view! {
            <tr>
                <td>{row.moment}</td>
                <td>{row.steady.clone()}</td>
                <td>{row.peak.clone()}</td>
            </tr>
        }
    };
    view! {
        <div class="table-scroll moments">
            <Table caption="What a log prints" headings=["When", "Allocated", "Max allocated"] rows_test_id="moments">
                {move || of_peak(peak, |peak| peak.moments.iter().map(row).collect_view())}
            </Table>
        </div>
    }
}

#[component]
fn OverheadTable(peak: ReadSignal<Option<Peak>>) -> impl IntoView {
    let fields = Memo::new(move |_| {
        of_peak(peak, |peak| {
            let overheads = peak.overheads.iter();
            overheads.map(|overhead| overhead.field).collect::<Vec<_>>()
        })
    });
    view! {
        <div class="table-scroll">
            <Table caption="Allowed for, not predicted" headings=["On top", "Amount", "Field", "Source"]>
                <For each=move || fields.get() key=|field| field.field().key let:field>
                    <OverheadRow peak=peak field=field />
                </For>
                <tr>
                    <td>"what the device may show"</td>
                    <td>{move || of_peak(peak, |peak| peak.device.clone())}</td>
                    <td></td>
                    <td></td>
                </tr>
            </Table>
        </div>
    }
}

/// What comes on top for one reason, with the way to the field that sets it.
#[component]
fn OverheadRow(peak: ReadSignal<Option<Peak>>, field: FieldId) -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let overhead = passing_memo(move || {
        of_peak(peak, |peak| {
            let mut overheads = peak.overheads.iter();
            overheads.find(|overhead| overhead.field == field).cloned()
        })
    });
    let go = move |_| {
        page.reveal(field);
        browser::focus(control_id(field.field()));
    };
    view! {
        <tr>
            <td>{move || overhead.get().map(|overhead| overhead.what)}</td>
            <td>{move || overhead.get().map(|overhead| overhead.range)}</td>
            <td>
                <button
                    type="button"
                    class="link"
                    aria-label=format!("Set {}", field.field().label)
                    on:click=go
                >
                    "set"
                </button>
            </td>
            <td>
                {move || overhead.get().map(|overhead| view! {
                    <a href=overhead.source.citation().url() target="_blank" rel="noreferrer">"source"</a>
                })}
            </td>
        </tr>
    }
}

impl Peak {
    fn of(subject: &Subject<'_>) -> Option<Self> {
        let stage = subject.estimate.stage(subject.stage)?;
        let module = subject.config.modules().get(subject.stage.module)?;
        let scale = Scale::fine(subject.unit);
        let device = memory_range(module, subject.config.gpu_memory(), stage.total, stage.graphs);
        let overheads = device.overheads();
        Some(Self {
            moment: format!(
                "Heaviest moment: {}. {} stay between steps.",
                stage.moment,
                scale.amount(stage.steady)
            ),
            chunks: in_flight::rows(subject),
            moments: moments::rows(subject),
            overheads: overheads.map(|one| Overhead::of(one, scale)).collect(),
            device: format!("{} to {}", scale.number(device.low), scale.amount(device.high)),
        })
    }
}

impl Overhead {
    fn of(overhead: &overhead::Overhead, scale: Scale) -> Self {
        let (low, high) = (overhead.low, overhead.high);
        let range = if low == high {
            scale.amount(high)
        } else {
            format!("{} to {}", scale.number(low), scale.amount(high))
        };
        Self {
            what: overhead.what,
            field: overhead.field,
            range,
            source: overhead.source,
        }
    }
}
