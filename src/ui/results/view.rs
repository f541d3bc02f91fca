//! What the results have in common: the chosen stage's lines, what is lit, and what is explained.

use std::sync::Arc;

use super::super::browser::{self, Event};
use super::super::state::{Outcome, State};
use crate::config::job::Config;
use crate::memory::line::Line;
use crate::memory::{Estimate, StageRef};
use crate::report::charts::{self, Subject};
use crate::report::scene::Px;
use crate::report::target::Target;
use leptos::prelude::*;

/// What makes the lines of a stage.
pub(in super::super) type Itemize = fn(&Config, &Estimate, StageRef) -> Vec<Line>;

/// The state of the results; a handle that is copied into every view.
#[derive(Clone, Copy)]
pub(in super::super) struct View {
    /// The page's own state.
    pub(in super::super) state: State,
    /// The stage that is shown; none before the first valid job.
    pub(super) stage: Memo<Option<StageRef>>,
    /// Its lines.
    pub(super) lines: Memo<Arc<Vec<Line>>>,
    /// What the pointer or the focus is on, or what was tapped.
    pub(super) lit: RwSignal<Option<Target>>,
    /// The rank under the pointer.
    pub(super) rank: RwSignal<Option<u64>>,
    /// How high a row of a picture is: what the pointer can hit.
    row: Px,
    /// The path of the number that is explained; empty for the whole stage.
    pub(super) path: RwSignal<String>,
}

impl View {
    /// The results of the page's state; `itemize` makes the lines of a stage.
    pub(in super::super) fn new(state: State, itemize: Itemize) -> Self {
        let shown = Memo::new(move |_| state.shown_stage());
        let lines = Memo::new(move |_| {
            let outcome = state.outcome.read();
            let lines = outcome
                .as_ref()
                .zip(shown.get())
                .map(|(outcome, stage)| itemize(&outcome.config, &outcome.estimate, stage));
            Arc::new(lines.unwrap_or_default())
        });
        let view = Self {
            state,
            stage: shown,
            lines,
            lit: state.highlight,
            rank: RwSignal::new(None),
            row: if browser::is_coarse() {
                Px::of(44)
            } else {
                charts::ROW
            },
            path: RwSignal::new(String::new()),
        };
        // What was tapped stays lit until something else is, as what has the focus does; Escape puts out everything.
        let hear = move |event: &Event| match event.type_().as_str() {
            "click" if event.default_prevented() => {}
            "keydown" if browser::key(event) != "Escape" => {}
            _ => view.put_out(),
        };
        browser::listen_everywhere(&["click", "keydown"], Box::new(hear));
        view
    }

    /// Lights up nothing.
    fn put_out(self) {
        if self.lit.read_untracked().is_some() {
            self.lit.set(None);
        }
        if self.rank.read_untracked().is_some() {
            self.rank.set(None);
        }
    }

    /// Lights up what the pointer is on.
    pub(super) fn point(self, target: Option<Target>) {
        if *self.lit.read_untracked() != target {
            self.lit.set(target);
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
            row: self.row,
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

    /// Chooses a target that was clicked or tapped, and keeps it lit. True: the click was about something.
    pub(super) fn tap(self, target: Target) -> bool {
        self.choose(&target);
        self.lit.set(Some(target));
        true
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
