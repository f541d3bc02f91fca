//! The shown stage: its parts, and the explanation of one number.

use leptos::prelude::*;

use super::explain::Explain;
use super::picture::{Picture, Purpose};
use super::view::view;
use crate::report::charts::{Chart, buckets, components};
use crate::report::readout::readout;
use crate::report::scene::Px;
use crate::report::target::Target;

/// The ways to look at a stage, each a tab.
const TABS: [Chart; 2] = [buckets::CHART, components::CHART];

/// The shown stage.
#[component]
pub(super) fn Detail() -> impl IntoView {
    let view = view();
    let tab = move || {
        let name = view.state.tab.read();
        let named = |chart: &Chart| Some(chart.id) == name.as_deref();
        TABS.iter().position(named).unwrap_or(0)
    };
    // The first tab is what a link without a tab means.
    let open = move |i: usize| {
        let chart = TABS.get(i).filter(|_| i > 0);
        view.state.tab.set(chart.map(|chart| chart.id.to_owned()));
    };
    let heading = Memo::new(move |_| {
        let line = view.with(Px::ZERO, |subject| {
            readout(subject, &Target::stage(subject.stage))
        });
        line.flatten()
            .map(|line| (line.name, format!("{} · {}", line.amount, line.detail)))
    });
    let is_worst = move || {
        let outcome = view.state.outcome.read();
        outcome
            .as_ref()
            .is_some_and(|o| Some(o.estimate.worst) == view.stage.get())
    };
    let is_chosen = move || view.state.stage.get().is_some();
    let press = move |event: leptos::ev::KeyboardEvent| {
        let to = match event.key().as_str() {
            "ArrowLeft" | "Home" => 0,
            "ArrowRight" | "End" => TABS.len() - 1,
            _ => return,
        };
        event.prevent_default();
        open(to);
        if let Some(chart) = TABS.get(to) {
            super::super::browser::focus(tab_id(chart.id));
        }
    };
    let tabs = TABS.into_iter().enumerate().map(|(i, chart)| {
        view! {
            <button
                type="button"
                role="tab"
                id=tab_id(chart.id)
                aria-controls="stage-parts"
                aria-selected=move || if tab() == i { "true" } else { "false" }
                tabindex=move || if tab() == i { "0" } else { "-1" }
                on:click=move |_| open(i)
            >
                {chart.title}
            </button>
        }
    });
    let chart = Signal::derive(move || TABS.get(tab()).copied().unwrap_or(buckets::CHART));
    view! {
        <section class="panel detail" aria-labelledby="detail-title">
            <header class="panel-head">
                <h2 id="detail-title" data-testid="stage">
                    {move || heading.read().as_ref().map(|(name, _)| name.clone())}
                </h2>
                <p class="panel-note">
                    {move || heading.read().as_ref().map(|(_, detail)| detail.clone())}
                    {move || is_worst().then(|| view! { <span class="tag">"fullest"</span> })}
                </p>
                <button
                    type="button"
                    class="link"
                    hidden=move || !is_chosen() || is_worst()
                    on:click=move |_| view.state.stage.set(None)
                >
                    "Back to the fullest"
                </button>
                <div class="tabs" role="tablist" aria-label="Parts of the stage" on:keydown=press>
                    {tabs.collect_view()}
                </div>
            </header>
            <div class="detail-columns">
                <div
                    id="stage-parts"
                    role="tabpanel"
                    aria-labelledby=move || tab_id(chart.get().id)
                >
                    <Picture id="parts" chart purpose=Purpose::Buttons />
                </div>
                <Explain />
            </div>
        </section>
    }
}

fn tab_id(chart: &str) -> String {
    format!("tab-{chart}")
}
