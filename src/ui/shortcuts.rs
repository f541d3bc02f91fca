//! Keyboard shortcuts, and the dialog that lists them and explains the words.

use core::time::Duration;

use super::browser::{self, Event, Timer};
use super::draw::dialog;
use super::form::search::SEARCH;
use super::shown::{Gesture, Piece, shown};
use super::state::State;
use crate::report::markup::{Markup, tag};
use leptos::prelude::*;

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

/// Whether keys without Ctrl do nothing, in the browser's storage and on this page.
const QUIET: &str = "quiet";

/// How long a reader rests between two steps of typing.
const PAUSE: Duration = Duration::from_secs(1);

/// Obeys a key, wherever it is pressed; true when the browser must not.
fn press(state: State, key: &str) -> bool {
    match key {
        "Ctrl+z" | "Ctrl+Z" | "Ctrl+y" => {
            // What is typed is the browser's to undo, but in the form, where steps come between.
            if browser::focus_is("textarea,input:not([type=checkbox],[id^=field-])") {
                return false;
            }
            let done = if key == "Ctrl+z" {
                state.undo()
            } else {
                state.redo()
            };
            if !done {
                state
                    .notices
                    .say(String::from("Nothing left to undo or redo."));
            }
        }
        "?" => browser::open_dialog(SHORTCUTS),
        "/" => browser::focus(SEARCH),
        _ => return false,
    }
    true
}

/// Listens for shortcuts as long as the page is there. The dialog that lists them can turn the single keys off, which
/// are in the way of those who speak to their computer.
pub(super) fn help(state: State) -> Piece {
    let quiet = RwSignal::new(browser::stored(QUIET).unwrap_or_default());
    let hear = move |event: &Event| {
        let key = browser::key(event);
        let alone = matches!(key.as_str(), "?" | "/");
        let heard = !alone
            || !(browser::focus_is("input,textarea,select") || *quiet.read_untracked() == "true");
        if heard && press(state, &key) {
            event.prevent_default();
        }
    };
    browser::listen_everywhere(&["keydown"], Box::new(hear));
    let timer = Timer::default();
    Effect::new(move |_| {
        drop(state.setup.read());
        timer.restart(PAUSE, Box::new(move || state.pause()));
    });
    let list = |entries: &[(&'static str, &'static str)]| {
        tag("dl").children(entries.iter().map(|(name, text)| {
            tag("div")
                .child(tag("dt").text(*name))
                .child(tag("dd").text(*text))
        }))
    };
    let draw = move || {
        let switch = tag("input")
            .with("type", "checkbox")
            .with("data-at", QUIET)
            .mark("checked", *quiet.read() == "true");
        let switch = tag("label")
            .class("box")
            .child(switch)
            .child(tag("span").text("Turn off the single keys / and ?"));
        let inside: Vec<Markup> = vec![
            tag("h3").text("Keys"),
            list(KEYS),
            switch,
            tag("h3").text("Words"),
            list(WORDS),
        ];
        vec![dialog(SHORTCUTS, "Help", inside)]
    };
    shown("whole", draw, move |gesture| {
        if let Gesture::Change(QUIET, on) = gesture {
            browser::store(QUIET, on);
            quiet.set(on.to_owned());
        }
        false
    })
}
