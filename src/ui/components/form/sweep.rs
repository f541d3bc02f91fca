//! What other values of a number would come to: each usual one that is legal beside all other settings, with the memory of
//! the fullest GPU. A click applies it.

use crate::config::check;
use crate::config::fields::FieldId;
use crate::config::suggest::step::{now, powers};
use crate::memory::estimate;
use crate::report::amount::Scale;
use crate::report::summary::{Summary, Verdict};
use crate::ui::state::State;
use crate::value::Value;
use leptos::prelude::*;

/// Values up to this many times larger or smaller than the current one are tried.
const REACH: u64 = 16;

/// The values around the current one; nothing where none of them is legal.
#[component]
pub fn Sweep(id: FieldId) -> impl IntoView {
    let state = expect_context::<State>();
    let points = Memo::new(move |_| points(state, id));
    move || {
        let points = points.get();
        (!points.is_empty()).then(|| {
            let points = points
                .into_iter()
                .map(|point| view! { <SweepButton id point /> });
            view! {
                <div
                    class="sweep"
                    role="group"
                    aria-label="Memory of the fullest GPU with other values"
                >
                    {points.collect_view()}
                </div>
            }
        })
    }
}

#[component]
fn SweepButton(id: FieldId, point: Point) -> impl IntoView {
    let state = expect_context::<State>();
    let value = point.value;
    view! {
        <button
            type="button"
            value=value
            aria-pressed=point.is_current.to_string()
            data-verdict=point.verdict.style()
            on:click=move |_| state.set(id, Value::Text(value.to_string()))
        >
            <strong>{value}</strong>" "
            <span>{point.total}</span>
            <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <path d=format!("M0 0h{}v4H0z", point.percent)></path>
            </svg>
        </button>
    }
}

/// A value with the memory of the fullest GPU.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    value: u64,
    is_current: bool,
    /// The memory, with its unit.
    total: String,
    /// The memory in percent of the largest one of the sweep.
    percent: u128,
    verdict: Verdict,
}

fn points(state: State, id: FieldId) -> Vec<Point> {
    let module = state.module.get();
    let mut job = state.setup.get().job;
    let current = match (state.value(id), state.derived_value(id)) {
        (None | Some(Value::Null), Some(derived)) => Some(derived),
        _ => now(&job, module, id),
    };
    let Some(current) = current else {
        return Vec::new();
    };
    let usual = powers()
        .filter(|value| *value >= current / REACH && *value <= current.saturating_mul(REACH));
    let results = usual.filter_map(|value| {
        job.put(module, id, Value::Int(value.into()));
        let config = check(&job).config?;
        Some((value, Summary::new(&config, &estimate(&config))))
    });
    let results: Vec<(u64, Summary)> = results.collect();
    let largest = results.iter().map(|(_, summary)| summary.total.0).max();
    let largest = u128::from(largest.unwrap_or_default().max(1));
    let scale = Scale::coarse(state.unit.get());
    let points = results.into_iter().map(|(value, summary)| Point {
        value,
        is_current: value == current,
        total: scale.amount(summary.total),
        percent: u128::from(summary.total.0) * 100 / largest,
        verdict: summary.verdict,
    });
    points.collect()
}
