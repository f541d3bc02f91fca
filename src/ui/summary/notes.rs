//! Which GPUs the headline is about, what it leaves out, and what stands in the way of a result.

use leptos::prelude::*;

use super::Headline;
use crate::config::problem::Severity;
use crate::ui::browser;
use crate::ui::components::form::control_id;
use crate::ui::state::State;

/// What allocated memory is, and what the device adds to it.
const BASIS: &str = "Allocated is the most that PyTorch holds at any moment of a step; the device adds fragmentation, CUDA \
                     context, NCCL and CUDA graphs, and the verdict counts them.";

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
    view! {
        <div class="summary-foot">
            <p class="where">{place}</p>
            <p class="missing">{basis}</p>
            <div class="trouble" hidden=move || !state.stale.get()>
                <p data-testid="stale">{move || problems(state, headline.read().is_some())}</p>
                <button type="button" class="link" on:click=move |_| go_to_first_error(state)>
                    "Go to the first"
                </button>
            </div>
            {move || warnings_without_field(state)}
        </div>
    }
}

/// How many problems there are, and what the numbers are then.
fn problems(state: State, has_result: bool) -> String {
    let older = if has_result {
        "The numbers are those of the last valid settings."
    } else {
        "There is no result yet."
    };
    match state.checked.read().errors().count() {
        1 => format!("1 problem. {older}"),
        count => format!("{count} problems. {older}"),
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

/// Opens and enters the first field that stands in the way.
fn go_to_first_error(state: State) {
    let checked = state.checked.get_untracked();
    let mut errors = checked.errors();
    let first = errors.find_map(|problem| Some((problem.module, problem.fields.first().copied()?)));
    if let Some((module, id)) = first {
        state.edit_module(module);
        state.reveal(id);
        browser::focus(control_id(id.field()));
    }
}
