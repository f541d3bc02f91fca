//! The values of a plot as buttons, each with the memory of the fullest GPU and the time of a step. Those of a size that
//! searches vary come in the order of searches. A click applies one.

use leptos::prelude::*;

use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::fit::SweepPoint;
use megatron_memory::report::amount::{Scale, grouped};
use megatron_memory::report::curves::Curve;
use megatron_memory::report::time::ranked_step;
use megatron_memory::search::Ranking;

/// The values of the job on the page.
#[component]
pub(super) fn ValueButtons(id: FieldId, curves: RwSignal<Vec<Curve>>) -> impl IntoView {
    let values = Memo::new(move |_| {
        let curves = curves.read();
        let first = curves.first();
        first.map_or_else(Vec::new, |curve| {
            let is_current = |value| curve.sweep.current == Some(value);
            let ranking = curve.sweep.ranking().into_iter();
            let points = ranking.filter_map(|ranked| Some((*curve.sweep.points.get(ranked.index)?, ranked)));
            points
                .map(|(point, ranked)| (point, ranked, is_current(point.value)))
                .collect()
        })
    });
    view! {
        <div class="sweep" role="group" aria-label="Memory of the fullest GPU and the time of a step with other values">
            {move || {
                values
                    .get()
                    .into_iter()
                    .map(|(point, ranked, is_current)| view! { <ValueButton id curves point ranked is_current /> })
                    .collect_view()
            }}
        </div>
    }
}

#[component]
fn ValueButton(
    id: FieldId,
    curves: RwSignal<Vec<Curve>>,
    point: SweepPoint,
    ranked: Ranking,
    is_current: bool,
) -> impl IntoView {
    let state = expect_context::<State>();
    let step = ranked_step(point.candidate.as_ref(), &ranked);
    let step = step.map(|words| view! { <small>{words}</small> });
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
            {step}
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
