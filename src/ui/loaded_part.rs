//! The parts of the page that are loaded after its first view.

use leptos::prelude::*;

use crate::components::form::PatternEditor;
use crate::components::lay_out::LayoutSearch;
use crate::embed::embed_replay;
use crate::lazy_parts::LazyPart;
use crate::parts::InTurn;
use crate::results::{
    ChangeSearch, ComparePanel, DetailPanel, EvidencePanel, FitPanel, FrameworksPanel, GpusPanel, LargestSizeSearch,
    MeasuredPanel, MethodsPanel, NumbersPanel, OneGpuPanel, PlansPanel, PlotPanel, RanksPanel, ReplaySentence,
    SavingsPanel, StepTimePanel, TimelinePanel,
};
use crate::summary::ExplainedErrors;

/// A part that is loaded; nothing where only the loading matters.
#[must_use]
pub fn part(part: Option<LazyPart>) -> AnyView {
    let Some(part) = part else { return ().into_any() };
    match part {
        LazyPart::Detail => view! { <DetailPanel /> }.into_any(),
        LazyPart::Timeline => view! { <TimelinePanel /> }.into_any(),
        LazyPart::Replay => embed_replay(),
        LazyPart::ReplayOfTight => view! { <ReplaySentence /> }.into_any(),
        LazyPart::Numbers => view! { <NumbersPanel /> }.into_any(),
        LazyPart::Ranks => view! {
            <RanksPanel />
            <InTurn><StepTimePanel /></InTurn>
        }
        .into_any(),
        LazyPart::Fit => view! { <FitPanel /> }.into_any(),
        LazyPart::ChangeSearch(found) => view! { <ChangeSearch found /> }.into_any(),
        LazyPart::LayoutSearch(percent) => view! { <LayoutSearch percent /> }.into_any(),
        LazyPart::LargestSizeSearch(size, known) => view! { <LargestSizeSearch size known /> }.into_any(),
        LazyPart::ExplainedErrors => view! { <ExplainedErrors /> }.into_any(),
        LazyPart::Savings => view! { <SavingsPanel /> }.into_any(),
        LazyPart::Plot => view! { <PlotPanel /> }.into_any(),
        LazyPart::Methods => view! { <MethodsPanel /><GpusPanel /> }.into_any(),
        LazyPart::Compare => view! { <ComparePanel /> }.into_any(),
        LazyPart::Plans => view! { <PlansPanel /><MeasuredPanel /> }.into_any(),
        LazyPart::Frameworks => view! { <FrameworksPanel /> }.into_any(),
        LazyPart::Evidence => view! { <EvidencePanel /><OneGpuPanel /> }.into_any(),
        LazyPart::PatternEditor => view! { <PatternEditor /> }.into_any(),
    }
}
