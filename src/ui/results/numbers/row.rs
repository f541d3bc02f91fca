//! A stage's row in the table of all numbers.

use leptos::prelude::*;

use crate::browser;
use crate::parts::passing_memo;
use crate::state::{Highlight, ResultsState};
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::report::table::{Table, TableRow};
use megatron_memory::report::target::Target;

/// The columns before the buckets: the stage's name and its layers.
const COLUMNS_BEFORE_BUCKETS: usize = 2;

/// A stage. Pointing at a bucket's cell highlights the bucket, and a click explains it; everything else in the row is
/// about the whole stage.
#[component]
pub(super) fn StageRow(
    table: ReadSignal<Option<Table>>,
    /// The row's place in the table.
    number: usize,
) -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let highlight = expect_context::<Highlight>();
    // Rows come and go with edits.
    let row = passing_memo(move || of_row(table, number, |table, row| Some((table.buckets.clone(), row.clone()))));
    let is_shown = passing_memo(move || {
        let stage = row.read().as_ref().map(|(_, row)| row.stage);
        stage.is_some() && results.stage.get() == stage
    });
    let highlighted = passing_memo(move || highlight.target());
    let class = move || {
        let row = row.read();
        row.as_ref().map(|(_, row)| {
            let shown = if is_shown.get() { " chosen" } else { "" };
            let lit = lit_class(highlighted.read().as_ref(), &Target::stage(row.stage));
            format!("verdict-{}{shown}{lit}", row.verdict.style())
        })
    };
    let cells = move || {
        let row = row.read();
        row.as_ref().map(|(buckets, row)| {
            let highlighted = highlighted.read();
            let numbers = buckets.iter().zip(&row.numbers);
            let numbers = numbers.map(|(bucket, number)| number_cell(row, *bucket, number, highlighted.as_ref()));
            view! {
                <th scope="row">
                    <button type="button" aria-pressed=is_shown.get().to_string()>
                        {row.name.clone()}
                    </button>
                </th>
                <td>{row.layers.clone()}</td>
                {numbers.collect_view()}
                <td class="total-cell">{row.total_number.clone()}</td>
            }
        })
    };
    let target_at = move |event: &leptos::ev::Event| {
        let column = browser::table_column(event);
        untrack(|| of_row(table, number, |table, row| Some(target_at(table, row, column))))
    };
    view! {
        <tr
            class=class
            on:pointerover=move |event| {
                if browser::is_mouse(&event) {
                    highlight.set(target_at(&event));
                }
            }
            on:pointerleave=move |event| if browser::is_mouse(&event) { highlight.clear() }
            on:focusin=move |event| highlight.set(target_at(&event))
            on:focusout=move |_| highlight.clear()
            on:click=move |event| {
                if let Some(target) = target_at(&event) {
                    event.prevent_default();
                    if target.path.is_empty() {
                        results.explained.set(String::new());
                    }
                    results.choose(&target);
                    highlight.set(Some(target));
                }
            }
        >
            {cells}
        </tr>
    }
}

/// Something of a row; the default where the table has no such row any more.
fn of_row<T: Default>(table: ReadSignal<Option<Table>>, number: usize, read: impl FnOnce(&Table, &TableRow) -> T) -> T {
    let table = table.read();
    let row = table.as_ref().and_then(|table| Some((table, table.rows.get(number)?)));
    row.map(|(table, row)| read(table, row)).unwrap_or_default()
}

/// What the cell in a column is about: a bucket of the stage, or the whole stage.
fn target_at(table: &Table, row: &TableRow, column: Option<usize>) -> Target {
    let bucket = column
        .and_then(|column| column.checked_sub(COLUMNS_BEFORE_BUCKETS))
        .and_then(|column| table.buckets.get(column));
    bucket.map_or_else(|| Target::stage(row.stage), |bucket| row.cell(*bucket))
}

fn number_cell(row: &TableRow, bucket: Bucket, number: &str, highlighted: Option<&Target>) -> impl IntoView + use<> {
    let is_nothing = number.trim_matches(['0', '.']).is_empty();
    let lit = lit_class(highlighted, &row.cell(bucket));
    let class = format!("{}{lit}", if is_nothing { "none" } else { "some" });
    view! { <td class=class>{number.to_owned()}</td> }
}

/// The class of what is highlighted, behind others.
fn lit_class(highlighted: Option<&Target>, target: &Target) -> &'static str {
    if highlighted.is_some_and(|highlighted| highlighted.highlights(target)) {
        " lit"
    } else {
        ""
    }
}
