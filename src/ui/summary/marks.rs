//! Remarks on the job: what changes its memory and is not modelled, with a control that removes each mark, and warnings
//! that belong to no field.

use leptos::prelude::*;

use crate::browser;
use crate::state::{OpenDialog, State};
use megatron_memory::config::not_modelled::NotModelled;
use megatron_memory::config::problem::Severity;

/// The marks of the job, and the warnings about keys that no field has.
#[component]
pub(crate) fn Remarks() -> impl IntoView {
    let state = expect_context::<State>();
    view! {
        <Marks />
        {move || warnings_without_field(state)}
    }
}

/// Warnings about keys that no field has: they have no field to stand beside.
fn warnings_without_field(state: State) -> impl IntoView + use<> {
    let checked = state.checked.read();
    let problems = checked.problems.iter();
    let homeless = problems.filter(|problem| problem.severity == Severity::Warning && problem.fields.is_empty());
    homeless
        .map(|problem| view! { <p class="homeless">{problem.message.clone()}</p> })
        .collect_view()
}

/// The marks of the job: what the estimate leaves out, and why. Nothing for a job without marks.
#[component]
fn Marks() -> impl IntoView {
    let state = expect_context::<State>();
    // Only the page lets its reader remove marks: an embed's reader sees what its author chose, and has the link below.
    // What settings mark goes with the settings.
    let is_page = use_context::<OpenDialog>().is_some();
    let removable = move |mark: &NotModelled| is_page && untrack(|| state.setup.read().job.not_modelled.contains(mark));
    let marks = Memo::new(move |_| match &state.checked.read().config {
        Some(config) => config.not_modelled().to_vec(),
        None => state.setup.read().job.not_modelled.clone(),
    });
    let items = move || {
        let marks = marks.get().into_iter();
        let items = marks.map(|mark| {
            view! {
                <li>
                    <p>{mark.to_string()}</p>
                    {removable(&mark).then(|| view! { <RemoveButton mark /> })}
                </li>
            }
        });
        items.collect_view()
    };
    view! {
        <Show when=move || !marks.read().is_empty()>
            <ul class="marks" data-testid="not-modelled" aria-label="Not modelled">
                {items}
            </ul>
        </Show>
    }
}

/// Removes a mark, which can be undone.
#[component]
fn RemoveButton(mark: NotModelled) -> impl IntoView {
    let state = expect_context::<State>();
    let key = mark.key;
    let label = format!("Estimate without {key}");
    let remove = move |_| {
        state.unmark(&key);
        let said = format!("{key} no longer marks this job: the estimate now counts as its own.");
        state.toasts.offer_undo(said);
        // The button goes away with the mark.
        browser::focus("results");
    };
    view! {
        <button type="button" class="fix" on:click=remove>
            {label}
        </button>
    }
}

/// The keys of the marks in a few words, such as `use_megatron_fsdp is not modelled`.
pub(super) fn in_short(marks: &[NotModelled]) -> String {
    match marks {
        [] => String::new(),
        [one] => format!("{} is not modelled", one.key),
        [one, other] => format!("{} and {} are not modelled", one.key, other.key),
        [one, others @ ..] => format!("{} and {} others are not modelled", one.key, others.len()),
    }
}
