//! The index of the panels: a link to each heading.

use leptos::prelude::*;

use crate::ui::browser;

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

/// A line of buttons, each of which goes to a panel.
#[component]
pub(super) fn PanelIndex() -> impl IntoView {
    let buttons = PANELS.map(|(id, name)| {
        view! {
            <button type="button" class="link" data-panel=id on:click=move |_| browser::go_to(id)>
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
