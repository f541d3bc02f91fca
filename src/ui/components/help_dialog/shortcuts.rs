//! The page's keyboard shortcuts.

use crate::browser::{self, FormControl};
use crate::components::form::field_search::SEARCH;
use crate::components::form::is_control_id;
use crate::state::{DialogKind, OpenDialog, State};
use leptos::ev::{self, KeyboardEvent};
use leptos::prelude::*;

/// Where the browser's storage says whether the single keys are off.
const SINGLE_KEYS_OFF: &str = "quiet";

/// Whether the last visit left the single keys off, which are in the way of readers who speak to their computer.
pub(super) fn stored_single_keys_off() -> bool {
    browser::stored(SINGLE_KEYS_OFF).as_deref() == Some("true")
}

/// Keeps the choice for the next visit.
pub(super) fn store_single_keys_off(off: bool) {
    browser::store(SINGLE_KEYS_OFF, &off.to_string());
}

/// A shortcut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shortcut {
    Undo,
    Redo,
    Find,
    Help,
}

impl Shortcut {
    /// The shortcut that a key stands for. With Shift or Caps Lock, browsers name a letter in upper case.
    fn of(event: &KeyboardEvent) -> Option<Self> {
        let command = event.ctrl_key() || event.meta_key();
        let key = event.key().to_ascii_lowercase();
        match key.as_str() {
            _ if event.alt_key() => None,
            "z" if command && event.shift_key() => Some(Self::Redo),
            "z" if command => Some(Self::Undo),
            "y" if command => Some(Self::Redo),
            "/" if !command => Some(Self::Find),
            "?" if !command => Some(Self::Help),
            _ => None,
        }
    }

    /// Whether whoever has the focus lets the page have the key. Text is the browser's to type and to undo; only in the
    /// form, where steps of other fields come between, is Undo the page's.
    fn is_free(self, single_keys_off: bool) -> bool {
        let control = browser::focused_control();
        match self {
            Self::Undo | Self::Redo => match control {
                Some(FormControl::TextArea) => false,
                Some(FormControl::Input { id }) => is_control_id(&id),
                Some(FormControl::Checkbox | FormControl::Select) | None => true,
            },
            Self::Find | Self::Help => !single_keys_off && control.is_none(),
        }
    }
}

/// Obeys the shortcuts, wherever they are pressed.
pub(super) fn listen(single_keys_off: RwSignal<bool>) {
    let state = expect_context::<State>();
    let open_dialog = expect_context::<OpenDialog>();
    let listener = window_event_listener(ev::keydown, move |event| {
        let shortcut = Shortcut::of(&event).filter(|shortcut| shortcut.is_free(single_keys_off.get_untracked()));
        let Some(shortcut) = shortcut else {
            return;
        };
        event.prevent_default();
        let done = match shortcut {
            Shortcut::Undo => state.undo(),
            Shortcut::Redo => state.redo(),
            Shortcut::Find => {
                browser::focus(SEARCH);
                true
            }
            Shortcut::Help => {
                open_dialog.open(DialogKind::Help);
                true
            }
        };
        if !done {
            state.toasts.announce("Nothing left to undo or redo.");
        }
    });
    on_cleanup(move || listener.remove());
}
