//! Which GPUs the headline is about, and what its numbers count.

use leptos::prelude::*;

use super::Headline;
use crate::config::problem::Severity;
use crate::ui::state::State;

/// What allocated memory is, and what the device adds to it.
const BASIS: &str = "Peak allocated by PyTorch. On the device, as nvidia-smi shows it: with fragmentation, CUDA context, NCCL \
                     and CUDA graphs, which the verdict counts.";

/// The lines below the headline.
#[component]
pub(super) fn Notes(headline: Memo<Option<Headline>>) -> impl IntoView {
    let state = expect_context::<State>();
    let place = move || {
        headline
            .read()
            .as_ref()
            .map(|headline| headline.place.clone())
    };
    let basis = move || {
        let headline = headline.read();
        headline.as_ref().map(|headline| match &headline.gpu {
            Some(gpu) => format!("{BASIS} {gpu}"),
            None => String::from(BASIS),
        })
    };
    let batches = move || {
        let headline = headline.read();
        headline
            .as_ref()
            .and_then(|headline| headline.batches.clone())
    };
    view! {
        <p class="where">{place}</p>
        {move || batches().map(|batches| view! { <p class="where">{batches}</p> })}
        <p class="missing">{basis}</p>
        {move || warnings_without_field(state)}
    }
}

/// Warnings about keys that no field has: they have no field to stand beside.
fn warnings_without_field(state: State) -> impl IntoView + use<> {
    let checked = state.checked.read();
    let problems = checked.problems.iter();
    let homeless = problems
        .filter(|problem| problem.severity == Severity::Warning && problem.fields.is_empty());
    homeless
        .map(|problem| view! { <p class="homeless">{problem.message.clone()}</p> })
        .collect_view()
}
