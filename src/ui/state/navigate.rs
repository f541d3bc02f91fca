//! From one whole job to another: presets, links, undo and redo.

use super::history::History;
use super::{Snapshot, State};
use leptos::prelude::*;
use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::state::{Setup, ShareState};

impl State {
    /// Replaces the whole setup: an entry in the browser's history as well as a step to undo.
    pub fn jump(&self, setup: Setup) {
        self.record();
        self.land(setup);
    }

    /// Replaces the whole job: the results of the one before are not shown any more, whether or not this one can run.
    fn replace(&self, setup: Setup) {
        self.replacements.update(|count| *count += 1);
        // What the reader asked of the job before is no question of this one.
        self.form.edited.set(None);
        self.setup.set(setup);
    }

    pub(super) fn land(&self, setup: Setup) {
        self.toasts.dismiss();
        self.replace(setup);
        self.form.module.set(0);
        self.view.stage.set(None);
        self.link.jumps.update(|jumps| *jumps += 1);
    }

    /// Shows what a link says. A step to undo, also where it comes from the browser's history.
    pub fn restore(&self, share: ShareState) {
        self.record();
        self.toasts.dismiss();
        self.replace(share.setup);
        self.keep_module_in_range();
        self.view.restore(share.view, !share.pinned.is_empty());
        self.pinned.set(share.pinned);
    }

    /// Shows this in place of what the page shows: a step to undo, and an entry in the browser's history.
    pub fn open(&self, share: ShareState) {
        self.restore(share);
        self.link.jumps.update(|jumps| *jumps += 1);
    }

    /// What a link to this page says now, without following it.
    pub fn share_untracked(&self) -> ShareState {
        untrack(|| self.share())
    }

    /// What a link to this page says.
    pub fn share(&self) -> ShareState {
        ShareState {
            setup: self.setup.get(),
            view: self.view.share(!self.pinned.read().is_empty()),
            pinned: self.pinned.get(),
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

    fn travel(&self, go: fn(&mut History<Snapshot, FieldId>, Snapshot) -> Option<Snapshot>) -> bool {
        let now = self.snapshot();
        let there = self.history.try_update(|history| go(history, now));
        let Some((setup, pinned)) = there.flatten() else {
            return false;
        };
        self.toasts.dismiss();
        self.take_over();
        self.replace(setup);
        self.pinned.set(pinned);
        self.keep_module_in_range();
        true
    }
}
