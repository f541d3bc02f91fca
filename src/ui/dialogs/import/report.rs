//! The report of an import: how each key of a text was used.

use leptos::prelude::*;

use super::session::ImportSession;
use crate::parts::Table;
use megatron_memory::formats::import::Row;

/// The most rows of the report that are shown.
const MAX_ROWS: usize = 400;

/// The table of all keys.
#[component]
pub(super) fn Report(session: RwSignal<ImportSession>) -> impl IntoView {
    let rows = Memo::new(move |_| {
        let session = session.read();
        let rows = session.imported().map(|read| read.report.clone());
        rows.unwrap_or_default()
    });
    let more = move || rows.read().len().saturating_sub(MAX_ROWS);
    view! {
        <div class="modal-report">
            <div
                class="modal-table"
                tabindex="0"
                role="region"
                aria-label="Report"
                hidden=move || rows.read().is_empty()
            >
                <Table
                    caption="What happened to each key"
                    caption_unseen=true
                    headings=["Line", "Key", "Value", "Became", "Field", "Why"]
                >
                    {move || rows.read().iter().take(MAX_ROWS).map(report_row).collect_view()}
                </Table>
            </div>
            <p hidden=move || more() == 0>{move || format!("And {} more.", more())}</p>
        </div>
    }
}

fn report_row(row: &Row) -> impl IntoView + use<> {
    let field = row.field.map_or("", |id| id.field().label);
    view! {
        <tr class=format!("status-{}", row.status.id())>
            <td>{row.line.map(|line| line.to_string())}</td>
            <td>{row.key.clone()}</td>
            <td>{row.value.clone()}</td>
            <td>{row.status.label()}</td>
            <td>{field}</td>
            <td>{row.note.to_string()}</td>
        </tr>
    }
}
