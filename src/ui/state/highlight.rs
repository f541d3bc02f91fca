//! The target that is highlighted in all results at once.

use leptos::prelude::*;

use crate::browser;
use megatron_memory::report::target::Target;

/// What the pointer or the focus is on, or what was tapped last. Every chart, table and list of the results highlights
/// the parts that are about the same [`Target`]. Provided as context.
#[derive(Clone, Copy, Debug)]
pub struct Highlight(RwSignal<Option<Target>>);

impl Highlight {
    /// Nothing is highlighted, until a panel says so. A click on nothing in particular and the Escape key remove the
    /// highlight; a handler whose click is about something calls `prevent_default`.
    pub fn new() -> Self {
        let highlight = Self(RwSignal::new(None));
        browser::on_click_elsewhere_or_escape(move || highlight.clear());
        highlight
    }

    /// The highlighted target.
    pub fn target(self) -> Option<Target> {
        self.0.get()
    }

    /// Whether what is about `target` is highlighted.
    pub fn highlights(self, target: &Target) -> bool {
        let highlighted = self.0.read();
        highlighted
            .as_ref()
            .is_some_and(|highlighted| highlighted.highlights(target))
    }

    /// Highlights `target` and nothing else.
    pub fn set(self, target: Option<Target>) {
        if *self.0.read_untracked() != target {
            self.0.set(target);
        }
    }

    /// Highlights nothing.
    pub fn clear(self) {
        self.set(None);
    }
}
