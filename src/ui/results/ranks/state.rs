//! The rank that the panel of ranks is about.

use leptos::prelude::*;

use crate::browser;
use crate::state::ResultsState;
use megatron_memory::parallel::groups::process_groups::ProcessGroup;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::rank_details::sentence;
use megatron_memory::report::rank_map::Coloring;
use megatron_memory::report::ranks::{RankPlace, places};
use megatron_memory::report::target::Target;

/// The choices of the reader in the panel of the ranks.
#[derive(Clone, Copy)]
pub(super) struct RanksState {
    pub(super) results: ResultsState,
    /// The meaning of the colors.
    pub(super) coloring: RwSignal<Coloring>,
    /// The rank under the mouse pointer.
    pub(super) pointed: RwSignal<Option<u64>>,
    /// The chosen rank; none for the one that needs most.
    chosen: RwSignal<Option<u64>>,
    /// The rank that the panel is about; none before the first valid job.
    pub(super) shown: Memo<Option<ShownRank>>,
    /// The group that is shown on the map, and the number of the rank's module that it belongs to.
    pub(super) group: RwSignal<(usize, ProcessGroup)>,
}

/// A rank with what is said of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShownRank {
    pub(super) rank: u64,
    /// What it is to each of its modules.
    pub(super) places: Vec<RankPlace>,
    /// The rank in one sentence.
    pub(super) sentence: String,
}

/// The colors that the map starts with: modules, or stages where there is one module only.
fn first_coloring(results: ResultsState) -> Coloring {
    match results.page.setup.read_untracked().job.module_count() {
        1 => Coloring::Stage,
        _ => Coloring::Module,
    }
}

impl RanksState {
    pub(super) fn new() -> Self {
        let pointed = RwSignal::new(None);
        let results = expect_context::<ResultsState>();
        let chosen = RwSignal::new(None);
        let ranks = Self {
            results,
            coloring: RwSignal::new(first_coloring(results)),
            pointed,
            chosen,
            shown: Memo::new(move |_| shown(results, pointed.get().or(chosen.get()))),
            group: RwSignal::new((0, ProcessGroup::Tp)),
        };
        browser::on_click_elsewhere_or_escape(move || ranks.point(None));
        ranks
    }

    /// How many ranks the job has; none before the first valid one.
    pub(super) fn world_size(self) -> Option<u64> {
        let outcome = self.results.page.outcome.read();
        outcome.as_ref().map(|outcome| outcome.config.world_size())
    }

    /// The mouse pointer is on this rank, or on none.
    pub(super) fn point(self, rank: Option<u64>) {
        if self.pointed.get_untracked() != rank {
            self.pointed.set(rank);
        }
    }

    /// Chooses a rank, and its stage in all other panels.
    pub(super) fn choose(self, rank: u64) {
        self.point(None);
        self.chosen.set(Some(rank));
        let shown = self.shown.read_untracked();
        if let Some(place) = shown.as_ref().and_then(|shown| shown.places.first()) {
            self.results.choose(&Target::stage(place.stage));
        }
    }
}

/// The wished rank, where the job has it, or else the one that needs most.
fn shown(results: ResultsState, wish: Option<u64>) -> Option<ShownRank> {
    let outcome = results.page.outcome.read();
    let outcome = outcome.as_ref()?;
    let (config, estimate) = (&outcome.config, &outcome.estimate);
    let rank = wish.filter(|rank| *rank < config.world_size());
    let rank = rank.unwrap_or(estimate.worst_rank.rank);
    let places = places(config, estimate, rank);
    let scale = Scale::coarse(results.page.preferences.unit.get());
    let standing = results.page.standing.get()?;
    let sentence = sentence(config, estimate, &standing, &places, rank, scale);
    Some(ShownRank { rank, places, sentence })
}
