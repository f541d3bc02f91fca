//! Why a job cannot run.

use leptos::prelude::*;

use crate::state::State;
use megatron_memory::config::problem::Problem;

/// The most problems whose message is shown; the others stand at their fields.
const MOST_PROBLEMS: usize = 2;

/// The reasons why the job cannot run; hidden for a job that can.
#[component]
pub(super) fn Refusal() -> impl IntoView {
    let state = expect_context::<State>();
    let reasons = Memo::new(move |_| reasons(&state.checked.read().errors().collect::<Vec<_>>()));
    view! {
        <div class="trouble" hidden=move || !state.stale.get() data-testid="stale">
            {move || {
                let reasons = reasons.get().into_iter();
                reasons.map(|reason| view! { <p title=reason.clone()>{reason.clone()}</p> }).collect_view()
            }}
        </div>
    }
}

/// The messages of the first problems, each once, and how many more there are.
fn reasons(errors: &[&Problem]) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for error in errors {
        if !messages.contains(&error.message) {
            messages.push(error.message.clone());
        }
    }
    let more = messages.len().saturating_sub(MOST_PROBLEMS);
    messages.truncate(MOST_PROBLEMS);
    if more > 0
        && let Some(last) = messages.last_mut()
    {
        let noun = if more == 1 { "problem" } else { "problems" };
        *last = format!("{last} And {more} more {noun}.");
    }
    messages
}
