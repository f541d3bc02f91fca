//! The dialogs over the calculator: import, export, and the search for layouts.

use leptos::prelude::*;

/// The dialogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialogKind {
    /// Reads a job from a text, a file or the Hugging Face hub.
    Import,
    /// Writes the job or its results as a file.
    Export,
    /// Searches for parallel layouts that fit the GPU.
    Search,
}

/// Which dialog is open; `None` while none is. Provided as context by [`App`](super::App).
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenDialog(pub RwSignal<Option<DialogKind>>);

impl OpenDialog {
    /// Opens a dialog in place of any other.
    pub fn open(self, kind: DialogKind) {
        self.0.set(Some(kind));
    }
}
