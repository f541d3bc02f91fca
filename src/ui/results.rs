//! The right side of the page: what every stage needs, and why.

use leptos::prelude::*;

use super::state::state;
use crate::report::amount::Scale;

/// All results below the headline.
#[component]
pub fn Results() -> impl IntoView {
    let state = state();
    let rows = move || {
        let outcome = state.outcome.read();
        let modules = outcome.iter().flat_map(|o| &o.estimate.modules);
        let stages = modules.flat_map(|m| m.stages.iter().enumerate());
        stages
            .map(|(rank, stage)| {
                let layers: u32 = stage
                    .chunks
                    .iter()
                    .map(|c| c.layers.end - c.layers.start)
                    .sum();
                view! {
                    <tr>
                        <th scope="row">{rank}</th>
                        <td>{layers}</td>
                        <td>{Scale::coarse(state.unit.get()).amount(stage.total)}</td>
                    </tr>
                }
            })
            .collect_view()
    };
    view! {
        <div class="results" class:stale=state.stale>
            <table>
                <caption>"Memory of one GPU of every pipeline stage"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Stage"</th>
                        <th scope="col">"Layers"</th>
                        <th scope="col">"Total"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}
