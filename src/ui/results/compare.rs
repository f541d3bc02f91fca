//! The job beside the one that was pinned last: what each bucket of the fullest stage gains or loses, and which
//! settings differ.

use std::sync::Arc;

use leptos::prelude::*;

use crate::parts::{Panel, PanelHead, ScrollBox, Table, text_cells};
use crate::state::{Outcome, ResultsState, State};
use crate::values::{same, shown as text_of};
use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::state::Setup;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::summary::stage_name;
use megatron_memory::report::time::{duration, longer};
use megatron_memory::report::verdict::another_job;
use megatron_memory::time::step_time;

/// The id of the title.
const TITLE: &str = "compare-title";
/// The most settings that are named.
const MOST: usize = 40;

/// The comparison; nothing where no job is pinned.
#[component]
pub(crate) fn ComparePanel() -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let is_pinned = Memo::new(move |_| !page.pinned.read().is_empty());
    view! {
        <div class="compare-place">
            <Show when=move || is_pinned.get()>
                <Panel class="frameworks compare" title=TITLE needs_result=false>
                    <PanelHead id=TITLE title="Compared with pinned" note="the fullest stage of each">
                        <button type="button" class="link" on:click=move |_| page.swap()>"Swap"</button>
                        <button type="button" class="link" on:click=move |_| unpin_first(page)>"Unpin"</button>
                    </PanelHead>
                    <MorePinned />
                    <BucketTable />
                    <DifferentSettings />
                </Panel>
            </Show>
        </div>
    }
}

/// Where the other pinned jobs are, where there are any.
#[component]
fn MorePinned() -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let count = Memo::new(move |_| page.pinned.read().len());
    view! {
        <p class="panel-note" hidden=move || count.get() < 2>
            {move || format!("The last of {} pinned jobs. All of them are under ", count.get())}
            <button type="button" class="link" on:click=move |_| page.view.go_to("plans-title")>
                "Plans side by side"
            </button>
        </p>
    }
}

/// A row for each bucket that is not the same in both jobs.
#[component]
fn BucketTable() -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let pinned = Memo::new_owning(move |_| {
        let outcome = page.pinned.read().first().and_then(outcome_of);
        (outcome.map(Arc::new), true)
    });
    let comparison = Memo::new(move |_| {
        let (now, pinned) = (page.outcome.read(), pinned.read());
        let (now, pinned) = now.as_deref().zip(pinned.as_deref())?;
        Comparison::of(now, pinned, Scale::fine(page.preferences.unit.get()))
    });
    move || match comparison.get() {
        Some(comparison) => view! {
            {comparison.view()}
            <p class="panel-note rounding">
                {Scale::fine(page.preferences.unit.get_untracked()).rounding_note()}
            </p>
        }
        .into_any(),
        None if page.outcome.read().is_none() => view! { <p>"The job on the page cannot run."</p> }.into_any(),
        None => view! { <p>"The pinned job cannot run."</p> }.into_any(),
    }
}

fn outcome_of(setup: &Setup) -> Option<Outcome> {
    check(&setup.job).config.as_ref().map(Outcome::of)
}

/// The buckets of two jobs' fullest stages.
#[derive(Clone, PartialEq, Eq)]
struct Comparison {
    /// The name of each job's stage: the pinned one's, and that of the job on the page.
    places: [String; 2],
    /// Why a job's estimate is that of another one, each after the name of its column.
    remarks: Vec<String>,
    /// For each bucket: the pinned amount, the amount now, and the difference.
    buckets: Vec<(Bucket, [String; 3])>,
    /// The same for all buckets together.
    total: [String; 3],
    /// The predicted time of a step of each, and how much longer or shorter it gets; `None` where the prediction does not
    /// follow both.
    step: Option<[String; 3]>,
}

