//! What the results are about, as far as a link says it too.

use leptos::prelude::*;

use megatron_memory::formats::state::{Place, View};
use megatron_memory::memory::StageRef;

/// What the reader chose among the results.
#[derive(Clone, Copy, Debug)]
pub struct ViewState {
    /// The chosen tab, by a name of its own.
    pub tab: RwSignal<Option<String>>,
    /// The stage that the reader chose; `None` for the fullest one.
    pub stage: RwSignal<Option<StageRef>>,
}

impl ViewState {
    /// What a link says.
    pub(super) fn new(view: View) -> Self {
        Self {
            tab: RwSignal::new(view.tab),
            stage: RwSignal::new(view.stage.map(stage_at)),
        }
    }

    /// Shows what a link says.
    pub(super) fn restore(self, view: View) {
        self.tab.set(view.tab);
        self.stage.set(view.stage.map(stage_at));
    }

    /// What a link to the page says.
    pub(super) fn share(self) -> View {
        View {
            tab: self.tab.get(),
            stage: self.stage.get().and_then(place_of),
        }
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
