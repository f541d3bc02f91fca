//! What the page knows: one setup of raw settings, and everything that follows from it.
//!
//! Views read memos and call the methods here; nothing else changes a setting.

use std::sync::Arc;

use super::form::relevance::Relevance;
use super::history::History;
use super::notices::Notices;
use super::theme::Theme;
use super::values::{canonical, same};
use crate::config::field::{Default, Group, Level};
use crate::config::fields::FieldId;
use crate::config::job::{Config, Module};
use crate::config::raw::{RawJob, RawModule};
use crate::config::{Checked, check};
use crate::formats::state::{Place, Setup, ShareState, View};
use crate::memory::{Estimate, StageRef, estimate};
use crate::report::amount::Unit;
use crate::report::target::Target;
use crate::value::Value;
use leptos::prelude::*;

/// A valid job and what it needs.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The checked job.
    pub config: Config,
    /// What it needs.
    pub estimate: Estimate,
}

impl Outcome {
    /// The module that the form edits.
    #[must_use]
    pub fn module(&self, index: usize) -> Option<&Module> {
        self.config.modules().get(index)
    }
}

/// The state of the page. There is one, it lives as long as the page, and every view has a reference to it.
#[derive(Clone, Copy)]
pub struct State {
    /// The settings.
    pub setup: RwSignal<Setup>,
    /// The module that the form edits.
    pub module: RwSignal<usize>,
    /// The preset's job, or one of nothing but defaults.
    pub start: Memo<Arc<RawJob>>,
    /// What the settings are compared with: the same, with the modules in the order in which the settings have them.
    pub baseline: Memo<Arc<RawJob>>,
    /// The settings' check.
    pub checked: Memo<Arc<Checked>>,
    /// The last valid job and what it needs; none before the first valid one.
    pub outcome: Memo<Option<Arc<Outcome>>>,
    /// Whether the settings are invalid, so that the outcome is an older one.
    pub stale: Memo<bool>,
    /// A pinned job to compare with.
    pub compare: RwSignal<Option<Setup>>,
    /// The chosen tab of the results, by a name of its own.
    pub tab: RwSignal<Option<String>>,
    /// The stage that the reader chose; none for the worst.
    pub stage: RwSignal<Option<StageRef>>,
    /// What the pointer or the focus is on, the same in every view.
    pub highlight: RwSignal<Option<Target>>,
    /// The unit of memory.
    pub unit: RwSignal<Unit>,
    /// Light, dark, or as the system has it.
    pub theme: RwSignal<Theme>,
    /// Passing messages.
    pub notices: Notices,
    /// Deliberate jumps so far; each is an entry in the browser's history.
    pub jumps: RwSignal<u32>,
    /// Which sections are open, and how far.
    pub disclosure: RwSignal<Disclosure>,
    history: RwSignal<Steps>,
}

/// Which sections of the form are open, one entry a group, and the level shown in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disclosure {
    /// Whether the group is open.
    pub open: [bool; Group::ALL.len()],
    /// The highest level of field that shows.
    pub level: [Level; Group::ALL.len()],
}

impl State {
    /// The state of a page that shows this.
    #[must_use]
    pub fn new(share: ShareState) -> Self {
        let setup = RwSignal::new(share.setup);
        // Only when another preset has been picked.
        let preset = Memo::new(move |_| setup.read().preset.clone());
        let start = Memo::new_owning(move |_| {
            let of_preset = Setup {
                preset: preset.get(),
                ..Setup::default()
            };
            (Arc::new(of_preset.base()), true)
        });
        let baseline = Memo::new(move |last: Option<&Arc<RawJob>>| {
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
        });
        let checked = Memo::new_owning(move |_| (Arc::new(check(&setup.read().job)), true));
        let outcome = Memo::new_owning(move |last: Option<Option<Arc<Outcome>>>| {
            let of = |config: &Config| {
                Arc::new(Outcome {
                    estimate: estimate(config),
                    config: config.clone(),
                })
            };
            match (&checked.read().config, last.flatten()) {
                (Some(config), _) => (Some(of(config)), true),
                (None, Some(last)) => (Some(last), false),
                // A link may open on a job that cannot run: until one can, its preset stands in.
                (None, None) => {
                    let preset = check(&start.read_untracked()).config;
                    (preset.as_ref().map(of), true)
                }
            }
        });
        Self {
            setup,
            module: RwSignal::new(0),
            start,
            baseline,
            checked,
            outcome,
            stale: Memo::new(move |_| checked.read().config.is_none()),
            compare: RwSignal::new(share.compare),
            tab: RwSignal::new(share.view.tab),
            stage: RwSignal::new(share.view.stage.map(stage_at)),
            highlight: RwSignal::new(None),
            unit: RwSignal::new(super::theme::stored_unit()),
            theme: RwSignal::new(Theme::stored()),
            notices: Notices::new(),
            jumps: RwSignal::new(0),
            disclosure: RwSignal::new(Disclosure::first()),
            history: RwSignal::new(History::default()),
        }
    }

