//! The state of the page, a file for each subject. Components read its signals and memos; it knows no component.
//!
//! [`App`](super::App) provides one [`State`] as context: the job as raw settings, what is derived from it, and what
//! belongs to it. Settings change through its methods only, so that every change can be undone. What only some panels
//! and dialogs share comes as contexts of their own: [`OpenDialog`], [`PlottedField`], [`SavedPlans`], [`MeasuredLog`],
//! [`OutOfMemoryErrors`], [`ResultsState`] and [`Highlight`].

mod announcer;
mod disclosure;
mod edit;
mod field;
mod form;
mod found_changes;
mod highlight;
mod history;
mod largest_size;
mod link;
mod measured_log;
mod navigate;
mod open_dialog;
mod out_of_memory;
mod outcome;
mod pins;
mod plotted_field;
mod preferences;
mod results;
mod results_tab;
mod saved_plans;
mod toasts;
mod view;
mod worker_queue;

use std::sync::Arc;

pub use disclosure::Disclosure;
pub use form::FormState;
pub use found_changes::FoundChanges;
pub use highlight::Highlight;
use history::History;
pub use largest_size::{LargestSize, LimitSize};
pub use link::{DEMONSTRATION, LinkState};
pub use measured_log::{MEASURED_TITLE, MeasuredLog};
pub use open_dialog::{DialogKind, OpenDialog};
pub use out_of_memory::OutOfMemoryErrors;
pub use outcome::{Outcome, OutcomeReplay};
pub use plotted_field::{PLOT_TITLE, PlottedField};
pub use preferences::Preferences;
pub use results::ResultsState;
pub use results_tab::ResultsTab;
pub use saved_plans::{Plan, SavedPlans};
pub use toasts::Toasts;
pub use view::ViewState;
pub use worker_queue::WorkerQueue;

use super::values::same;
use leptos::prelude::*;
use megatron_memory::config::Checked;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, RawModule};
pub use megatron_memory::config::relevance::Relevance;
use megatron_memory::formats::state::{Setup, ShareState};
use megatron_memory::memory::StageRef;
use megatron_memory::verdict::Standing;

/// The state of the page. A handle: copies share the same signals.
#[derive(Clone, Copy)]
pub struct State {
    /// The job on the page, with the preset that it started from.
    pub setup: RwSignal<Setup>,
    /// The preset's job as it comes; without a preset, a job of nothing but defaults.
    pub start: Memo<Arc<RawJob>>,
    /// What settings are compared with and reset to: `start`, with the modules in the order of the job on the page.
    pub baseline: Memo<Arc<RawJob>>,
    /// The checked settings, with their problems.
    pub checked: Memo<Arc<Checked>>,
    /// The job with its estimate. While the settings cannot run, that of the last ones that could, as long as they are
    /// of the same model and were set on this page; otherwise `None`.
    pub outcome: Memo<Option<Arc<Outcome>>>,
    /// What a replay of PyTorch's allocator found for an outcome that the factors leave open.
    pub replay: RwSignal<Option<OutcomeReplay>>,
    /// Whether the job of the outcome fits, and what it needs: the verdict of the page.
    pub standing: Memo<Option<Standing>>,
    /// Whether the job cannot run, so that `outcome` is none or that of earlier settings.
    pub stale: Memo<bool>,
    /// The fields that mean something for the edited module.
    pub relevance: Memo<Relevance>,
    /// The pinned jobs that the job on the page is compared with, the one that was pinned last first.
    pub pinned: RwSignal<Vec<Setup>>,
    /// The module that the form edits, and the sections that are open.
    pub form: FormState,
    /// The choices of the reader among the results.
    pub view: ViewState,
    /// What the address of the page stands for.
    pub link: LinkState,
    /// What the reader sets once for all visits.
    pub preferences: Preferences,
    /// Passing messages.
    pub toasts: Toasts,
    /// How many times the whole job was replaced: by a link, a preset, an import, or a step of undo.
    replacements: RwSignal<u32>,
    history: RwSignal<History<Snapshot, FieldId>>,
}

/// The state that a step of undo brings back: the job, and the pinned ones that it is compared with.
type Snapshot = (Setup, Vec<Setup>);

impl State {
    /// The state of a page that shows what a link says. `check` checks its job: with all that would mend it, where that is
    /// offered.
    #[must_use]
    pub fn new(share: ShareState, check: fn(&RawJob) -> Checked) -> Self {
        let setup = RwSignal::new(share.setup);
        let form = FormState::default();
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
        let outcome = outcome::of_last_valid(setup, checked, replacements);
        let replay = RwSignal::new(None);
        Self {
            setup,
            start,
            baseline: baseline(setup, start),
            checked,
            outcome,
            replay,
            standing: outcome::standing(outcome, replay),
            stale: Memo::new(move |_| checked.read().config.is_none()),
            relevance: Memo::new(move |_| Relevance::of(&setup.read().job, form.module.get())),
            view: ViewState::new(share.view, !share.pinned.is_empty()),
            pinned: RwSignal::new(share.pinned),
            form,
            link: LinkState::default(),
            preferences: Preferences::stored(),
            toasts: Toasts::default(),
            replacements,
            history: RwSignal::new(History::default()),
        }
    }

    /// Whether every setting is what it is reset to.
    pub fn is_pristine(&self) -> bool {
        let (start, base, module) = (self.start.read(), self.baseline.read(), self.form.module.get());
        let job = &self.setup.read().job;
        let is_reset = |id: &FieldId| same(id.field(), job.get(module, *id), base.get(module, *id));
        job.modules == start.modules
            && job.unknown.is_empty()
            && job.not_modelled == start.not_modelled
            && FieldId::ALL.iter().all(is_reset)
    }

    /// Whether the factors of reserved over allocated memory leave open if the job fits, so that a replay of PyTorch's
    /// allocator has to settle it.
    pub fn is_left_open(&self) -> bool {
        let outcome = self.outcome.read();
        let is_left_open = outcome
            .as_ref()
            .is_some_and(|outcome| outcome.by_factors().is_left_open());
        is_left_open && !self.stale.get()
    }

    /// The stage that the results are about: the chosen one, where it exists, or the fullest.
    pub fn shown_stage(&self) -> Option<StageRef> {
        let outcome = self.outcome.read();
        let estimate = &outcome.as_ref()?.estimate;
        let exists = |at: &StageRef| {
            let module = estimate.modules.get(at.module);
            module.is_some_and(|m| at.pp_rank < m.stages.len())
        };
        self.view.stage.get().filter(exists).or(Some(estimate.worst))
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
