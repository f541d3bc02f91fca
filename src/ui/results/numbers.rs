//! The same numbers as in the charts, as a table that can be sorted and copied.

mod row;

use leptos::html::Div;
use leptos::prelude::*;

use crate::parts::{CopyButton, InSight, InTurn, MoreHeadings, Panel, PanelHead, ScrollBox, Table, deferred_signal};
use crate::state::ResultsState;
use megatron_memory::report::amount::Scale;
use megatron_memory::report::table::{Order, Table as NumbersTable};
use row::StageRow;

/// More stages than this are not shown; copying gives them all.
const MOST_ROWS: usize = 128;

/// The id of the title.
const TITLE: &str = "numbers-title";

/// The table of all stages.
#[component]
pub(crate) fn NumbersPanel() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let order = RwSignal::new(Order::Stage);
    let place = NodeRef::<Div>::new();
    let outcome = results.page.outcome;
    let compute = move || {
        let outcome = outcome.read();
        let outcome = outcome.as_ref()?;
        let standing = results.page.standing.get()?;
        let unit = results.page.preferences.unit.get();
        let table = NumbersTable::new(&outcome.config, &outcome.estimate, &standing, unit);
        Some(table.sorted(order.get()))
    };
    let table = deferred_signal(place, InSight::AfterFrame, move || outcome.track(), compute);
    let is_known = Memo::new(move |_| table.read().is_some());
    let note = move || format!("{} on each GPU", results.page.preferences.unit.get().symbol());
    view! {
        <Panel class="numbers" title=TITLE>
            <PanelHead id=TITLE title="Table" note>
                <CopyTable table=table />
            </PanelHead>
            <ScrollBox titled_by=TITLE>
                <div class="numbers-table" node_ref=place>
                    <Show when=move || is_known.get()>
                        <InTurn><StageTable table=table order=order /></InTurn>
                    </Show>
                </div>
            </ScrollBox>
            <Show when=move || is_known.get()>
                <p class="panel-note rounding">
                    {move || Scale::fine(results.page.preferences.unit.get()).rounding_note()}
                </p>
            </Show>
        </Panel>
    }
}

/// Copies the whole table for a spreadsheet, and says whether that was allowed.
#[component]
fn CopyTable(table: ReadSignal<Option<NumbersTable>>) -> impl IntoView {
    let said = RwSignal::new("");
    let say = move |is_copied| {
        said.set(if is_copied {
            "Copied"
        } else {
            "The browser does not allow copying"
        });
    };
    view! {
        <CopyButton
            attr:class="link"
            text=move || Some(table.read().as_ref().map(NumbersTable::tsv).unwrap_or_default())
            on_done=say
        >
            "Copy as TSV"
        </CopyButton>
        <p class="panel-note" role="status">{said}</p>
    }
}

/// A row for each stage, a column for each bucket that some stage has, and their total.
#[component]
fn StageTable(table: ReadSignal<Option<NumbersTable>>, order: RwSignal<Order>) -> impl IntoView {
    let buckets = Memo::new(move |_| of_table(table, |table| table.buckets.clone()));
    let of_buckets = move || {
        let buckets = buckets.get().into_iter();
        let headings = buckets.map(|bucket| {
            view! { <SortHeading label=bucket.label() by=Order::Bucket(bucket) order=order /> }
        });
        headings.collect_view()
    };
    let count = Memo::new(move |_| of_table(table, |table| table.rows.len()));
    view! {
        <Table>
            <MoreHeadings slot>
                <SortHeading label="Stage" by=Order::Stage order=order />
                <th scope="col">"Layers"</th>
                {of_buckets}
                <SortHeading label="Total" by=Order::Total order=order />
            </MoreHeadings>
            <For each=move || 0..count.get().min(MOST_ROWS) key=|number| *number let:number>
                <StageRow table=table number=number />
            </For>
        </Table>
        <Show when=move || { count.get() > MOST_ROWS }>
            <p class="panel-note">
                {move || format!("The first {MOST_ROWS} of {} rows; copying gives them all.", count.get())}
            </p>
        </Show>
    }
}

/// Something of the table; the default before the first valid job.
fn of_table<T: Default>(table: ReadSignal<Option<NumbersTable>>, read: impl FnOnce(&NumbersTable) -> T) -> T {
    table.read().as_ref().map(read).unwrap_or_default()
}

/// The heading of a column. A click sorts the rows by it.
#[component]
fn SortHeading(
    label: &'static str,
    /// What the rows are sorted by after a click.
    by: Order,
    /// What they are sorted by now.
    order: RwSignal<Order>,
) -> impl IntoView {
    let sorted = move || match by {
        _ if order.get() != by => "none",
        Order::Stage => "ascending",
        _ => "descending",
    };
    view! {
        <th scope="col" aria-sort=sorted>
            <button type="button" on:click=move |_| order.set(by)>{label}</button>
        </th>
    }
}
