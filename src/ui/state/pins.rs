//! Pinned jobs, which the job on the page is compared with.

use leptos::prelude::*;

use super::{ResultsTab, State};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::Setup;

impl State {
    /// Pins the job on the page, or takes all pins out.
    pub fn toggle_pin(&self) {
        let count = self.pinned.read_untracked().len();
        if count > 0 {
            self.unpin_all();
            if count > 1 {
                self.toasts.offer_undo(format!("{count} jobs unpinned."));
            }
            return;
        }
        if self.pin([self.setup.get_untracked()]) {
            self.toasts.tell("Pinned. Change a setting to see the difference.");
        }
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
        // The comparison is what the jobs were pinned for.
        self.view.results_tab.set(ResultsTab::Compare);
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
}
