//! The dialog that writes a report of a wrong estimate.

use super::VERSION;
use crate::components::modal::Modal;
use crate::parts::CopyButton;
use crate::state::{DialogKind, OpenDialog, State};
use crate::summary::sentence;
use leptos::prelude::*;
use megatron_memory::source::MEGATRON_LM_REVISION;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Where reports go; empty for a copy of the page that nobody has published.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// What is escaped in the query of an address: everything but RFC 3986's unreserved characters.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The report as far as the page can write it, to be copied or sent along.
#[component]
pub fn ReportDialog() -> impl IntoView {
    let state = expect_context::<State>();
    let open_dialog = expect_context::<OpenDialog>();
    // Written when the dialog opens, and only then.
    let report = Memo::new(move |_| {
        if open_dialog.is(DialogKind::Report) {
            untrack(|| text(state))
        } else {
            String::new()
        }
    });
    let say = move |is_copied| {
        state.toasts.tell(if is_copied {
            "Report copied."
        } else {
            "The browser does not allow copying."
        });
    };
    let issue = move || {
        let body = utf8_percent_encode(&report.read(), QUERY).to_string();
        format!("{REPOSITORY}/issues/new?title=Wrong%20estimate&body={body}")
    };
    let issue_link = move || {
        (!REPOSITORY.is_empty()).then(|| {
            view! {
                <a target="_blank" rel="noopener" href=issue>
                    "Open an issue with it"
                </a>
            }
        })
    };
    view! {
        <Modal kind=DialogKind::Report id="report" title="Report a wrong estimate">
            <p>"Add what was measured and send it along; nothing leaves this page by itself."</p>
            <textarea aria-label="Report" readonly=true rows="9" prop:value=report></textarea>
            <CopyButton text=move || Some(report.get()) on_done=say>
                "Copy the report"
            </CopyButton>
            {issue_link()}
        </Modal>
    }
}

fn text(state: State) -> String {
    format!(
        "{}\n\nPredicted: {}\nMeasured: \nMeasured with: \n\nMegatron Memory {VERSION}\nMegatron-LM {MEGATRON_LM_REVISION}\n",
        state.address(),
        sentence(state),
    )
}
