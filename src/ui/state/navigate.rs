//! From one whole job to another: presets, links, pinned jobs, undo and redo.

use super::history::History;
use super::{Snapshot, State, place_of, stage_at};
use crate::config::fields::FieldId;
use crate::formats::share_url;
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

    /// Pins jobs to compare with, each before those that are pinned already. Says why where a link cannot hold them
    /// all, and pins none of them then. Returns whether they are pinned.
    pub fn pin(&self, jobs: impl IntoIterator<Item = Setup>) -> bool {
        let mut share = self.share_untracked();
        for job in jobs {
            if let Err(why) = share_url::pin(&mut share, job) {
                self.toasts.tell(why.to_string());
                return false;
            }
        }
        self.set_pinned(share.pinned);
        true
    }

    /// Takes one of the pinned jobs out.
    pub fn unpin(&self, job: &Setup) {
        let mut pinned = self.pinned.get_untracked();
        pinned.retain(|other| other != job);
        self.set_pinned(pinned);
    }

    /// Ends the comparison.
    pub fn unpin_all(&self) {
        self.set_pinned(Vec::new());
    }

    fn set_pinned(&self, pinned: Vec<Setup>) {
        self.record();
        self.pinned.set(pinned);
    }

    /// Makes the job on the page the first pinned one, and the other way around.
    pub fn swap(&self) {
        let (now, mut pinned) = self.snapshot();
        if let Some(first) = pinned.first_mut() {
            let job = core::mem::replace(first, now);
            self.set_pinned(pinned);
            self.land(job);
        }
    }

    /// Shows what a link says. A step to undo, also where it comes from the browser's history.
    pub fn restore(&self, share: ShareState) {
        self.record();
        self.toasts.dismiss();
        self.replace(share.setup);
        self.keep_module_in_range();
        self.pinned.set(share.pinned);
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
            pinned: self.pinned.get(),
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
