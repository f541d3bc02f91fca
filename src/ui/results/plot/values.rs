//! The values of a plot as buttons, each with the memory of the fullest GPU. A click applies one.

use leptos::prelude::*;

use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::fit::SweepPoint;
use megatron_memory::report::amount::{Scale, grouped};
use megatron_memory::report::curves::Curve;

/// The values of the job on the page.
#[component]
pub(super) fn ValueButtons(id: FieldId, curves: RwSignal<Vec<Curve>>) -> impl IntoView {
    let values = Memo::new(move |_| {
        let curves = curves.read();
        let first = curves.first();
        first.map_or_else(Vec::new, |curve| {
            let is_current = |value| curve.sweep.current == Some(value);
            let points = curve.sweep.points.iter();
            points.map(|point| (*point, is_current(point.value))).collect()
        })
    });
    view! {
        <div class="sweep" role="group" aria-label="Memory of the fullest GPU with other values">
            {move || {
                values
                    .get()
                    .into_iter()
                    .map(|(point, is_current)| view! { <ValueButton id curves point is_current /> })
                    .collect_view()
            }}
        </div>
    }
}

#[component]
fn ValueButton(id: FieldId, curves: RwSignal<Vec<Curve>>, point: SweepPoint, is_current: bool) -> impl IntoView {
    let state = expect_context::<State>();
    let amount = move || Scale::coarse(state.preferences.unit.get()).amount(point.memory.total);
    view! {
        <button
            type="button"
            value=point.value
            aria-pressed=is_current.to_string()
            data-verdict=point.memory.verdict.style()
            on:click=move |_| apply(state, id, &curves.read_untracked(), point.value)
        >
            <strong>{grouped(point.value)}</strong>
            " "
            <span>{amount}</span>
        </button>
    }
}

/// Gives the job on the page a value of the plotted setting.
pub(super) fn apply(state: State, id: FieldId, curves: &[Curve], value: u64) {
    let Some(curve) = curves.first().filter(|curve| curve.sweep.field == id) else {
        return;
    };
    let mut job = state.setup.get_untracked().job;
    curve.sweep.apply(value, &mut job);
    state.edit(job);
}
