//! The right side of the page: what every stage needs, and why.
//!
//! Everything here is about a [`Target`](megatron_memory::report::target::Target). Pointing at one, or moving the focus to it,
//! highlights all that is about the same; choosing it shows its stage, and explains its number.

mod chart;
mod compare;
mod detail;
mod explain;
mod fit;
mod frameworks;
mod gpus;
mod index;
mod legend;
mod measured;
mod methods;
mod numbers;
mod peaks;
mod plans;
mod plot;
mod ranks;
mod savings;
mod stages;

use leptos::prelude::*;

pub(super) use chart::pixel_width;
use chart::{Chart, MarkRole};
use compare::ComparePanel;
use detail::DetailPanel;
pub(super) use detail::TimelinePanel;
use fit::FitPanel;
use frameworks::FrameworksPanel;
use gpus::GpusPanel;
use index::PanelIndex;
pub(super) use legend::Legend;
use measured::MeasuredPanel;
use megatron_memory::report::charts::bucket_bar;
use methods::MethodsPanel;
pub(super) use numbers::NumbersPanel;
use plans::PlansPanel;
use plot::PlotPanel;
pub(super) use plot::SettingPlot;
use ranks::RanksPanel;
use savings::SavingsPanel;
pub(super) use stages::{StagesPanel, pointed_at};

/// All results below the headline. [`ResultsState`](super::state::ResultsState) is provided first.
#[component]
pub(super) fn Results() -> impl IntoView {
    view! {
        <PanelIndex />
        <div class="results">
            <ComparePanel />
            <FitPanel />
            <StagesPanel />
            <DetailPanel />
            <PlotPanel />
            <GpusPanel />
            <MethodsPanel />
            <PlansPanel />
            <SavingsPanel />
            <FrameworksPanel />
            <MeasuredPanel />
            <NumbersPanel />
            <RanksPanel />
        </div>
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
            />
        </div>
    }
}