impl Comparison {
    fn of(now: &Outcome, pinned: &Outcome, scale: Scale) -> Option<Self> {
        let (new, old) = (now.estimate.worst_stage()?, pinned.estimate.worst_stage()?);
        let place = |outcome: &Outcome| stage_name(&outcome.config, outcome.estimate.worst);
        let remark = |name: &str, outcome: &Outcome| {
            let reason = another_job(&outcome.config)?;
            Some(format!("{name}: estimate of another job, {reason}"))
        };
        let remarks = [remark("Pinned", pinned), remark("Current", now)];
        let differs = |bucket: &Bucket| old.bytes(*bucket) != new.bytes(*bucket);
        let buckets = Bucket::ALL.into_iter().filter(differs).map(|bucket| {
            let (old, new) = (old.bytes(bucket), new.bytes(bucket));
            let cells = [scale.number(old), scale.number(new), scale.change(old, new)];
            (bucket, cells)
        });
        let time = |outcome: &Outcome| step_time(&outcome.config, &outcome.estimate).ok();
        let step = time(pinned).zip(time(now)).map(|(old, new)| {
            let [before, after] = [old, new].map(|time| duration(time.seconds));
            [before, after, longer(old.nanoseconds(), new.nanoseconds())]
        });
        Some(Self {
            step,
            places: [place(pinned), place(now)],
            remarks: remarks.into_iter().flatten().collect(),
            buckets: buckets.collect(),
            total: [
                scale.number(old.total),
                scale.number(new.total),
                scale.change(old.total, new.total),
            ],
        })
    }

    fn view(self) -> impl IntoView {
        let row = |name: &'static str, class: Option<&'static str>, cells: [String; 3]| {
            view! {
                <tr class=class>
                    <th scope="row">{name}</th>
                    {text_cells(cells)}
                </tr>
            }
        };
        let [pinned, now] = self.places;
        let headings = [
            String::from("Bucket"),
            format!("Pinned, {pinned}"),
            format!("Now, {now}"),
            String::from("Difference"),
        ];
        let remarks = self.remarks.into_iter();
        let remarks = remarks.map(|remark| view! { <p class="not-this-job">{remark}</p> });
        let buckets = self.buckets.into_iter();
        let buckets = buckets
            .map(|(bucket, cells)| row(bucket.label(), None, cells))
            .collect_view();
        let total = row("Total", Some("ours"), self.total);
        let step = self.step.map(|step| row("A step, predicted", None, step));
        view! {
            {remarks.collect_view()}
            <ScrollBox label="Pinned job and this one, by bucket">
                <Table headings>
                    {buckets}
                    {total}
                    {step}
                </Table>
            </ScrollBox>
        }
    }
}

/// The settings that differ, each with both values.
#[component]
fn DifferentSettings() -> impl IntoView {
    let page = expect_context::<ResultsState>().page;
    let settings = Memo::new(move |_| different_settings(page));
    move || {
        let settings = settings.get();
        if settings.is_empty() {
            return view! { <p class="panel-note">"No setting differs."</p> }.into_any();
        }
        let items = settings.into_iter().map(|(label, values)| {
            view! { <div><dt>{label}</dt><dd>{values}</dd></div> }
        });
        view! { <dl class="embed-fixed">{items.collect_view()}</dl> }.into_any()
    }
}

/// The labels of the fields that differ from the pinned job, each with both values: `2 → 4`.
fn different_settings(page: State) -> Vec<(&'static str, String)> {
    let pinned = page.pinned.read();
    let Some(pinned) = pinned.first() else {
        return Vec::new();
    };
    let (setup, module) = (page.setup.read(), page.form.module.get());
    let differing = FieldId::ALL.iter().filter_map(|id| {
        let field = id.field();
        let (old, new) = (pinned.job.get(module, *id), setup.job.get(module, *id));
        let value = |value| match text_of(field, value) {
            text if text.is_empty() => String::from("none"),
            text => text,
        };
        let differs = !same(field, old, new);
        differs.then(|| (field.label, format!("{} → {}", value(old), value(new))))
    });
    let keys = |job: &RawJob| {
        let marks = job.not_modelled.iter();
        let keys: Vec<&str> = marks.map(|mark| mark.key.as_str()).collect();
        match keys.join(", ") {
            none if none.is_empty() => String::from("nothing"),
            keys => keys,
        }
    };
    let (old, new) = (keys(&pinned.job), keys(&setup.job));
    let marks = (old != new).then(|| ("Not modelled", format!("{old} → {new}")));
    marks.into_iter().chain(differing.take(MOST)).collect()
}

/// Takes out the pinned job that is compared.
fn unpin_first(page: State) {
    let first = page.pinned.read_untracked().first().cloned();
    if let Some(first) = first {
        page.unpin(&first);
    }
}
