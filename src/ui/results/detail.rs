//! The shown stage: its parts as charts, its peak in words, and the explanation of one number.

use leptos::prelude::*;

use super::chart::{Chart, MarkRole};
use super::explain::ExplainPanel;
use super::peaks::PeakFacts;
use crate::parts::{InTurn, Panel, PanelHead, TabList};
use crate::state::{ResultsState, State};
use megatron_memory::memory::line::stage_lines;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::charts::{self, buckets, components, timeline};
use megatron_memory::report::readout::{Readout, readout};
use megatron_memory::report::scene::Px;
use megatron_memory::report::stage_difference::difference_to_fullest;
use megatron_memory::report::target::Target;

/// The ways to look at a stage, each a tab.
const TABS: [charts::Chart; 3] = [buckets::CHART, components::CHART, timeline::CHART];

/// The shown stage.
#[component]
pub(crate) fn DetailPanel() -> impl IntoView {
    expect_context::<ResultsState>().show_lines(stage_lines);
    view! {
        <Panel class="detail" title="detail-title">
            <div class="panel-head">
                <StageHeading />
                <ChartTabs />
            </div>
            <Against />
            <div class="detail-columns">
                <div id="stage-parts" role="tabpanel" aria-label="Parts of the stage">
                    <InTurn>
                        <Chart
                            id="parts"
                            draw=|results, width| {
                                let chart = TABS.get(open_tab(results.page)).unwrap_or(&buckets::CHART);
                                results.with_subject_and_lines(width, chart.draw)
                            }
                            role=MarkRole::Buttons
                        />
                    </InTurn>
                    <InTurn><PeakFacts /></InTurn>
                </div>
                <InTurn><ExplainPanel /></InTurn>
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

/// What the shown stage needs against the fullest; as high for the fullest itself, where it says nothing.
#[component]
fn Against() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let words = Memo::new(move |_| {
        let words = results.with_subject(Px::ZERO, |subject| {
            difference_to_fullest(
                subject.config,
                subject.estimate,
                subject.stage,
                Scale::coarse(subject.unit),
            )
        });
        words.flatten()
    });
    view! {
        <p class="panel-note against">
            {move || words.get().map(|words| view! { <span data-testid="against">{words}</span> })}
        </p>
    }
}

/// The tabs that choose the chart.
#[component]
fn ChartTabs() -> impl IntoView {
    let page = expect_context::<State>();
    view! {
        <TabList
            id="tab"
            label="Parts of the stage"
            panel="stage-parts"
            titles=TABS.map(|chart| chart.title).into()
            open=Signal::derive(move || open_tab(page))
            on_open=move |number| open(page, number)
        />
    }
}

/// The number of the open tab; a link without one means the first.
fn open_tab(page: State) -> usize {
    let name = page.view.chart.read();
    TABS.iter()
        .position(|chart| Some(chart.id) == name.as_deref())
        .unwrap_or(0)
}

fn open(page: State, number: usize) {
    let chart = TABS.get(number).filter(|_| number > 0);
    page.view.chart.set(chart.map(|chart| chart.id.to_owned()));
}
