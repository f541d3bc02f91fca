//! The text of the live region, which changes at most once a second: screen readers cannot follow faster.

use crate::ui::browser;
use gloo::timers::callback::Timeout;
use leptos::prelude::*;

/// The least time between two announcements, in milliseconds.
const PAUSE: u64 = 1000;

/// What screen readers are told. A later announcement replaces one that still waits for its turn.
#[derive(Clone, Copy)]
pub(super) struct Announcer {
    text: RwSignal<String>,
    /// When the text last changed, in milliseconds.
    changed: StoredValue<Option<u64>>,
    /// The announcement that waits; dropping it calls it off.
    waiting: StoredValue<Option<Timeout>, LocalStorage>,
}

impl Default for Announcer {
    fn default() -> Self {
        Self {
            text: RwSignal::default(),
            changed: StoredValue::new(None),
            waiting: StoredValue::new_local(None),
        }
    }
}

impl Announcer {
    /// The current text of the live region.
    pub(super) fn text(self) -> String {
        self.text.get()
    }

    /// Announces a message, at once unless another one has been announced within the last second.
    pub(super) fn announce(self, text: String) {
        let now = browser::now();
        let next = self
            .changed
            .get_value()
            .map_or(0, |changed| changed + PAUSE);
        if now < next {
            let wait = u32::try_from(next - now).unwrap_or(u32::MAX);
            let timeout = Timeout::new(wait, move || self.announce(text));
            self.waiting.set_value(Some(timeout));
        } else {
            self.waiting.set_value(None);
            self.changed.set_value(Some(now));
            self.text.set(text);
        }
    }
}