    /// The raw value that counts for a field; none for its default.
    pub fn value(&self, id: FieldId) -> Option<Value> {
        self.setup.read().job.get(self.module.get(), id).cloned()
    }

    /// The value that the field is reset to; none for its default.
    pub fn base(&self, id: FieldId) -> Option<Value> {
        self.baseline.read().get(self.module.get(), id).cloned()
    }

    /// Whether the settings are what they are reset to.
    pub fn is_pristine(&self) -> bool {
        let (start, base, module) = (self.start.read(), self.baseline.read(), self.module.get());
        let job = &self.setup.read().job;
        let is_reset = |id: &FieldId| same(id.field(), job.get(module, *id), base.get(module, *id));
        job.modules == start.modules && job.unknown.is_empty() && FieldId::ALL.iter().all(is_reset)
    }

    /// The stage that the results are about: the chosen one, where it exists, or the worst.
    pub fn shown_stage(&self) -> Option<StageRef> {
        let outcome = self.outcome.read();
        let estimate = &outcome.as_ref()?.estimate;
        let exists = |at: &StageRef| {
            let module = estimate.modules.get(at.module);
            module.is_some_and(|m| at.pp_rank < m.stages.len())
        };
        self.stage.get().filter(exists).or(Some(estimate.worst))
    }

    /// A keystroke: the field holds this text now, valid or not.
    pub fn type_into(&self, id: FieldId, text: &str) {
        // An emptied field that may be absent is absent; any other keeps what it shows and says what is wrong.
        let absent = text.is_empty() && matches!(id.field().default, Default::Derived(_));
        let value = if absent {
            Value::Null
        } else {
            Value::Text(text.to_owned())
        };
        self.nudge(id, value);
    }

    /// The end of typing: a valid field shows its plain value from now on.
    pub fn leave(&self, id: FieldId) {
        let module = self.module.get_untracked();
        let now = self.setup.read_untracked().job.get(module, id).cloned();
        if let Some(now) = now
            && let Some(plain) = canonical(id.field(), &now)
            && plain != now
        {
            self.put(id, plain);
        }
        self.pause();
    }

    /// The end of a run of keystrokes: further ones are another step.
    pub fn pause(&self) {
        let now = self.jobs();
        self.history.update(|h| h.pause(&now));
    }

    /// Sets a field in one step.
    pub fn set(&self, id: FieldId, value: Value) {
        self.remember();
        self.put(id, value);
    }

    /// Sets a field in a step that further ones of its kind join, as when an arrow key is held down.
    pub fn nudge(&self, id: FieldId, value: Value) {
        self.notices.pass(false);
        let before = self.jobs();
        self.history.update(|h| h.typed(id, before));
        self.put(id, value);
    }

    /// Puts fields back to the preset's values, or to their defaults where there is no preset.
    pub fn reset(&self, ids: impl IntoIterator<Item = FieldId>) {
        self.remember();
        let module = self.module.get_untracked();
        let base = self.baseline.read_untracked();
        self.setup.update(|s| {
            for id in ids {
                let place = s.job.place(module, id);
                match base.get(module, id) {
                    Some(value) => place.set(id, value.clone()),
                    None => place.unset(id),
                }
            }
        });
    }

