//! The same numbers as in the charts, as a table.

use leptos::ev::{MouseEvent, PointerEvent};
use leptos::prelude::*;

use super::super::browser;
use super::view::{View, view};
use crate::memory::bucket::Bucket;
use crate::report::table::{Order, Row, Table};
use crate::report::target::Target;

/// More stages than this are not drawn; copying gives them all.
const MOST: usize = 128;

/// The table of all stages.
#[component]
pub(super) fn Numbers() -> impl IntoView {
    let view = view();
    let order = RwSignal::new(Order::Stage);
    let table = Memo::new(move |_| {
        let outcome = view.state.outcome.read();
        let table = outcome
            .as_ref()
            .map(|o| Table::new(&o.config, &o.estimate, view.state.unit.get()));
        table.map(|table| table.sorted(order.get()))
    });
    let columns = Memo::new(move |_| {
        let table = table.read();
        table
            .as_ref()
            .map(|table| table.buckets.clone())
            .unwrap_or_default()
    });
    let sorted = move |by: Order| {
        move || {
            if order.get() == by {
                if by == Order::Stage {
                    "ascending"
                } else {
                    "descending"
                }
            } else {
                "none"
            }
        }
    };
    let heading = move |by: Order, label: &'static str| {
        view! {
            <th scope="col" aria-sort=sorted(by)>
                <button type="button" on:click=move |_| order.set(by)>{label}</button>
            </th>
        }
    };
    let headings = move || {
        let buckets = columns.read();
        buckets
            .iter()
            .map(|bucket| heading(Order::Bucket(*bucket), bucket.label()))
            .collect_view()
    };
    let rows = move || {
        let (table, lit, shown) = (table.read(), view.lit.read(), view.stage.get());
        let table = table.as_ref();
        let rows = table
            .iter()
            .flat_map(|table| table.rows.iter().take(MOST))
            .enumerate();
        rows.map(|(i, row)| {
            let buckets = table.map_or(&[][..], |table| &table.buckets);
            self::row(i, row, buckets, lit.as_ref(), shown == Some(row.stage))
        })
        .collect_view()
    };
    let hands = Hands { table, view };
    let copied = RwSignal::new(None);
    let copy = move |_| {
        if let Some(table) = table.read_untracked().as_ref() {
            browser::copy(&table.tsv(), move |allowed| copied.set(Some(allowed)));
        }
    };
    let copy_label = move || match copied.get() {
        None => "Copy as TSV",
        Some(true) => "Copied",
        Some(false) => "The browser denies copying",
    };
    let left_out = move || {
        let rows = table.read().as_ref().map_or(0, |table| table.rows.len());
        (rows > MOST).then(|| format!("The first {MOST} of {rows} rows; copying gives them all."))
    };
    view! {
        <section class="panel numbers" aria-labelledby="numbers-title">
            <header class="panel-head">
                <h2 id="numbers-title">"All numbers"</h2>
                <p class="panel-note">{move || view.state.unit.get().symbol()}" on each GPU"</p>
                <button type="button" class="link" aria-live="polite" on:click=copy data-testid="copy-table">
                    {copy_label}
                </button>
            </header>
            <div class="table-scroll" tabindex="0" role="region" aria-labelledby="numbers-title">
                <table on:pointerover=move |event| hands.point(&event) on:pointerleave=move |_| view.lit.set(None) on:click=move |event| hands.choose(&event)>
                    <thead>
                        <tr>
                            {heading(Order::Stage, "Stage")} <th scope="col">"Layers"</th> {headings}
                            {heading(Order::Total, "Total")}
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <p class="panel-note">{left_out}</p>
        </section>
    }
}

/// What the pointer does to the table.
#[derive(Clone, Copy)]
struct Hands {
    table: Memo<Option<Table>>,
    view: View,
}

impl Hands {
    /// What a place, such as `3` for a row or `3.1` for a cell of it, is about.
    fn target(&self, event: &MouseEvent) -> Option<Target> {
        let place = browser::place(event)?;
        let (row, column) = place.split_once('.').unwrap_or((&place, ""));
        let table = self.table.read_untracked();
        let table = table.as_ref()?;
        let row = table.rows.get(row.parse::<usize>().ok()?)?;
        let bucket = column
            .parse()
            .ok()
            .and_then(|i: usize| table.buckets.get(i));
        Some(bucket.map_or_else(|| Target::stage(row.stage), |bucket| row.cell(*bucket)))
    }

    fn point(&self, event: &PointerEvent) {
        self.view.lit.set(self.target(event));
    }

    fn choose(&self, event: &MouseEvent) {
        if let Some(target) = self.target(event) {
            if target.path.is_empty() {
                self.view.path.set(String::new());
            }
            self.view.choose(&target);
        }
    }
}

fn row(
    i: usize,
    row: &Row,
    buckets: &[Bucket],
    lit: Option<&Target>,
    shown: bool,
) -> impl IntoView + use<> {
    let lights = |target: &Target| lit.is_some_and(|lit| lit.lights(target));
    let cells = buckets
        .iter()
        .zip(&row.numbers)
        .enumerate()
        .map(|(j, (bucket, number))| {
            let class = match (
                lights(&row.cell(*bucket)),
                number.trim_matches(['0', '.']).is_empty(),
            ) {
                (true, _) => "lit",
                (false, true) => "none",
                (false, false) => "",
            };
            view! { <td class=class data-at=format!("{i}.{j}")>{number.clone()}</td> }
        });
    let class = format!(
        "verdict-{}{}{}",
        row.verdict.id(),
        if shown { " chosen" } else { "" },
        if lights(&Target::stage(row.stage)) {
            " lit"
        } else {
            ""
        }
    );
    view! {
        <tr class=class data-at=i.to_string()>
            <th scope="row">
                <button type="button" aria-pressed=if shown { "true" } else { "false" }>
                    {row.name.clone()}
                </button>
            </th>
            <td>{row.layers.clone()}</td>
            {cells.collect_view()}
            <td class="total-cell">{row.total_number.clone()}</td>
        </tr>
    }
}
