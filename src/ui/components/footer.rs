//! The footer: the revisions that the numbers are read from, and where to report a wrong one.

mod report;

use report::ReportDialog;

use crate::state::{DialogKind, OpenDialog};
use leptos::prelude::*;
use megatron_memory::source::{MEGATRON_BRIDGE_REVISION, MEGATRON_LM_REVISION};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The last line of the page.
#[component]
pub fn Footer() -> impl IntoView {
    let open_dialog = expect_context::<OpenDialog>();
    let short = |revision: &'static str| revision.get(..8).unwrap_or(revision);
    let stands_on = format!(
        "Megatron Memory {VERSION}, after Megatron-LM {} and Megatron-Bridge {}.",
        short(MEGATRON_LM_REVISION),
        short(MEGATRON_BRIDGE_REVISION)
    );
    view! {
        <footer class="foot">
            <p>{stands_on}</p>
            <button
                type="button"
                class="link"
                aria-haspopup="dialog"
                on:click=move |_| open_dialog.open(DialogKind::Report)
            >
                "Report a wrong estimate"
            </button>
        </footer>
        <ReportDialog />
    }
}
