//! The index of the panels: a link to each heading.

use leptos::prelude::*;

use crate::browser;
use crate::state::State;

/// The ids of the panels' headings with their names here, in the order of the page.
const PANELS: [(&str, &str); 12] = [
    ("fit-title", "Fit"),
    ("stages-title", "Stages"),
    ("detail-title", "Buckets"),
    ("plot-title", "Plot"),
    ("gpus-title", "Other GPUs"),
    ("methods-title", "Methods"),
    ("plans-title", "Plans"),
    ("savings-title", "Recompute"),
    ("frameworks-title", "Logs"),
    ("measured-title", "Measured"),
    ("numbers-title", "Table"),
    ("ranks-title", "Ranks"),
];
/// The panels that stay in the page while there is no result.
const WITHOUT_RESULT: [&str; 3] = ["fit-title", "plot-title", "plans-title"];

/// A line of buttons, each of which goes to a panel.
#[component]
pub(super) fn PanelIndex() -> impl IntoView {
    let outcome = expect_context::<State>().outcome;
    let has_result = Memo::new(move |_| outcome.read().is_some());
    let buttons = PANELS.map(|(id, name)| {
        let is_gone = move || !has_result.get() && !WITHOUT_RESULT.contains(&id);
        view! {
            <button type="button" class="link" data-panel=id hidden=is_gone on:click=move |_| browser::go_to(id)>
                {name}
            </button>
        }
    });
    view! {
        <nav class="panel-index" aria-label="Results on this page">
            {buttons.into_iter().collect_view()}
        </nav>
    }
}
