//! All pipeline stages in one chart, and what the reader points at in one line.

use leptos::prelude::*;

use super::chart::{Chart, Purpose};
use super::highlight::Highlight;
use super::panel::{Panel, PanelHead};
use super::state::ResultsState;
use crate::memory::bucket::Bucket;
use crate::report::charts::stage_bars;
use crate::report::readout::readout;
use crate::report::scene::{Class, Px};
use crate::report::target::Target;
use crate::ui::browser;
use crate::units::Bytes;

/// The chart of all stages with its line of data and its legend.
#[component]
pub(in super::super) fn StagesPanel() -> impl IntoView {
    view! {
        <Panel class="stages" title="stages-title">
            <PanelHead id="stages-title" title="Pipeline stages" note="memory of one GPU of each stage" />
            <Chart
                id="stages"
                draw=|results, width| results.with_subject(width, stage_bars::CHART.draw)
                purpose=Purpose::Choice
            />
            <ReadoutLine />
            <BucketLegend />
        </Panel>
    }
}

/// The data of what is highlighted, or else of the shown stage.
#[component]
fn ReadoutLine() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let highlight = expect_context::<Highlight>();
    let data = Memo::new(move |_| {
        let data = match highlight.target() {
            Some(target) => {
                results.with_subject_and_lines(Px::ZERO, |subject| readout(subject, &target))
            }
            None => results.with_subject(Px::ZERO, |subject| {
                readout(subject, &Target::stage(subject.stage))
            }),
        };
        data.flatten()
    });
    view! {
        <div class="readout">
            {move || {
                data.get().map(|data| view! {
                    <span>{data.name}</span>
                    <strong>{data.amount}</strong>
                    <span class="readout-detail">{data.detail}</span>
                })
            }}
        </div>
    }
}

/// The buckets that some stage has, with their colors.
#[component]
pub(in super::super) fn BucketLegend() -> impl IntoView {
    let outcome = expect_context::<ResultsState>().page.outcome;
    let buckets = Memo::new(move |_| {
        let outcome = outcome.read();
        let modules = outcome.iter().flat_map(|outcome| &outcome.estimate.modules);
        let stages: Vec<_> = modules.flat_map(|module| &module.stages).collect();
        let is_held = |bucket: &Bucket| {
            stages
                .iter()
                .any(|stage| stage.bytes(*bucket) > Bytes::ZERO)
        };
        Bucket::ALL.into_iter().filter(is_held).collect::<Vec<_>>()
    });
    view! {
        <div class="legend">
            <ul aria-label="Buckets">
                <For each=move || buckets.get() key=|bucket| bucket.id() let:bucket>
                    <LegendItem bucket=bucket />
                </For>
            </ul>
        </div>
    }
}

/// A bucket with its color. Pointing at it highlights the bucket on every stage.
#[component]
fn LegendItem(bucket: Bucket) -> impl IntoView {
    let highlight = expect_context::<Highlight>();
    let target = Target::bucket(bucket);
    let point = {
        let target = target.clone();
        move || highlight.set(Some(target.clone()))
    };
    let click = point.clone();
    let texture = if Class::Bucket(bucket).textured() {
        " hatched"
    } else {
        ""
    };
    view! {
        <li
            class:lit=move || highlight.lights(&target)
            on:pointerenter=move |event| if browser::is_mouse(&event) { point() }
            on:pointerleave=move |event| if browser::is_mouse(&event) { highlight.clear() }
            on:click=move |event| {
                event.prevent_default();
                click();
            }
        >
            <span class=format!("swatch bucket-{}{texture}", bucket.id())></span>
            <span>{bucket.label()}</span>
        </li>
    }
}
