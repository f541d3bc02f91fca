//! From one whole job to another: presets, links, the pinned job, undo and redo.

use super::history::History;
use super::{Snapshot, State, place_of, stage_at};
use crate::config::fields::FieldId;
use crate::formats::state::{Setup, ShareState, View};
use leptos::prelude::*;

impl State {
    /// Replaces the whole setup: an entry in the browser's history as well as a step to undo.
    pub fn jump(&self, setup: Setup) {
        self.record();
        self.land(setup);
    }

    /// Replaces the whole job: the results of the one before are not shown any more, whether or not this one can run.
    fn replace(&self, setup: Setup) {
        self.replacements.update(|count| *count += 1);
        self.setup.set(setup);
    }

    fn land(&self, setup: Setup) {
        self.toasts.dismiss();
        self.replace(setup);
        self.module.set(0);
        self.stage.set(None);
        self.jumps.update(|jumps| *jumps += 1);
    }

    /// Pins a job to compare with; `None` ends the comparison.
    pub fn pin(&self, job: Option<Setup>) {
        self.record();
        self.compare.set(job);
    }

    /// Makes the job on the page the pinned one, and the other way around.
    pub fn swap(&self) {
        if let (now, Some(pinned)) = self.snapshot() {
            self.pin(Some(now));
            self.land(pinned);
        }
    }

    /// Shows what a link says. A step to undo, also where it comes from the browser's history.
    pub fn restore(&self, share: ShareState) {
        self.record();
        self.toasts.dismiss();
        self.replace(share.setup);
        self.keep_module_in_range();
        self.compare.set(share.compare);
        self.tab.set(share.view.tab);
        self.stage.set(share.view.stage.map(stage_at));
    }

    /// Shows this in place of what the page shows: a step to undo, and an entry in the browser's history.
    pub fn open(&self, share: ShareState) {
        self.restore(share);
        self.jumps.update(|jumps| *jumps += 1);
    }

    /// What a link to this page says now, without following it.
    pub fn share_untracked(&self) -> ShareState {
        untrack(|| self.share())
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

    /// Takes the last step back; `false` where there is none.
    pub fn undo(&self) -> bool {
        self.travel(History::undo)
    }

    /// Takes the last undone step again; `false` where there is none.
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

    fn travel(
        &self,
        go: fn(&mut History<Snapshot, FieldId>, Snapshot) -> Option<Snapshot>,
    ) -> bool {
        let now = self.snapshot();
        let there = self.history.try_update(|history| go(history, now));
        let Some((setup, compare)) = there.flatten() else {
            return false;
        };
        self.toasts.dismiss();
        self.take_over();
        self.replace(setup);
        self.compare.set(compare);
        self.keep_module_in_range();
        true
    }
}
