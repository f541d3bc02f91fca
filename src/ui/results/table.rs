//! The same numbers as in the charts, as a table.

use super::super::browser;
use super::super::draw::button;
use super::super::shown::{Gesture, Piece, frame, shown};
use super::panel::{heading, panel, scrolling};
use super::picture::{number, when_lit};
use super::view::View;
use crate::report::markup::{Markup, tag};
use crate::report::table::{Order, Row, Table};
use crate::report::target::Target;
use leptos::prelude::*;

/// More stages than this are not drawn; copying gives them all.
const MOST: usize = 128;

/// The id of the title.
const TITLE: &str = "numbers-title";

/// The table of all stages.
pub(in super::super) fn numbers(view: View) -> Piece {
    let order = RwSignal::new(Order::Stage);
    let table = Memo::new(move |_| {
        let outcome = view.state.outcome.read();
        let outcome = outcome.as_ref()?;
        let table = Table::new(&outcome.config, &outcome.estimate, view.state.unit.get());
        Some(table.sorted(order.get()))
    });
    let hands = Hands {
        view,
        table,
        order,
        said: RwSignal::new(""),
    };
    let head = shown(
        "whole",
        move || hands.head(),
        move |gesture| {
            if let Gesture::Choose(_) = gesture {
                hands.copy();
            }
            false
        },
    );
    let rows = shown(
        "numbers-table",
        move || hands.draw(),
        move |gesture| hands.act(gesture),
    );
    let scroll = scrolling("aria-labelledby", TITLE);
    panel(
        "panel numbers",
        TITLE,
        vec![head, frame(scroll, vec![rows])],
    )
}

/// What the table shows, and what the reader does to it.
#[derive(Clone, Copy)]
struct Hands {
    view: View,
    table: Memo<Option<Table>>,
    order: RwSignal<Order>,
    /// What has become of copying.
    said: RwSignal<&'static str>,
}

impl Hands {
    fn head(&self) -> Vec<Markup> {
        let note = format!("{} on each GPU", self.view.state.unit.get().symbol());
        let said = tag("p")
            .class("panel-note")
            .with("role", "status")
            .text(self.said.get());
        let head = heading(TITLE, "All numbers", note)
            .child(button("copy", "link", "Copy as TSV"))
            .child(said);
        vec![head]
    }

    fn copy(&self) {
        let tsv = self.table.read_untracked().as_ref().map(Table::tsv);
        let said = self.said;
        browser::copy(&tsv.unwrap_or_default(), move |allowed| {
            said.set(if allowed {
                "Copied"
            } else {
                "The browser denies copying"
            });
        });
    }

    fn draw(&self) -> Vec<Markup> {
        self.view.follow();
        let (table, lit) = (self.table.read(), self.view.lit.read());
        let Some(table) = table.as_ref() else {
            return Vec::new();
        };
        let buckets = table.buckets.iter().enumerate();
        let buckets = buckets.map(|(i, bucket)| {
            self.heading(format!("b.{i}"), Order::Bucket(*bucket), bucket.label())
        });
        let headings = tag("tr")
            .child(self.heading(String::from("s"), Order::Stage, "Stage"))
            .child(tag("th").with("scope", "col").text("Layers"))
            .children(buckets)
            .child(self.heading(String::from("t"), Order::Total, "Total"));
        let rows = table.rows.iter().take(MOST).enumerate();
        let rows = rows.map(|(i, row)| self.row(i, row, table, lit.as_ref()));
        let body = tag("table")
            .child(tag("thead").child(headings))
            .child(tag("tbody").children(rows));
        let mut shown = vec![body];
        if table.rows.len() > MOST {
            let text = format!(
                "The first {MOST} of {} rows; copying gives them all.",
                table.rows.len()
            );
            shown.push(tag("p").class("panel-note").text(text));
        }
        shown
    }

    fn heading(&self, place: String, by: Order, label: &'static str) -> Markup {
        let sorted = match by {
            _ if self.order.get() != by => "none",
            Order::Stage => "ascending",
            _ => "descending",
        };
        let button = tag("button")
            .with("type", "button")
            .with("data-at", place)
            .text(label);
        tag("th")
            .with("scope", "col")
            .with("aria-sort", sorted)
            .child(button)
    }

    fn row(&self, i: usize, row: &Row, table: &Table, lit: Option<&Target>) -> Markup {
        let shown = self.view.stage.get() == Some(row.stage);
        let cells = table.buckets.iter().zip(&row.numbers).enumerate();
        let cells = cells.map(|(j, (bucket, number))| {
            let nothing = number.trim_matches(['0', '.']).is_empty();
            let lit = when_lit(lit, Some(&row.cell(*bucket)));
            tag("td")
                .class(format!("{}{lit}", if nothing { "none" } else { "some" }))
                .with("data-at", format!("{i}.{j}"))
                .text(number.clone())
        });
        let button = tag("button")
            .with("type", "button")
            .with("aria-pressed", if shown { "true" } else { "false" })
            .text(row.name.clone());
        let chosen = if shown { " chosen" } else { "" };
        let lit = when_lit(lit, Some(&Target::stage(row.stage)));
        tag("tr")
            .class(format!("verdict-{}{chosen}{lit}", row.verdict.id()))
            .with("data-at", i.to_string())
            .child(tag("th").with("scope", "row").child(button))
            .child(tag("td").text(row.layers.clone()))
            .children(cells)
            .child(tag("td").class("total-cell").text(row.total_number.clone()))
    }

    /// What a place, such as `3` for a row or `3.1` for a cell of it, is about.
    fn target(&self, place: &str) -> Option<Target> {
        let table = self.table.read_untracked();
        let table = table.as_ref()?;
        let row = table.rows.get(number(place)?)?;
        let column = place.split_once('.').and_then(|(_, column)| number(column));
        let bucket = column.and_then(|column| table.buckets.get(column));
        Some(bucket.map_or_else(|| Target::stage(row.stage), |bucket| row.cell(*bucket)))
    }

    /// What the button of a heading sorts by.
    fn order(&self, place: &str) -> Option<Order> {
        match place.split_once('.') {
            Some(("b", i)) => {
                let table = self.table.read_untracked();
                table
                    .as_ref()?
                    .buckets
                    .get(number(i)?)
                    .copied()
                    .map(Order::Bucket)
            }
            _ if place == "s" => Some(Order::Stage),
            _ if place == "t" => Some(Order::Total),
            _ => None,
        }
    }

    fn act(&self, gesture: Gesture<'_>) -> bool {
        match gesture {
            Gesture::Point(place) | Gesture::Focus(place) => self.view.lit.set(self.target(place)),
            Gesture::Leave => self.view.lit.set(None),
            Gesture::Choose(place) => {
                if let Some(order) = self.order(place) {
                    self.order.set(order);
                } else if let Some(target) = self.target(place) {
                    if target.path.is_empty() {
                        self.view.path.set(String::new());
                    }
                    return self.view.tap(target);
                }
            }
            _ => {}
        }
        false
    }
}
