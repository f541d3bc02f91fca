//! What the time of a step consists of.

use leptos::either::Either;
use leptos::prelude::*;

use super::calibrate::Calibrate;
use crate::parts::{Panel, PanelHead};
use crate::state::ResultsState;
use megatron_memory::report::time::{CONVENTION, PartShare, bottleneck, headline, no_time, shares};
use megatron_memory::time::{Part, StepTime};

/// The id of the panel's title.
const TITLE: &str = "step-time-title";

/// The panel: the parts as a bar and as a list, and the one to look at first.
#[component]
pub(crate) fn StepTimePanel() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let note = move || match results.time.read().as_ref() {
        Some(Ok(time)) => format!("about {}", headline(time)),
        Some(Err(_)) | None => String::new(),
    };
    let sentence = move || {
        let outcome = results.page.outcome.read();
        match (results.time.read().as_ref(), outcome.as_ref()) {
            (Some(Ok(time)), Some(outcome)) => bottleneck(&outcome.config, time),
            (Some(Err(why)), _) => no_time(why),
            _ => String::new(),
        }
    };
    let parts = move || match results.time.read().as_ref() {
        Some(Ok(time)) => Either::Left(view! { <Parts time=*time /> }),
        Some(Err(_)) | None => Either::Right(()),
    };
    view! {
        <Panel class="step-times" title=TITLE>
            <PanelHead id=TITLE title="Step time" note />
            <p data-testid="bottleneck">{sentence}</p>
            {parts}
            <Calibrate />
        </Panel>
    }
}

/// The bar, and below it every part that takes time.
#[component]
fn Parts(time: StepTime) -> impl IntoView {
    let shares = shares(&time);
    let bar = shares.iter().map(|PartShare { part, from, to, .. }| {
        view! { <polygon class=class(*part) points=format!("{from},0 {to},0 {to},10 {from},10") /> }
    });
    let bar = bar.collect_view();
    let list = shares.into_iter().map(|PartShare { part, words, .. }| {
        view! {
            <li>
                <span class=format!("swatch {}", class(part)) aria-hidden="true"></span>
                {words}
            </li>
        }
    });
    view! {
        <svg class="meter" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
            {bar}
        </svg>
        <div class="legend">
            <ul aria-label="Parts of a step">{list.collect_view()}</ul>
        </div>
        <p class="panel-note">{CONVENTION}</p>
    }
}

/// The color of a part, by its class in style sheets.
const fn class(part: Part) -> &'static str {
    match part {
        Part::Compute => "time-compute",
        Part::Attention => "time-attention",
        Part::TensorParallel => "time-tensor-parallel",
        Part::ExpertParallel => "time-expert-parallel",
        Part::ContextParallel => "time-context-parallel",
        Part::Pipeline => "time-pipeline",
        Part::DataParallel => "time-data-parallel",
        Part::Optimizer => "time-optimizer",
        Part::Host => "time-host",
    }
}
