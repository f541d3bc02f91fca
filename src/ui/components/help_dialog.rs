//! The dialog that lists the keyboard shortcuts and explains the words of the page.

mod shortcuts;

use shortcuts::{listen, store_single_keys_off, stored_single_keys_off};

use super::modal::Modal;
use crate::state::DialogKind;
use leptos::prelude::*;

/// The keys and what they do.
const KEYS: &[(&str, &str)] = &[
    ("Ctrl or ⌘ Z", "Undo"),
    ("Ctrl or ⌘ Shift Z", "Redo"),
    ("/", "Find a setting"),
    ("?", "This help"),
    ("↑ ↓ in a number", "Next legal value"),
    ("Shift ↑ ↓ in a number", "Double, halve"),
    ("Home End in a parallel size", "Smallest, largest legal value"),
    ("← → ↑ ↓ in the layers of a pattern", "Another layer"),
    (
        "M * - E G + D there",
        "Kind of the layer; Enter inserts one, Delete removes it, | ends the stage",
    ),
    ("Esc", "Close"),
];

/// The words of the page and what they mean.
const WORDS: &[(&str, &str)] = &[
    ("TP", "Tensor parallel: ranks that split the matrices of every layer."),
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
    ("EP", "Expert parallel: ranks that split the routed experts of a layer."),
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

/// The help dialog. As long as it is mounted, the page obeys its keyboard shortcuts.
#[component]
pub fn HelpDialog() -> impl IntoView {
    let single_keys_off = RwSignal::new(stored_single_keys_off());
    listen(single_keys_off);
    view! {
        <Modal kind=DialogKind::Help id="help" title="Help">
            <h3>"Keys"</h3>
            <Definitions entries=KEYS />
            <label class="box">
                <input
                    type="checkbox"
                    data-testid="single-keys-off"
                    prop:checked=single_keys_off
                    on:change:target=move |event| {
                        let off = event.target().checked();
                        store_single_keys_off(off);
                        single_keys_off.set(off);
                    }
                />
                <span>"Turn off the single keys / and ?"</span>
            </label>
            <h3>"Words"</h3>
            <Definitions entries=WORDS />
        </Modal>
    }
}

#[component]
fn Definitions(entries: &'static [(&'static str, &'static str)]) -> impl IntoView {
    let entries = entries.iter().map(|(name, text)| {
        view! {
            <div>
                <dt>{*name}</dt>
                <dd>{*text}</dd>
            </div>
        }
    });
    view! { <dl>{entries.collect_view()}</dl> }
}
