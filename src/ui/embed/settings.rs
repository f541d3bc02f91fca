//! The inputs of an embed, and what cannot be changed there.

use leptos::prelude::*;

use super::presentation::{EmbedView, Presentation};
use crate::components::form::{FieldControl, control_id};
use crate::results::SettingPlot;
use crate::state::State;
use crate::values;
use megatron_memory::config::field::{Group, Kind, Level};
use megatron_memory::config::fields::FieldId;

/// The fields that are shown for reading: those that may not be changed, and what a reader has to know about any job.
pub(super) fn locked(asked: &Presentation) -> Vec<FieldId> {
    let mut locked = if asked.readonly {
        asked.fields.clone()
    } else {
        Vec::new()
    };
    if matches!(asked.view, EmbedView::Full | EmbedView::Compact) {
        let others = FieldId::ALL
            .iter()
            .filter(|id| is_context(**id) && !asked.fields.contains(id));
        locked.extend(others);
    }
    locked
}

/// Inputs side by side, each behind its symbol.
#[component]
pub(super) fn SmallInputs(fields: Vec<FieldId>) -> impl IntoView {
    let inputs = fields.into_iter().map(|id| view! { <SmallInput id /> });
    view! { <div class="form small-inputs">{inputs.collect_view()}</div> }
}

/// A control with its symbol, or its name where it has none. Its problems are read out, and stand below the bar.
#[component]
fn SmallInput(id: FieldId) -> impl IntoView {
    let state = expect_context::<State>();
    let field = id.field();
    let invalid = Memo::new(move |_| state.has_error(id));
    let name = if field.symbol.starts_with(|letter: char| letter.is_ascii_uppercase()) {
        field.symbol
    } else {
        field.label
    };
    let problems = move || {
        let problems = state.problems_of(id).into_iter();
        problems.map(|problem| problem.message).collect::<Vec<_>>().join(" ")
    };
    let control = control_id(field);
    view! {
        <div class="small-input">
            <label id=format!("{control}-label") for=control.clone() title=field.label>{name}</label>
            <FieldControl id invalid />
            <span class="unseen" id=format!("{control}-problems")>{problems}</span>
        </div>
    }
}

/// Memory against some settings, a plot for each that is a number.
#[component]
pub(super) fn Plots(fields: Vec<FieldId>, readonly: bool) -> impl IntoView {
    let plots = fields.into_iter().filter(|id| is_number(*id));
    let plots = plots.map(|id| {
        view! {
            <section>
                <h2>{id.field().label}</h2>
                <SettingPlot id readonly />
            </section>
        }
    });
    view! { <div class="form embed-sweeps">{plots.collect_view()}</div> }
}

fn is_number(id: FieldId) -> bool {
    matches!(id.field().kind, Kind::Int { .. })
}

/// Whether a field belongs to what a reader has to know about any job.
fn is_context(id: FieldId) -> bool {
    let field = id.field();
    matches!(field.group, Group::Parallelism | Group::Batch) && field.level == Level::Essential
}

/// Settings as they are, for reading.
#[component]
pub(super) fn LockedValues(fields: Vec<FieldId>) -> impl IntoView {
    let values = fields.into_iter().map(|id| view! { <LockedValue id=id /> });
    view! { <dl class="embed-fixed">{values.collect_view()}</dl> }
}

/// A setting as it is, for reading; hidden where it has no value.
#[component]
fn LockedValue(id: FieldId) -> impl IntoView {
    let state = expect_context::<State>();
    let field = id.field();
    let value = Memo::new(move |_| values::shown(field, state.value(id).as_ref()));
    view! {
        <div hidden=move || value.read().is_empty()>
            <dt>{field.label}</dt>
            <dd data-field=field.key>{value}</dd>
        </div>
    }
}
