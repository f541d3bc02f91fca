//! The reader's choices among the results, as far as a link has them too.

use leptos::prelude::*;

use super::ResultsTab;
use crate::browser;
use megatron_memory::formats::state::{Place, View};
use megatron_memory::memory::StageRef;

/// The reader's choices among the results.
#[derive(Clone, Copy, Debug)]
pub struct ViewState {
    /// The tab that is shown.
    pub results_tab: RwSignal<ResultsTab>,
    /// The chosen chart of a stage, by its id; `None` for the first.
    pub chart: RwSignal<Option<String>>,
    /// Whether all panels of the tab are asked for, also those that are far from what is in sight.
    pub all_panels: RwSignal<bool>,
    /// The stage that the reader chose; `None` for the fullest one.
    pub stage: RwSignal<Option<StageRef>>,
}

impl ViewState {
    /// What a link says, of a page with pinned jobs or without.
    pub(super) fn new(view: View, has_pins: bool) -> Self {
        let (tab, chart) = tab_and_chart(view.tab, has_pins);
        Self {
            results_tab: RwSignal::new(tab),
            chart: RwSignal::new(chart),
            all_panels: RwSignal::new(false),
            stage: RwSignal::new(view.stage.map(stage_at)),
        }
    }

    /// Shows what a link says.
    pub(super) fn restore(self, view: View, has_pins: bool) {
        let (tab, chart) = tab_and_chart(view.tab, has_pins);
        self.results_tab.set(tab);
        self.chart.set(chart);
        self.stage.set(view.stage.map(stage_at));
    }

    /// What a link to the page says. A link has one name for both: that of a tab, or, for the first tab, that of the
    /// chart in it.
    pub(super) fn share(self, has_pins: bool) -> View {
        let (tab, chart) = (self.results_tab.get(), self.chart.get());
        let named = (tab != first_tab(has_pins)).then(|| tab.id().to_owned());
        View {
            tab: chart.filter(|_| tab == ResultsTab::Memory).or(named),
            stage: self.stage.get().and_then(place_of),
        }
    }

    /// Shows the tab that has the panel with this heading, and goes to the panel once it and all above it are there.
    pub fn go_to(self, heading: &'static str) {
        if let Some(tab) = ResultsTab::of_heading(heading)
            && self.results_tab.get_untracked() != tab
        {
            self.results_tab.set(tab);
        }
        self.all_panels.set(true);
        browser::go_to(heading);
    }
}

/// The tab that a link without a name shows: a link with pinned jobs is about the comparison.
const fn first_tab(has_pins: bool) -> ResultsTab {
    if has_pins {
        ResultsTab::Compare
    } else {
        ResultsTab::Memory
    }
}

/// The tab and the chart that a link's name stands for.
fn tab_and_chart(name: Option<String>, has_pins: bool) -> (ResultsTab, Option<String>) {
    match name.as_deref().map(ResultsTab::by_id) {
        None => (first_tab(has_pins), None),
        Some(Some(tab)) => (tab, None),
        Some(None) => (ResultsTab::Memory, name),
    }
}

fn stage_at(place: Place) -> StageRef {
    StageRef {
        module: place.module.into(),
        pp_rank: place.pp_rank.into(),
    }
}

fn place_of(stage: StageRef) -> Option<Place> {
    Some(Place {
        module: stage.module.try_into().ok()?,
        pp_rank: stage.pp_rank.try_into().ok()?,
    })
}