    /// Opens what hides a field.
    pub fn reveal(&self, id: FieldId) {
        let job = &self.setup.read_untracked().job;
        let relevance = Relevance::of(job, self.module.get_untracked());
        self.disclosure.update(|d| d.reveal(id, &relevance));
    }

    /// Replaces the job in one step. With a second model, or without one, it is no longer the preset's.
    pub fn edit(&self, job: RawJob) {
        self.remember();
        let plain = self.start.read_untracked().modules.is_empty();
        self.setup.update(|s| {
            if plain != job.modules.is_empty() {
                s.preset = None;
            }
            s.job = job;
        });
        self.settle();
    }

    /// Edits another module.
    pub fn edit_module(&self, index: usize) {
        self.module.set(index);
        self.settle();
    }

    /// Keeps to a module that there is.
    fn settle(&self) {
        let last = self.setup.read_untracked().job.module_count() - 1;
        if self.module.get_untracked() > last {
            self.module.set(last);
        }
    }

    /// Replaces the whole setup: an entry in the browser's history as well as a step to undo.
    pub fn jump(&self, setup: Setup) {
        self.remember();
        self.land(setup);
    }

    fn land(&self, setup: Setup) {
        self.notices.pass(true);
        self.setup.set(setup);
        self.module.set(0);
        self.stage.set(None);
        self.jumps.update(|jumps| *jumps += 1);
    }

    /// Compares with another job, or with none.
    pub fn pin(&self, job: Option<Setup>) {
        self.remember();
        self.compare.set(job);
    }

    /// Makes the job on the page the pinned one, and the other way around.
    pub fn swap(&self) {
        if let (now, Some(pinned)) = self.jobs() {
            self.pin(Some(now));
            self.land(pinned);
        }
    }

    /// Shows what a link says. That it came from the browser's history makes it no less a step to undo.
    pub fn restore(&self, share: ShareState) {
        self.remember();
        self.notices.pass(true);
        self.setup.set(share.setup);
        self.settle();
        self.compare.set(share.compare);
        self.tab.set(share.view.tab);
        self.stage.set(share.view.stage.map(stage_at));
    }

    /// What a link to this page says.
    pub fn share(&self) -> ShareState {
        ShareState {
            setup: self.setup.get(),
            compare: self.compare.get(),
            view: View {
                tab: self.tab.get(),
                stage: self.stage.get().and_then(place_of),
            },
        }
    }

    /// Takes the last step back; false when there is none.
    pub fn undo(&self) -> bool {
        self.travel(History::undo)
    }

    /// Takes the last undone step again; false when there is none.
    pub fn redo(&self) -> bool {
        self.travel(History::redo)
    }

    /// Whether there is a step to undo.
    pub fn can_undo(&self) -> bool {
        self.history.read().can_undo()
    }

    /// Whether there is a step to redo.
    pub fn can_redo(&self) -> bool {
        self.history.read().can_redo()
    }

    fn travel(&self, go: fn(&mut Steps, Jobs) -> Option<Jobs>) -> bool {
        let now = self.jobs();
        let there = self.history.try_update(|h| go(h, now)).flatten();
        let done = there.is_some();
        if let Some((setup, compare)) = there {
            self.notices.pass(true);
            self.setup.set(setup);
            self.compare.set(compare);
        }
        self.settle();
        done
    }

    fn remember(&self) {
        self.notices.pass(false);
        let before = self.jobs();
        self.history.update(|h| h.step(before));
    }

    fn jobs(&self) -> Jobs {
        (self.setup.get_untracked(), self.compare.get_untracked())
    }

    fn put(&self, id: FieldId, value: Value) {
        let module = self.module.get_untracked();
        self.setup.update(|s| s.job.put(module, id, value));
    }
}

/// What a step takes back: the job, and what it is compared with.
type Jobs = (Setup, Option<Setup>);

/// The steps to undo and redo.
type Steps = History<Jobs, FieldId>;

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
