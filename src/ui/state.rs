//! The state of the page: one job as raw settings, and everything that is derived from it.
//!
//! [`App`](super::App) provides one [`State`] as context. Components read its signals and memos, and change settings
//! through its methods only, so that every change can be undone.

mod disclosure;
mod edit;
mod field;
mod history;
mod navigate;
mod outcome;

use std::sync::Arc;

pub use disclosure::Disclosure;
use history::History;
pub use outcome::Outcome;

use super::components::toasts::Toasts;
use super::preferences::{Theme, stored_unit};
use super::values::same;
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, RawModule};
pub use crate::config::relevance::Relevance;
use crate::config::{Checked, check};
use crate::formats::share_url::Notice;
use crate::formats::state::{Place, Setup, ShareState};
use crate::memory::StageRef;
use crate::report::amount::Unit;
use leptos::prelude::*;

/// The state of the page. A handle: copies share the same signals.
#[derive(Clone, Copy)]
pub struct State {
    /// The job on the page, with the preset that it started from.
    pub setup: RwSignal<Setup>,
    /// The index of the module that the form edits.
    pub module: RwSignal<usize>,
    /// The preset's job as it comes; without a preset, a job of nothing but defaults.
    pub start: Memo<Arc<RawJob>>,
    /// What settings are compared with and reset to: `start`, with the modules in the order of the job on the page.
    pub baseline: Memo<Arc<RawJob>>,
    /// The checked settings, with their problems.
    pub checked: Memo<Arc<Checked>>,
    /// The job with its estimate. While the settings cannot run, that of the last ones that could, as long as they are
    /// of the same model and were set on this page; otherwise `None`.
    pub outcome: Memo<Option<Arc<Outcome>>>,
    /// Whether the job cannot run, so that `outcome` is none or that of earlier settings.
    pub stale: Memo<bool>,
    /// Which fields mean something for the edited module.
    pub relevance: Memo<Relevance>,
    /// The pinned jobs that the job on the page is compared with, the one that was pinned last first.
    pub pinned: RwSignal<Vec<Setup>>,
    /// The chosen tab of the results, by a name of its own.
    pub tab: RwSignal<Option<String>>,
    /// The stage that the reader chose; `None` for the fullest one.
    pub stage: RwSignal<Option<StageRef>>,
    /// The unit of memory.
    pub unit: RwSignal<Unit>,
    /// Light, dark, or as the system has it.
    pub theme: RwSignal<Theme>,
    /// Why a demonstration stands in for the job of the link, until the reader changes it or goes elsewhere.
    pub broken_link: RwSignal<Option<Notice>>,
    /// Passing messages.
    pub toasts: Toasts,
    /// How many deliberate jumps there have been; each is an entry in the browser's history.
    pub jumps: RwSignal<u32>,
    /// Which sections of the form are open, and how far.
    pub disclosure: RwSignal<Disclosure>,
    /// The field that was edited last, beside which its problems are told in full.
    edited: RwSignal<Option<FieldId>>,
    /// How many times the whole job was replaced: by a link, a preset, an import, or a step of undo.
    replacements: RwSignal<u32>,
    history: RwSignal<History<Snapshot, FieldId>>,
}

/// What a step of undo brings back: the job, and the pinned ones that it is compared with.
type Snapshot = (Setup, Vec<Setup>);

impl State {
    /// The state of a page that shows what a link says.
    #[must_use]
    pub fn new(share: ShareState) -> Self {
        let setup = RwSignal::new(share.setup);
        let module = RwSignal::new(0);
        // Its own memo, so that the preset is read again only when another one has been picked.
        let preset = Memo::new(move |_| setup.read().preset.clone());
        let start = Memo::new_owning(move |_| {
            let of_preset = Setup {
                preset: preset.get(),
                ..Setup::default()
            };
            (Arc::new(of_preset.base()), true)
        });
        let checked = Memo::new_owning(move |_| (Arc::new(check(&setup.read().job)), true));
        let replacements = RwSignal::new(0);
        Self {
            setup,
            module,
            start,
            baseline: baseline(setup, start),
            checked,
            outcome: outcome::of_last_valid(setup, checked, replacements),
            stale: Memo::new(move |_| checked.read().config.is_none()),
            relevance: Memo::new(move |_| Relevance::of(&setup.read().job, module.get())),
            pinned: RwSignal::new(share.pinned),
            tab: RwSignal::new(share.view.tab),
            stage: RwSignal::new(share.view.stage.map(stage_at)),
            unit: RwSignal::new(stored_unit()),
            theme: RwSignal::new(Theme::stored()),
            broken_link: RwSignal::new(None),
            toasts: Toasts::default(),
            jumps: RwSignal::new(0),
            disclosure: RwSignal::new(Disclosure::default()),
            edited: RwSignal::new(None),
            replacements,
            history: RwSignal::new(History::default()),
        }
    }

    /// Whether every setting is what it is reset to.
    pub fn is_pristine(&self) -> bool {
        let (start, base, module) = (self.start.read(), self.baseline.read(), self.module.get());
        let job = &self.setup.read().job;
        let is_reset = |id: &FieldId| same(id.field(), job.get(module, *id), base.get(module, *id));
        job.modules == start.modules
            && job.unknown.is_empty()
            && job.not_modelled == start.not_modelled
            && FieldId::ALL.iter().all(is_reset)
    }

    /// The stage that the results are about: the chosen one, where it exists, or the fullest.
    pub fn shown_stage(&self) -> Option<StageRef> {
        let outcome = self.outcome.read();
        let estimate = &outcome.as_ref()?.estimate;
        let exists = |at: &StageRef| {
            let module = estimate.modules.get(at.module);
            module.is_some_and(|m| at.pp_rank < m.stages.len())
        };
        self.stage.get().filter(exists).or(Some(estimate.worst))
    }
}

fn baseline(setup: RwSignal<Setup>, start: Memo<Arc<RawJob>>) -> Memo<Arc<RawJob>> {
    Memo::new(move |last: Option<&Arc<RawJob>>| {
        let start = start.get();
        if start.modules.is_empty() {
            return start;
        }
        let setup = setup.read();
        let modules = setup.job.modules.iter().map(|module| RawModule {
            settings: start.settings_of(&module.name),
            ..module.clone()
        });
        let job = RawJob {
            modules: modules.collect(),
            ..(*start).clone()
        };
        match last {
            Some(last) if **last == job => Arc::clone(last),
            _ => Arc::new(job),
        }
    })
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
