//! The text of the live region, which changes at most once a second: screen readers cannot follow faster.

use crate::browser;
use gloo::timers::callback::Timeout;
use leptos::prelude::*;

/// The least time between two announcements, in milliseconds.
const PAUSE: u64 = 1000;

/// What screen readers are told. Messages that come too soon after another one wait, and are announced together.
#[derive(Clone, Copy)]
pub(super) struct Announcer {
    text: RwSignal<String>,
    /// When the text last changed, in milliseconds.
    changed: StoredValue<Option<u64>>,
    /// The messages that wait, and the timer that ends the wait.
    waiting: StoredValue<Option<(String, Timeout)>, LocalStorage>,
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
    pub(super) fn announce(self, message: String) {
        let next = self.changed.get_value().map_or(0, |changed| changed + PAUSE);
        let wait = next.saturating_sub(browser::now());
        let joined = self.waiting.try_update_value(|waiting| match waiting {
            Some((messages, _)) if messages.contains(&message) => true,
            Some((messages, _)) => {
                messages.push(' ');
                messages.push_str(&message);
                true
            }
            None => false,
        });
        if joined == Some(true) {
            return;
        }
        if wait == 0 {
            return self.speak(message);
        }
        let wait = u32::try_from(wait).unwrap_or(u32::MAX);
        let timer = Timeout::new(wait, move || {
            let waiting = self.waiting.try_update_value(Option::take);
            if let Some((messages, _)) = waiting.flatten() {
                self.speak(messages);
            }
        });
        self.waiting.set_value(Some((message, timer)));
    }

    fn speak(self, text: String) {
        self.changed.set_value(Some(browser::now()));
        self.text.set(text);
    }
}
