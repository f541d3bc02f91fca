//! What the results have in common: the chosen stage's lines, what is lit, and what is explained.

use std::sync::Arc;

use super::super::reactive::{Derived, Slot, untrack};
use super::super::state::{Outcome, State};
use crate::config::job::Config;
use crate::memory::line::Line;
use crate::memory::{Estimate, StageRef};
use crate::report::charts::Subject;
use crate::report::scene::Px;
use crate::report::target::Target;

/// What makes the lines of a stage.
pub(in super::super) type Itemize = fn(&Config, &Estimate, StageRef) -> Vec<Line>;

/// The state of the results; a handle that is copied into every view.
#[derive(Clone, Copy)]
pub(in super::super) struct View {
    /// The page's own state.
    pub(in super::super) state: &'static State,
    /// The stage that is shown; none before the first valid job.
    pub(super) stage: Derived<Option<StageRef>>,
    /// Its lines.
    pub(super) lines: Derived<Arc<Vec<Line>>>,
    /// What the pointer or the focus is on.
    pub(super) lit: Slot<Option<Target>>,
    /// The path of the number that is explained; empty for the whole stage.
    pub(super) path: Slot<String>,
}

impl View {
    /// The results of the page's state; `itemize` makes the lines of a stage.
    pub(in super::super) fn new(state: &'static State, itemize: Itemize) -> Self {
        let shown = Derived::new(move || state.shown_stage());
        let lines = Derived::new(move || {
            let outcome = state.outcome.read();
            let lines = outcome
                .as_ref()
                .zip(shown.get())
                .map(|(outcome, stage)| itemize(&outcome.config, &outcome.estimate, stage));
            Arc::new(lines.unwrap_or_default())
        });
        Self {
            state,
            stage: shown,
            lines,
            lit: state.highlight,
            path: Slot::new(String::new()),
        }
    }

    /// Follows what all results follow from. A tree that does so first is put off, where it is out of sight, before
    /// anything else that it reads is worked out.
    pub(super) fn follow(self) {
        drop(self.state.outcome.read());
    }

    /// Makes something of the shown outcome; nothing before the first valid job. Tracks everything that
    /// goes into it, which is all but the lines.
    pub(super) fn with<T>(self, width: Px, make: impl FnOnce(&Subject<'_>) -> T) -> Option<T> {
        let outcome = self.state.outcome.read();
        let outcome: &Outcome = outcome.as_ref()?;
        Some(make(&Subject {
            config: &outcome.config,
            estimate: &outcome.estimate,
            stage: self.stage.get()?,
            lines: &[],
            unit: self.state.unit.get(),
            width,
        }))
    }

    /// The same with the lines of the shown stage.
    pub(super) fn with_lines<T>(
        self,
        width: Px,
        make: impl FnOnce(&Subject<'_>) -> T,
    ) -> Option<T> {
        self.with(width, |subject| {
            let lines = &self.lines.read();
            make(&Subject { lines, ..*subject })
        })
    }

    /// Shows a target's stage, and explains its number where it is one.
    pub(super) fn choose(self, target: &Target) {
        if target.stage.is_some() && target.stage != untrack(|| self.stage.get()) {
            self.state.stage.set(target.stage);
        }
        if !target.path.is_empty() {
            self.path.set(target.path.clone());
        }
    }
}
