//! Keyboard shortcuts, and the dialog that lists them and explains the words.

use leptos::ev::{self, KeyboardEvent};
use leptos::prelude::*;

use super::browser;
use super::form::control_id;
use super::form::search::SEARCH;
use super::state::State;
use crate::config::fields::FieldId;

/// The id of the dialog.
pub(super) const SHORTCUTS: &str = "help";

const KEYS: &[(&str, &str)] = &[
    ("Ctrl or ⌘ Z", "Undo"),
    ("Ctrl or ⌘ Shift Z", "Redo"),
    ("/", "Find a setting"),
    ("?", "This help"),
    ("↑ ↓ in a number", "Next legal value"),
    ("Shift ↑ ↓ in a number", "Double, halve"),
    (
        "Home End in a parallel size",
        "Smallest, largest legal value",
    ),
    ("Esc", "Close"),
];

const WORDS: &[(&str, &str)] = &[
    (
        "TP",
        "Tensor parallel: ranks that split the matrices of every layer.",
    ),
    (
        "PP",
        "Pipeline parallel: ranks that hold consecutive layers, a stage each.",
    ),
    (
        "VPP",
        "Virtual pipeline: each rank holds several chunks of layers, which shortens idle times.",
    ),
    ("CP", "Context parallel: ranks that split the sequence."),
    (
        "DP",
        "Data parallel: copies of the model that each see other samples. It follows from the rest.",
    ),
    (
        "EP",
        "Expert parallel: ranks that split the routed experts of a layer.",
    ),
    (
        "ETP",
        "Expert tensor parallel: ranks that split the matrices of each routed expert.",
    ),
    ("EDP", "Expert data parallel: copies of each routed expert."),
    (
        "SP",
        "Sequence parallel: norms and residuals split the sequence over the tensor-parallel ranks.",
    ),
    (
        "MoE",
        "Mixture of experts: a router sends each token to a few of many MLPs.",
    ),
    (
        "MLA",
        "Multi-latent attention: keys, values and queries are projected through a narrow space.",
    ),
    (
        "MTP",
        "Multi-token prediction: further layers that predict tokens beyond the next.",
    ),
    (
        "Distributed optimizer",
        "Optimizer states are split over the data-parallel ranks, as in ZeRO-1.",
    ),
    (
        "Recompute",
        "Activations are computed again in the backward pass instead of being kept.",
    ),
    ("GiB, GB", "2^30 and 10^9 bytes."),
];

fn keys(state: &'static State, event: &KeyboardEvent) {
    let command = event.ctrl_key() || event.meta_key();
    match event.key().as_str() {
        "z" | "Z" if command && !event.alt_key() => {
            let focused = browser::focused();
            let typing = FieldId::ALL
                .iter()
                .copied()
                .find(|id| control_id(id.field()) == focused);
            // Within a run of keystrokes the browser's own undo is finer.
            if typing.is_some_and(|id| state.typing_in(id)) || focused == SEARCH {
                return;
            }
            event.prevent_default();
            let done = if event.shift_key() {
                state.redo()
            } else {
                state.undo()
            };
            if !done {
                state.notices.tell("Nothing left to undo or redo.");
            }
        }
        "y" if command => {
            event.prevent_default();
            state.redo();
        }
        "?" if !command && !browser::writing() => {
            event.prevent_default();
            browser::open_dialog(SHORTCUTS);
        }
        "/" if !command && !browser::writing() => {
            event.prevent_default();
            browser::focus(SEARCH);
        }
        _ => {}
    }
}

/// Listens for shortcuts as long as the page is there.
pub(super) fn listen(state: &'static State) {
    let handle = window_event_listener(ev::keydown, move |event| keys(state, &event));
    on_cleanup(move || handle.remove());
}

/// The dialog.
#[component]
pub fn Shortcuts() -> impl IntoView {
    let entries = |list: &'static [(&str, &str)]| {
        list.iter()
            .map(|(name, text)| view! { <div><dt>{*name}</dt><dd>{*text}</dd></div> })
            .collect_view()
    };
    view! {
        <dialog id=SHORTCUTS class="help" aria-labelledby="help-title">
            <h2 id="help-title">"Help"</h2>
            <h3>"Keys"</h3>
            <dl>{entries(KEYS)}</dl>
            <h3>"Words"</h3>
            <dl>{entries(WORDS)}</dl>
            <form method="dialog">
                <button>"Close"</button>
            </form>
        </dialog>
    }
}
