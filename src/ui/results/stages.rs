//! All pipeline stages, and what the reader points at in one line.

use leptos::prelude::*;

use super::picture::{Picture, Purpose};
use super::view::{View, view};
use crate::memory::bucket::Bucket;
use crate::report::charts::stage_bars;
use crate::report::readout::{Readout, readout};
use crate::report::scene::{Class, Px};
use crate::report::target::Target;
use crate::units::Bytes;

/// The chart of all stages with its legend and its line of data.
#[component]
pub(super) fn Stages() -> impl IntoView {
    view! {
        <section class="panel stages" aria-labelledby="stages-title">
            <header class="panel-head">
                <h2 id="stages-title">"Pipeline stages"</h2>
                <p class="panel-note">"memory of one GPU of each stage"</p>
            </header>
            <Picture id="stages" chart=stage_bars::CHART purpose=Purpose::Choice />
            <ReadoutLine />
            <Legend />
        </section>
    }
}

/// What is lit, or else the shown stage.
fn line(view: &View) -> Option<Readout> {
    let lit = view.lit.get();
    view.with(Px::ZERO, |subject| {
        let shown = Target::stage(subject.stage);
        readout(subject, lit.as_ref().unwrap_or(&shown))
    })?
}

#[component]
fn ReadoutLine() -> impl IntoView {
    let view = view();
    let line = Memo::new(move |_| line(&view));
    let part = move |of: fn(&Readout) -> &str| {
        move || {
            line.read()
                .as_ref()
                .map_or_else(String::new, |line| of(line).to_owned())
        }
    };
    view! {
        <p class="readout" data-testid="readout">
            <span class="readout-name">{part(|line| &line.name)}</span>
            <strong>{part(|line| &line.amount)}</strong>
            <span class="readout-detail">{part(|line| &line.detail)}</span>
        </p>
    }
}

/// The buckets that some stage has, with their colors.
#[component]
fn Legend() -> impl IntoView {
    let view = view();
    let buckets = Memo::new(move |_| {
        let outcome = view.state.outcome.read();
        let stages = || {
            outcome
                .iter()
                .flat_map(|o| &o.estimate.modules)
                .flat_map(|m| &m.stages)
        };
        let held = |bucket: &Bucket| stages().any(|stage| stage.bytes(*bucket) > Bytes::ZERO);
        Bucket::ALL.into_iter().filter(held).collect::<Vec<_>>()
    });
    let items = move || {
        let lit = view.lit.read();
        let item = |bucket: &Bucket| {
            let bucket = *bucket;
            let target = Target::bucket(bucket);
            let lights = lit.as_ref().is_some_and(|lit| lit.lights(&target));
            let class = Class::Bucket(bucket);
            let swatch = format!(
                "swatch bucket-{}{}",
                bucket.id(),
                if class.textured() { " hatched" } else { "" }
            );
            view! {
                <li
                    class:lit=lights
                    on:pointerenter=move |_| view.lit.set(Some(target.clone()))
                    on:pointerleave=move |_| view.lit.set(None)
                >
                    <span class=swatch></span>
                    {bucket.label()}
                </li>
            }
        };
        buckets.read().iter().map(item).collect_view()
    };
    view! { <ul class="legend" aria-label="Buckets">{items}</ul> }
}
