//! The measurements of a training log beside the prediction, stage by stage.

use std::sync::Arc;

use leptos::prelude::*;

use crate::browser::files;
use crate::parts::{FileButton, Panel, PanelHead, ScrollBox, Table};
use crate::state::{MEASURED_TITLE, MeasuredLog, ResultsState, WorkerQueue};
use crate::values::shown;
use megatron_memory::config::field::Kind;
use megatron_memory::config::fields::FieldId;
use megatron_memory::evidence::{LogComparison, Reason, StageComparison, compare_log};
use megatron_memory::formats::training_log::LogMeasurements;
use megatron_memory::memory::JobMoment;
use megatron_memory::report::amount::Scale;
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;
use search_worker::{Answer, Request};

/// The panel: a field for the log, and the comparison.
#[component]
pub(crate) fn MeasuredPanel() -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let log = expect_context::<MeasuredLog>();
    let reader = WorkerQueue::new();
    let take = move |text: &str| {
        let log_text = text.to_owned();
        reader.ask(Request::Measure { log: log_text }, move |answer| {
            let Some(Answer::Measured(measured)) = answer else {
                return page.toasts.tell("The log could not be read. Reload the page.");
            };
            if !log.take(measured) {
                page.toasts.tell(
                    "No memory is reported in it. Megatron-LM prints it with --log-memory-interval or after the first iteration.",
                );
            }
        });
    };
    let has_log = Memo::new(move |_| log.0.read().is_some());
    view! {
        <Panel class="frameworks measured" title=MEASURED_TITLE>
            <PanelHead id=MEASURED_TITLE title="Beside a measured run" note="a training log of this job; it stays in this page">
                <button
                    type="button"
                    class="link"
                    name="forget-log"
                    hidden=move || !has_log.get()
                    on:click=move |_| log.0.set(None)
                >
                    "Forget the log"
                </button>
            </PanelHead>
            <p class="panel-note" role="status" hidden=move || !reader.is_slow.get()>
                "Reading the log. "
                <button type="button" class="link" name="stop-log" on:click=move |_| reader.stop()>
                    "Stop"
                </button>
            </p>
            <Show when=move || has_log.get() fallback=move || view! { <LogSource take /> }>
                <SoftwareField />
                <StageTable log=log.0 />
            </Show>
        </Panel>
    }
}

/// Where a log is pasted or chosen.
#[component]
fn LogSource(take: impl Fn(&str) + Copy + 'static) -> impl IntoView {
    view! {
        <div class="plan-actions">
            <textarea
                name="log"
                rows="2"
                aria-label="A training log"
                placeholder="Paste a training log"
                spellcheck="false"
                on:change:target=move |event| take(&event.target().value())
                on:paste=move |event| {
                    if let Some(text) = files::pasted(&event) {
                        take(&text);
                    }
                }
            ></textarea>
            <FileButton name="log-file" label="Choose a file" on_file=move |_, text: String| take(&text) />
        </div>
    }
}

/// Asks for what a log says least surely, the software that ran. What it has told stands there.
#[component]
fn SoftwareField() -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let field = FieldId::software_stack.field();
    let chosen = Memo::new(move |_| shown(field, page.value(FieldId::software_stack).as_ref()));
    let names = match field.kind {
        Kind::Choice(names) => names,
        _ => &[],
    };
    let options = names.iter().map(|name| {
        view! { <option value=*name selected=move || *chosen.read() == *name>{*name}</option> }
    });
    let choose = move |name: String| page.set(FieldId::software_stack, Value::Text(name));
    view! {
        <label class="measured-software">
            "Software of the run "
            <select name="log-software" on:change:target=move |event| choose(event.target().value())>
                {options.collect_view()}
            </select>
        </label>
    }
}

/// The stages that the log measured.
#[component]
fn StageTable(log: RwSignal<Option<Arc<LogMeasurements>>>) -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let compared = Memo::new(move |_| {
        page.outcome.track();
        let log = log.read();
        log.as_ref().and_then(|log| compare_log(&page.setup.read().job, log))
    });
    move || {
        let compared = compared.read();
        let Some(LogComparison { stages }) = compared.as_ref() else {
            let words = "The log has no numbers for the stages of this job: it is of another layout.";
            return view! { <p class="panel-note">{words}</p> }.into_any();
        };
        let scale = Scale::fine(page.preferences.unit.get());
        let rows = stages.iter().map(|stage| stage_row(stage, scale));
        let rows = rows.collect_view();
        let mut moments: Vec<JobMoment> = stages.iter().map(|stage| stage.moment).collect();
        moments.dedup();
        let moments: Vec<&str> = moments.into_iter().map(JobMoment::label).collect();
        let moments = format!("Predicted for when the log was printed: {}.", moments.join(", "));
        let mut reasons: Vec<Reason> = stages.iter().flat_map(|stage| stage.reasons.iter().copied()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let reasons = reasons
            .into_iter()
            .map(|reason| view! { <li>{reason.text()}</li> })
            .collect_view();
        view! {
            <ScrollBox titled_by=MEASURED_TITLE>
                <Table headings=[
                    "Stage",
                    "Measured after a step",
                    "Predicted",
                    "Difference",
                    "Measured peak",
                    "Predicted",
                    "Difference",
                    "Reported",
                ]>
                    {rows}
                </Table>
            </ScrollBox>
            <p class="panel-note" data-testid="log-moment">{moments}</p>
            <p class="panel-note">"Why they may differ:"</p>
            <ul class="measured-reasons">{reasons}</ul>
        }
        .into_any()
    }
}

/// The numbers of a stage.
fn stage_row(stage: &StageComparison, scale: Scale) -> impl IntoView + use<> {
    let report = stage.report.as_ref();
    let cells = |measured: Option<Bytes>, predicted: Bytes| {
        let number = |bytes| scale.number(bytes);
        let change = measured.map(|measured| scale.change(measured, predicted));
        view! {
            <td>{measured.map(number)}</td>
            <td>{number(predicted)}</td>
            <td>{change}</td>
        }
    };
    view! {
        <tr>
            <th scope="row">{stage.pp_rank}</th>
            {cells(report.map(|report| report.allocated), stage.predicted_steady)}
            {cells(report.map(|report| report.max_allocated), stage.predicted_peak)}
            <td>{report.map(|report| format!("rank {}, {}", report.rank, report.words))}</td>
        </tr>
    }
}
