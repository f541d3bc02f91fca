//! A number as a sum of others, each of which can be explained in turn.

use leptos::prelude::*;

use crate::browser;
use crate::state::{Highlight, ResultsState};
use megatron_memory::report::amount::Scale;
use megatron_memory::report::explain::{Explanation, How, Term};
use megatron_memory::report::target::Target;

/// The terms of a sum.
#[component]
pub(super) fn Terms(
    /// The explanation of a sum; a product has no terms.
    explanation: ReadSignal<Explanation>,
) -> impl IntoView {
    let unit = expect_context::<ResultsState>().page.preferences.unit;
    let count = move || terms(&explanation.read()).len();
    view! {
        <ul class="terms">
            <For each=move || 0..count() key=|number| *number let:number>
                <TermItem explanation=explanation number=number />
            </For>
        </ul>
        <p class="rounding">{move || Scale::fine(unit.get()).rounding_note()}</p>
    }
}

fn terms(explanation: &Explanation) -> &[Term] {
    match &explanation.how {
        How::Sum(terms) => terms,
        How::Product { .. } => &[],
    }
}

/// A term. A click explains it.
#[component]
fn TermItem(explanation: ReadSignal<Explanation>, number: usize) -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let highlight = expect_context::<Highlight>();
    let term = Memo::new(move |_| terms(&explanation.read()).get(number).cloned());
    let target = move || {
        term.get().map(|term| Target {
            stage: results.stage.get(),
            path: term.path,
        })
    };
    let point = move || highlight.set(untrack(target));
    let text = move |of: fn(Term) -> String| term.get().map(of);
    view! {
        <li class:lit=move || target().is_some_and(|target| highlight.highlights(&target))>
            <button
                type="button"
                on:click=move |_| {
                    if let Some(term) = term.get_untracked() {
                        results.explained.set(term.path);
                    }
                }
                on:pointerenter=move |event| if browser::is_mouse(&event) { point() }
                on:pointerleave=move |event| if browser::is_mouse(&event) { highlight.clear() }
                on:focus=move |_| point()
                on:blur=move |_| highlight.clear()
            >
                <span class="term-label">{move || text(|term| term.label)}</span>
                <span class="number">{move || text(|term| term.number)}</span>
                <span class="number share">{move || text(|term| term.percent)}</span>
            </button>
        </li>
    }
}
