//! Passing messages: a toast at the edge of the page, and a live region for screen readers.

use gloo::timers::callback::Timeout;

use crate::browser;
use crate::state::State;
use crate::summary::sentence;
use leptos::prelude::*;

/// The id of the live region.
const LIVE_REGION: &str = "spoken";

/// How long the settings must rest before the new verdict is announced, in milliseconds.
const REST: u32 = 1000;

/// The toast and the live region. Neither takes the focus when a message comes.
#[component]
pub fn Toasts() -> impl IntoView {
    let state = expect_context::<State>();
    let toasts = state.toasts;
    announce_verdict(state);
    browser::on_press_of_disabled(move |reason| toasts.tell(format!("{reason}.")));
    let text = move || toasts.text();
    let dismiss = move || {
        toasts.dismiss();
        // The button that was pressed goes away with the toast; the focus must not be lost with it.
        browser::focus(LIVE_REGION);
    };
    view! {
        <p id=LIVE_REGION class="unseen" tabindex="-1" role="status" data-testid="spoken">
            {move || toasts.announced()}
        </p>
        <div
            class="notice"
            role="region"
            aria-label="Message"
            hidden=move || text().is_none()
            on:pointerenter=move |_| toasts.stay()
            on:pointerleave=move |_| toasts.leave_later()
            on:focusin=move |_| toasts.stay()
            on:focusout=move |_| toasts.leave_later()
        >
            <p>{text}</p>
            <button
                type="button"
                data-testid="undo"
                hidden=move || !toasts.offers_undo()
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

/// Announces the verdict, or the problems, once the settings have rested and where it is another one.
fn announce_verdict(state: State) {
    let now = move || untrack(|| sentence(state));
    let last = StoredValue::new(String::new());
    Effect::new(move |waiting: Option<Option<Timeout>>| {
        state.outcome.track();
        state.checked.track();
        state.preferences.unit.track();
        // On the first run nobody has changed anything yet.
        if waiting.is_none() {
            last.set_value(now());
            return None;
        }
        // An announcement that still waits is called off.
        Some(Timeout::new(REST, move || {
            let sentence = now();
            if last.get_value() != sentence {
                last.set_value(sentence.clone());
                state.toasts.announce(sentence);
            }
        }))
    });
}
