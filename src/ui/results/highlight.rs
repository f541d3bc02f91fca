//! What is highlighted in all results at once.

use leptos::prelude::*;

use crate::report::target::Target;
use crate::ui::browser;

/// What the pointer or the focus is on, or what was tapped last. Every chart, table and list of the results highlights
/// the parts that are about the same [`Target`]. Provided as context.
#[derive(Clone, Copy)]
pub(in super::super) struct Highlight(RwSignal<Option<Target>>);

impl Highlight {
    /// Nothing is highlighted, until a panel says so. A click on nothing in particular and the Escape key remove the
    /// highlight; a handler whose click is about something calls `prevent_default`.
    pub(super) fn new() -> Self {
        let highlight = Self(RwSignal::new(None));
        on_click_elsewhere_or_escape(move || highlight.clear());
        highlight
    }

    /// The highlighted target.
    pub(super) fn target(self) -> Option<Target> {
        self.0.get()
    }

    /// Whether what is about `target` is highlighted.
    pub(super) fn lights(self, target: &Target) -> bool {
        let highlighted = self.0.read();
        highlighted
            .as_ref()
            .is_some_and(|highlighted| highlighted.lights(target))
    }

    /// Highlights `target` and nothing else.
    pub(super) fn set(self, target: Option<Target>) {
        if *self.0.read_untracked() != target {
            self.0.set(target);
        }
    }

    /// Highlights nothing.
    pub(super) fn clear(self) {
        self.set(None);
    }
}

/// Acts when the reader presses Escape, or clicks where no handler has called `prevent_default`.
pub(super) fn on_click_elsewhere_or_escape(act: impl Fn() + Copy + 'static) {
    let clicks = window_event_listener(leptos::ev::click, move |event| {
        if !event.default_prevented() {
            act();
        }
    });
    let keys = window_event_listener(leptos::ev::keydown, move |event| {
        if browser::key(&event) == "Escape" {
            act();
        }
    });
    on_cleanup(move || {
        clicks.remove();
        keys.remove();
    });
}
