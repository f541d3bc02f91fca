//! The dialog that is open.

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
    /// Shows the link to the page, for browsers that refuse the clipboard.
    Link,
    /// Writes a report of a wrong estimate.
    Report,
    /// Lists the keyboard shortcuts and explains the words.
    Help,
}

/// The dialog that is open; `None` while none is. Provided as context on the calculator's own page: embeds have no
/// dialogs.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenDialog(pub RwSignal<Option<DialogKind>>);

impl OpenDialog {
    /// Opens a dialog in place of any other.
    pub fn open(self, kind: DialogKind) {
        self.0.set(Some(kind));
    }

    /// Closes this dialog; another one stays open.
    pub fn close(self, kind: DialogKind) {
        if *self.0.read_untracked() == Some(kind) {
            self.0.set(None);
        }
    }

    /// Whether this dialog is open.
    #[must_use]
    pub fn is(self, kind: DialogKind) -> bool {
        *self.0.read() == Some(kind)
    }
}
