//! Passing messages: what the toast at the edge of the page says, and what screen readers are told.

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::announcer::Announcer;

/// How long a message stays, in milliseconds.
const STAY: u32 = 6_000;
/// How long a message stays that offers to undo a step.
const STAY_WITH_UNDO: u32 = 20_000;

/// A message in the toast.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Toast {
    text: String,
    /// Whether it offers to undo the step that it tells of.
    offers_undo: bool,
}

/// Where messages are left.
#[derive(Clone, Copy, Default)]
pub struct Toasts {
    toast: RwSignal<Option<Toast>>,
    announcer: Announcer,
    /// The timer that takes the toast away.
    leaving: Leaving,
}

/// The timer of the toast. It is cancelled when another one takes its place.
#[derive(Clone, Copy)]
struct Leaving(StoredValue<Option<Timeout>, LocalStorage>);

impl Default for Leaving {
    fn default() -> Self {
        Self(StoredValue::new_local(None))
    }
}

impl Toasts {
    /// Shows and announces a message.
    pub fn tell(self, text: impl Into<String>) {
        self.show(Toast {
            text: text.into(),
            offers_undo: false,
        });
    }

    /// Shows and announces a message about a step that can be undone.
    pub fn offer_undo(self, text: impl Into<String>) {
        self.show(Toast {
            text: text.into(),
            offers_undo: true,
        });
    }

    /// Announces a message to screen readers without showing it.
    pub fn announce(self, text: impl Into<String>) {
        self.announcer.announce(text.into());
    }

    /// The text of the toast; `None` where there is no toast.
    #[must_use]
    pub fn text(self) -> Option<String> {
        let toast = self.toast.read();
        toast.as_ref().map(|toast| toast.text.clone())
    }

    /// Whether the toast offers to undo the step that it tells of.
    #[must_use]
    pub fn offers_undo(self) -> bool {
        let toast = self.toast.read();
        toast.as_ref().is_some_and(|toast| toast.offers_undo)
    }

    /// The text that screen readers were told last.
    #[must_use]
    pub fn announced(self) -> String {
        self.announcer.text()
    }

    /// Takes the toast away.
    pub fn dismiss(self) {
        if self.toast.read_untracked().is_some() {
            self.toast.set(None);
        }
    }

    /// Takes away a toast that offers to undo, because another step has come after the one that it tells of.
    pub fn withdraw_undo(self) {
        if untrack(|| self.offers_undo()) {
            self.toast.set(None);
        }
    }

    /// Takes the toast away after a while.
    pub fn leave_later(self) {
        if self.toast.read_untracked().is_none() {
            return;
        }
        let stay = if untrack(|| self.offers_undo()) {
            STAY_WITH_UNDO
        } else {
            STAY
        };
        let timer = Timeout::new(stay, move || self.dismiss());
        self.leaving.0.set_value(Some(timer));
    }

    /// Lets the toast stay: the reader is about to use it.
    pub fn stay(self) {
        self.leaving.0.set_value(None);
    }

    fn show(self, toast: Toast) {
        self.announcer.announce(toast.text.clone());
        self.toast.set(Some(toast));
        self.leave_later();
    }
}
