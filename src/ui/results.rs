//! The right side of the page: what every stage needs, and why.
//!
//! Everything here is about a [`Target`](megatron_memory::report::target::Target). Pointing at one, or moving the focus to it,
//! highlights all that is about the same; choosing it shows its stage, and explains its number.

mod answer_in_sight;
mod calibrate;
mod chart;
mod checks;
mod compare;
mod detail;
mod explain;
mod fit;
mod frameworks;
mod gpus;
mod legend;
mod measured;
mod methods;
mod numbers;
mod peaks;
mod plans;
mod plot;
mod ranks;
mod replay_sentence;
mod reserved;
mod savings;
mod stages;
mod step_time;
mod step_time_line;

use leptos::prelude::*;

use super::lazy_parts::LazyPart;
use super::parts::{InSight, NearFirst, Part, TabList};
use super::state::{ResultsTab, State};
pub(super) use chart::pixel_width;
use chart::{Chart, MarkRole};
pub(super) use checks::{EvidencePanel, OneGpuPanel};
pub(super) use compare::ComparePanel;
pub(super) use detail::{DetailPanel, TimelinePanel};
pub(super) use fit::{ChangeSearch, FitPanel, LargestSizeSearch, apply, call_to_use};
pub(super) use frameworks::FrameworksPanel;
pub(super) use gpus::GpusPanel;
pub(super) use legend::Legend;
pub(super) use measured::MeasuredPanel;
use megatron_memory::report::charts::bucket_bar;
pub(super) use methods::MethodsPanel;
pub(super) use numbers::NumbersPanel;
pub(super) use plans::PlansPanel;
pub(super) use plot::{PlotPanel, SettingPlot};
pub(super) use ranks::RanksPanel;
pub(super) use replay_sentence::ReplaySentence;
pub(super) use savings::SavingsPanel;
pub(super) use stages::{StagesPanel, pointed_at};
pub(super) use step_time::StepTimePanel;
use step_time_line::StepTimeLine;

/// The id of the element that holds the panels of the open tab.
const TAB_PANEL: &str = "results-tab";

/// All results below the headline, in tabs: only the panels of the open one are there, and of them those near to what is
/// in sight first. [`ResultsState`] is provided
/// first.
///
/// [`ResultsState`]: super::state::ResultsState
#[component]
pub(super) fn Results() -> impl IntoView {
    let view_state = expect_context::<State>().view;
    let tab = view_state.results_tab;
    let open = move || {
        ResultsTab::ALL
            .iter()
            .position(|known| *known == tab.get())
            .unwrap_or(0)
    };
    let on_open = move |number: usize| {
        if let Some(to) = ResultsTab::ALL.get(number) {
            tab.set(*to);
        }
    };
    let is_busy = RwSignal::new(true);
    let panels = move || view! { <NearFirst parts=panels_of(tab.get()) is_busy all=view_state.all_panels /> };
    view! {
        <div class="results-tabs">
            <TabList
                id="results-tab"
                label="Results"
                panel=TAB_PANEL
                titles=ResultsTab::ALL.map(ResultsTab::label).into()
                open=Signal::derive(open)
                on_open
            />
        </div>
        <StepTimeLine />
        <div class="results" id=TAB_PANEL role="tabpanel" aria-label=move || tab.get().label() aria-busy=move || is_busy.get().to_string()>
            {panels}
        </div>
    }
}

/// The panels of a tab, in their order. The first view has the stages.
fn panels_of(tab: ResultsTab) -> Vec<Part> {
    match tab {
        ResultsTab::Memory => vec![
            || view! { <StagesPanel /> }.into_any(),
            || LazyPart::Detail.view(),
            || LazyPart::Numbers.view(),
            || LazyPart::Ranks.view(),
        ],
        ResultsTab::Change => vec![
            || LazyPart::Fit.view(),
            || LazyPart::Savings.view(),
            || LazyPart::Plot.view(),
            || LazyPart::Methods.view(),
        ],
        ResultsTab::Compare => vec![|| LazyPart::Compare.view(), || LazyPart::Plans.view()],
        ResultsTab::Check => vec![|| LazyPart::Frameworks.view(), || LazyPart::Evidence.view()],
    }
}

/// The buckets of the fullest stage end to end, against the GPU.
#[component]
pub(super) fn HeadlineBar() -> impl IntoView {
    view! {
        <div class="headline-bar">
            <Chart
                id="headline"
                draw=|results, width| results.with_subject(width, bucket_bar::CHART.draw)
                role=MarkRole::Buttons
                in_sight=InSight::AtOnce
            />
        </div>
    }
}
