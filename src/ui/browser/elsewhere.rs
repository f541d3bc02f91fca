//! Clicks that no control has handled, and the Escape key: both close what is open.

use leptos::prelude::*;

use super::key;

/// Acts when the reader presses Escape, or clicks where no handler has called `prevent_default`.
pub(crate) fn on_click_elsewhere_or_escape(act: impl Fn() + Copy + 'static) {
    let clicks = window_event_listener(leptos::ev::click, move |event| {
        if !event.default_prevented() {
            act();
        }
    });
    let keys = window_event_listener(leptos::ev::keydown, move |event| {
        if key(&event) == "Escape" {
            act();
        }
    });
    on_cleanup(move || {
        clicks.remove();
        keys.remove();
    });
}
