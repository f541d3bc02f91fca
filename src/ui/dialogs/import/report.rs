//! The report of an import: the format that a text was read as, and how each of its keys was used.

use leptos::prelude::*;

use super::session::ImportSession;
use crate::parts::Table;
use megatron_memory::formats::detect::Format;
use megatron_memory::formats::import::{Question, Row};
use megatron_memory::formats::import_text::ImportedText;
use megatron_memory::formats::report::KeyStatus;

/// The most rows of the report that are shown.
const MAX_ROWS: usize = 400;

/// The table of all keys.
#[component]
pub(super) fn Report(session: RwSignal<ImportSession>) -> impl IntoView {
    let rows = Memo::new(move |_| {
        let session = session.read();
        let rows = session.imported().map(|read| read.import.report.clone());
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
                    caption="What became of every key"
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

/// What a text was understood as, in a sentence, and how many keys became what.
pub(super) fn understood_as(read: &ImportedText) -> String {
    let ImportedText { import, changes } = read;
    let counts = KeyStatus::ALL.iter().copied().filter_map(|status| {
        let count = import.report.iter().filter(|row| row.status == status).count();
        (count > 0).then(|| format!("{count} {}", status.label()))
    });
    let counts: Vec<String> = counts.collect();
    let format = import.format.label();
    let kind = match import.format {
        Format::ShareLink | Format::OwnJson => format.to_owned(),
        Format::HfConfig | Format::HubModel if changes.is_none() => format!(
            "{format} ({}); parallelism, batch and precision stay{}",
            import.dialect,
            conflicts(&import.report)
        ),
        _ if let Some(changes) = changes => {
            let unknown = import.questions.iter().find_map(|question| match question {
                Question::Model { name } => Some(name),
                _ => None,
            });
            let model = unknown.map_or("without a model".to_owned(), |name| {
                format!("for {name}, of which nothing is known yet")
            });
            let count = settings(changes.len());
            let but = conflicts(&import.report);
            format!("{format} {model}: Apply changes {count} of your job, and the rest stays{but}")
        }
        _ => format!("{format}, with the defaults of {}", import.dialect),
    };
    match counts.as_slice() {
        [] => format!("This is {kind}."),
        counts => format!("This is {kind}. Keys: {}.", counts.join(", ")),
    }
}

/// How many settings of the page's job cannot stay.
fn conflicts(report: &[Row]) -> String {
    let conflicting = |row: &&Row| row.status == KeyStatus::Conflicting && row.line.is_none();
    match report.iter().filter(conflicting).count() {
        0 => String::new(),
        count => format!(", but for {} that cannot apply, see below", settings(count)),
    }
}

fn settings(count: usize) -> String {
    match count {
        0 => "no setting".to_owned(),
        1 => "1 setting".to_owned(),
        count => format!("{count} settings"),
    }
}
