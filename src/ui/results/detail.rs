//! The shown stage: its parts as charts, its peak in words, and the explanation of one number.

use leptos::prelude::*;

use super::chart::{Chart, MarkRole};
use super::explain::ExplainPanel;
use super::peaks::PeakFacts;
use crate::browser;
use crate::parts::{Panel, PanelHead};
use crate::state::{ResultsState, State};
use megatron_memory::report::charts::{self, buckets, components, timeline};
use megatron_memory::report::readout::{Readout, readout};
use megatron_memory::report::scene::Px;
use megatron_memory::report::target::Target;

/// The ways to look at a stage, each a tab.
const TABS: [charts::Chart; 3] = [buckets::CHART, components::CHART, timeline::CHART];

/// The shown stage.
#[component]
pub(super) fn DetailPanel() -> impl IntoView {
    view! {
        <Panel class="detail" title="detail-title">
            <div class="panel-head">
                <StageHeading />
                <Tabs />
            </div>
            <div class="detail-columns">
                <div id="stage-parts" role="tabpanel" aria-label="Parts of the stage">
                    <Chart
                        id="parts"
                        draw=|results, width| {
                            let chart = TABS.get(open_tab(results.page)).unwrap_or(&buckets::CHART);
                            results.with_subject_and_lines(width, chart.draw)
                        }
                        role=MarkRole::Buttons
                    />
                    <PeakFacts />
                </div>
                <ExplainPanel />
            </div>
        </Panel>
    }
}

/// The memory of the shown stage over the steps of one iteration, in a panel by itself.
#[component]
pub(crate) fn TimelinePanel() -> impl IntoView {
    view! {
        <Panel title="timeline-title">
            <PanelHead
                id="timeline-title"
                title="Memory of a stage over one iteration"
                note="the fullest stage, step by step"
            />
            <Chart
                id="timeline"
                draw=|results, width| results.with_subject(width, timeline::CHART.draw)
                role=MarkRole::Buttons
            />
        </Panel>
    }
}

/// The name of the shown stage, what it needs, and the way back to the fullest one.
#[component]
fn StageHeading() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let stage = Memo::new(move |_| {
        let data = |subject: &charts::Subject<'_>| {
            let is_fullest = subject.estimate.worst == subject.stage;
            readout(subject, &Target::stage(subject.stage)).map(|data| (data, is_fullest))
        };
        results.with_subject(Px::ZERO, data).flatten()
    });
    let data = move || stage.get().map(|(data, _)| data);
    let note = |Readout { amount, detail, .. }| format!("{amount} · {detail}");
    let is_fullest = Memo::new(move |_| stage.read().as_ref().is_some_and(|(_, fullest)| *fullest));
    view! {
        <Show
            when=move || stage.read().is_some()
            fallback=|| view! { <h2 id="detail-title" tabindex="-1">"Stage"</h2> }
        >
            <h2 id="detail-title" tabindex="-1" data-testid="stage">{move || data().map(|data| data.name)}</h2>
            <p class="panel-note">{move || data().map(note)}</p>
            <Show
                when=move || is_fullest.get()
                fallback=move || view! {
                    <button type="button" class="link" on:click=move |_| results.page.view.stage.set(None)>
                        "Back to the fullest"
                    </button>
                }
            >
                <span class="tag">"fullest"</span>
            </Show>
        </Show>
    }
}

/// The tabs that choose the chart.
#[component]
fn Tabs() -> impl IntoView {
    let tabs = TABS.iter().enumerate().map(|(number, chart)| {
        view! {
            <Tab number=number title=chart.title />
        }
    });
    view! {
        <div class="tabs" role="tablist" aria-label="Parts of the stage">
            {tabs.collect_view()}
        </div>
    }
}

/// A tab.
#[component]
fn Tab(number: usize, title: &'static str) -> impl IntoView {
    let page = expect_context::<State>();
    let is_open = Memo::new(move |_| open_tab(page) == number);
    view! {
        <button
            type="button"
            role="tab"
            id=tab_id(number)
            aria-controls="stage-parts"
            aria-selected=move || is_open.get().to_string()
            tabindex=move || if is_open.get() { "0" } else { "-1" }
            on:click=move |_| open(page, number)
            on:keydown=move |event| {
                if let Some(to) = neighbor(number, &browser::key(&event)) {
                    event.prevent_default();
                    open(page, to);
                    browser::focus(tab_id(to));
                }
            }
        >
            {title}
        </button>
    }
}

/// The tab that a key leads to from another one; nothing for a key without a meaning.
fn neighbor(number: usize, key: &str) -> Option<usize> {
    let last = TABS.len() - 1;
    match key {
        "ArrowLeft" => Some(number.checked_sub(1).unwrap_or(last)),
        "ArrowRight" if number < last => Some(number + 1),
        "ArrowRight" | "Home" => Some(0),
        "End" => Some(last),
        _ => None,
    }
}

/// The number of the open tab; a link without one means the first.
fn open_tab(page: State) -> usize {
    let name = page.view.tab.read();
    TABS.iter()
        .position(|chart| Some(chart.id) == name.as_deref())
        .unwrap_or(0)
}

fn open(page: State, number: usize) {
    let chart = TABS.get(number).filter(|_| number > 0);
    page.view.tab.set(chart.map(|chart| chart.id.to_owned()));
}

fn tab_id(number: usize) -> String {
    format!("tab-{number}")
}
