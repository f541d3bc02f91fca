//! What other values of a number would come to: each usual one that is legal beside all the others, with the memory of the
//! fullest GPU. A click applies it.

use super::Sheet;
use super::control::steps;
use super::field::place;
use crate::config::check;
use crate::config::fields::FieldId;
use crate::config::step::{now, powers};
use crate::memory::estimate;
use crate::report::amount::Scale;
use crate::report::markup::{Markup, tag};
use crate::report::summary::Summary;
use crate::ui::draw::{aria, button};
use crate::value::Value;
use leptos::prelude::*;

/// How many times more or less than now is tried.
const REACH: u64 = 16;

/// The values around the current one; nothing where the field is none to step.
pub(super) fn sweep(sheet: &Sheet, id: FieldId) -> Option<Markup> {
    if !steps(id.field()) {
        return None;
    }
    let now = match (sheet.value(id), sheet.resolved(id)) {
        (None | Some(Value::Null), Some(derived)) => derived,
        _ => now(&sheet.setup.job, sheet.module, id)?,
    };
    let mut job = sheet.setup.job.clone();
    let usual =
        powers().filter(|value| *value >= now / REACH && *value <= now.saturating_mul(REACH));
    let results = usual.filter_map(|value| {
        job.put(sheet.module, id, Value::Int(value.into()));
        let config = check(&job).config?;
        Some((value, Summary::new(&config, &estimate(&config))))
    });
    let results: Vec<(u64, Summary)> = results.collect();
    let totals = results.iter().map(|(_, summary)| summary.total.0);
    let most = u128::from(totals.max()?.max(1));
    let scale = Scale::coarse(sheet.state.unit.get());
    let rows = results.iter().map(|(value, summary)| {
        let share = u128::from(summary.total.0) * 100 / most;
        let bar = tag("svg")
            .with("viewBox", "0 0 100 4")
            .with("preserveAspectRatio", "none")
            .with("aria-hidden", "true")
            .child(tag("path").with("d", format!("M0 0h{share}v4H0z")));
        button(place(id.field(), &format!("put.{value}")), "", "")
            .with("aria-pressed", aria(*value == now))
            .with("data-verdict", summary.verdict.id())
            .child(tag("strong").text(value.to_string()))
            .child(tag("span").text(scale.amount(summary.total)))
            .child(bar)
    });
    let sweep = tag("div").class("sweep").with("role", "group");
    let sweep = sweep.with("aria-label", "Memory of the fullest GPU with other values");
    Some(sweep.children(rows))
}
