//! Passing messages: a toast at the edge of the page, and a live region for screen readers.

mod announcer;

use announcer::Announcer;
use gloo::timers::callback::Timeout;

use crate::ui::browser;
use crate::ui::state::State;
use crate::ui::summary;
use leptos::prelude::*;

/// The id of the live region.
const LIVE_REGION: &str = "spoken";

/// How long the settings must rest before the new verdict is announced, in milliseconds.
const REST: u32 = 1000;

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
        self.show(text.into(), false);
    }

    /// Shows and announces a message about a step that can be undone.
    pub fn offer_undo(self, text: impl Into<String>) {
        self.show(text.into(), true);
    }

    /// Announces a message to screen readers without showing it.
    pub fn announce(self, text: impl Into<String>) {
        self.announcer.announce(text.into());
    }

    /// Takes the toast away.
    pub fn dismiss(self) {
        if self.toast.read_untracked().is_some() {
            self.toast.set(None);
        }
    }

    /// Takes away a toast that offers to undo, because another step has come after the one that it tells of.
    pub fn withdraw_undo(self) {
        let toast = self.toast.get_untracked();
        if toast.is_some_and(|toast| toast.offers_undo) {
            self.toast.set(None);
        }
    }

    fn show(self, text: String, offers_undo: bool) {
        self.announcer.announce(text.clone());
        self.toast.set(Some(Toast { text, offers_undo }));
        self.leave_later();
    }

    /// Takes the toast away after a while.
    fn leave_later(self) {
        let toast = self.toast.read_untracked();
        let Some(toast) = toast.as_ref() else { return };
        let stay = if toast.offers_undo { STAY_WITH_UNDO } else { STAY };
        self.leaving
            .0
            .set_value(Some(Timeout::new(stay, move || self.dismiss())));
    }

    /// Lets the toast stay: the reader is about to use it.
    fn stay(self) {
        self.leaving.0.set_value(None);
    }
}

/// The toast and the live region. Neither takes the focus when a message comes.
#[component]
pub fn Toasts() -> impl IntoView {
    let state = expect_context::<State>();
    let toasts = state.toasts;
    announce_verdict(state);
    browser::on_press_of_disabled(move |reason| toasts.tell(format!("{reason}.")));
    let text = move || {
        let toast = toasts.toast.get();
        toast.map(|toast| toast.text).unwrap_or_default()
    };
    let offers_undo = move || {
        let toast = toasts.toast.read();
        toast.as_ref().is_some_and(|toast| toast.offers_undo)
    };
    let dismiss = move || {
        toasts.dismiss();
        // The button that was pressed goes away with the toast; the focus must not be lost with it.
        browser::focus(LIVE_REGION);
    };
    view! {
        <p id=LIVE_REGION class="unseen" tabindex="-1" role="status" data-testid="spoken">
            {move || toasts.announcer.text()}
        </p>
        <div
            class="notice"
            role="region"
            aria-label="Message"
            hidden=move || toasts.toast.read().is_none()
            on:pointerenter=move |_| toasts.stay()
            on:pointerleave=move |_| toasts.leave_later()
            on:focusin=move |_| toasts.stay()
            on:focusout=move |_| toasts.leave_later()
        >
            <p>{text}</p>
            <button
                type="button"
                data-testid="undo"
                hidden=move || !offers_undo()
                on:click=move |_| {
                    state.undo();
                    dismiss();
                }
            >
                "Undo"
            </button>
            <button type="button" class="quiet" data-testid="dismiss" on:click=move |_| dismiss()>
                "Dismiss"
            </button>
        </div>
    }
}

/// Announces the verdict, or the problems, once the settings have rested.
fn announce_verdict(state: State) {
    let sentence = Memo::new(move |_| summary::sentence(state));
    Effect::new(move |waiting: Option<Option<Timeout>>| {
        let sentence = sentence.get();
        // An announcement that still waits is called off. On the first run nobody has changed anything yet.
        waiting.map(|_| Timeout::new(REST, move || state.toasts.announce(sentence)))
    });
}
