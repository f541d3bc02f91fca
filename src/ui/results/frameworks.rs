//! What the frameworks' own estimators print for the same job, and why they differ.

use super::super::shown::{Piece, shown};
use super::panel::{head, panel, scrolling};
use super::view::View;
use crate::framework_reports::differences::{Difference, Effect, differences};
use crate::framework_reports::job::{Amounts, reports};
use crate::memory::StageEstimate;
use crate::report::amount::Scale;
use crate::report::markup::{Markup, tag};
use crate::units::Bytes;
use leptos::prelude::*;

/// Both reports of the shown module.
#[derive(Clone, PartialEq)]
struct Shown {
    reports: [Amounts; 2],
    reasons: Vec<Difference>,
    /// What the states of the stage that has most of them really take.
    states: Bytes,
}

/// The frameworks' reports beside the estimate.
pub(super) fn frameworks(view: View) -> Piece {
    let shows = Memo::new(move |_| compare(&view));
    let draw = move || {
        view.follow();
        let scale = Scale::fine(view.state.unit.get());
        let shows = shows.read();
        shows
            .as_ref()
            .map_or_else(Vec::new, |shows| reports_of(shows, scale))
    };
    let inside = vec![
        head(
            "frameworks-title",
            "What the framework's log will print",
            "closed formulas, shown to match a log; not a prediction",
        ),
        shown("frameworks-reports", draw, |_| false),
    ];
    panel("panel frameworks", "frameworks-title", inside)
}

fn compare(view: &View) -> Option<Shown> {
    let outcome = view.state.outcome.read();
    let outcome = outcome.as_ref()?;
    let module = view.stage.get()?.module;
    let m = outcome.config.modules().get(module)?;
    let estimate = outcome.estimate.modules.get(module)?;
    Some(Shown {
        reports: reports(m).amounts(),
        reasons: differences(m, estimate),
        states: estimate.stages.iter().map(StageEstimate::states).max()?,
    })
}

fn reports_of(shown: &Shown, scale: Scale) -> Vec<Markup> {
    let headings = [
        "Report",
        "Weights and optimizer",
        "Against this page",
        "Activations",
    ];
    let headings = headings.map(|heading| tag("th").with("scope", "col").text(heading));
    let ours = tag("tr")
        .class("ours")
        .child(
            tag("th")
                .with("scope", "row")
                .text("This page, the most of any stage"),
        )
        .children(
            [scale.amount(shown.states), String::new(), String::new()]
                .map(|cell| tag("td").text(cell)),
        );
    let rows = shown
        .reports
        .iter()
        .map(|report| row(report, shown.states, scale));
    let table = tag("table")
        .child(tag("thead").child(tag("tr").children(headings)))
        .child(tag("tbody").children(rows).child(ours));
    let scroll = scrolling("aria-labelledby", "frameworks-title");
    let reasons = shown
        .reasons
        .iter()
        .map(|difference| reason(difference, scale));
    let why = tag("details")
        .child(tag("summary").text("Why different?"))
        .child(tag("ul").class("reasons").children(reasons));
    let printed = shown
        .reports
        .iter()
        .filter(|report| !report.printed.is_empty());
    let printed = printed.flat_map(|report| {
        [
            tag("h3").text(report.framework.name()),
            tag("pre").text(report.printed.clone()),
        ]
    });
    let log = tag("details")
        .child(tag("summary").text("The printed text"))
        .children(printed);
    vec![scroll.child(table), why, log]
}

fn row(report: &Amounts, states: Bytes, scale: Scale) -> Markup {
    let (amount, difference) = match &report.states {
        Ok(bytes) => (scale.amount(*bytes), signed(*bytes, states, scale)),
        Err(error) => (error.to_string(), String::new()),
    };
    let activations = report.activations.map(|bytes| scale.amount(bytes));
    let activations = activations.unwrap_or_else(|| String::from("not printed"));
    tag("tr")
        .child(tag("th").with("scope", "row").text(report.framework.name()))
        .children([amount, difference, activations].map(|cell| tag("td").text(cell)))
}

/// How much more or less than another amount, with sign and share.
pub(super) fn signed(amount: Bytes, than: Bytes, scale: Scale) -> String {
    let off = Bytes(amount.0.abs_diff(than.0));
    let sign = match amount.cmp(&than) {
        _ if scale.steps(off) == 0 => return String::from("the same"),
        core::cmp::Ordering::Less => "−",
        _ => "+",
    };
    format!(
        "{sign}{} ({sign}{})",
        scale.amount(off),
        crate::report::amount::percent(off, than)
    )
}

fn reason(difference: &Difference, scale: Scale) -> Markup {
    let effect = match difference.effect {
        Effect::Less(bytes) => format!("−{}", scale.amount(bytes)),
        Effect::More(bytes) => format!("+{}", scale.amount(bytes)),
        Effect::Unsaid => String::new(),
    };
    let names: Vec<&str> = difference
        .frameworks
        .iter()
        .map(|framework| framework.name())
        .collect();
    tag("li")
        .child(tag("span").class("who").text(names.join(", ")))
        .child(tag("span").class("why").text(difference.text.clone()))
        .child(tag("span").class("effect").text(effect))
}
