//! The explanation of one number: formula, values, result, source.

mod formula;
mod terms;

use leptos::html::Div;
use leptos::prelude::*;

use crate::parts::{InSight, deferred_signal};
use crate::state::ResultsState;
use formula::Formula;
use megatron_memory::report::explain::{Explanation, How, explain};
use megatron_memory::report::grouping::BucketGroup;
use megatron_memory::report::target::bucket_of;
use megatron_memory::source::Source;
use terms::Terms;

/// What stands in place of the terms of the whole stage.
const HINT: &str = "Choose a row or a part of a bar to see what it consists of, down to each tensor with its shape, formula \
                    and source.";

/// The explanation of the number that was chosen last, or of the whole stage.
#[component]
pub(super) fn ExplainPanel() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let place = NodeRef::<Div>::new();
    let shown = deferred_signal(
        place,
        InSight::AfterFrame,
        move || results.page.outcome.track(),
        move || nearest(results, &results.explained.read()),
    );
    let is_product = Memo::new(move |_| matches!(shown.read().how, How::Product { .. }));
    let is_stage = Memo::new(move |_| shown.read().path.is_empty());
    let go_up = move |_| {
        let up = above(&shown.read_untracked().path).to_owned();
        let path = untrack(|| nearest(results, &up).path);
        results.explained.set(path);
    };
    view! {
        <div class="explain" node_ref=place>
            <section aria-label="Explanation" data-testid="explain">
                <header>
                    <h3>{move || shown.read().title.clone()}</h3>
                    <Show when=move || !shown.read().path.is_empty()>
                        <button type="button" class="link up" on:click=go_up>"↑ up"</button>
                    </Show>
                    <p class="explain-amount">
                        <strong>{move || shown.read().amount.clone()}</strong>
                        <span>{move || shown.read().exact.clone()}</span>
                    </p>
                </header>
                <p class="what">{move || shown.read().what.clone()}</p>
                // The rows beside it are the terms of the whole stage.
                <Show
                    when=move || is_stage.get()
                    fallback=move || view! {
                        <Show
                            when=move || is_product.get()
                            fallback=move || view! { <Terms explanation=shown /> }
                        >
                            <Formula explanation=shown />
                        </Show>
                    }
                >
                    <p class="hint">{HINT}</p>
                </Show>
                <p class="confidence">{move || shown.read().confidence}</p>
                {move || shown.read().source.map(Source::citation).map(|citation| view! {
                    <p class="source">
                        <a href=citation.url() target="_blank" rel="noreferrer">{citation.title()}</a>
                    </p>
                })}
            </section>
        </div>
    }
}

/// The explanation of a path, or of the next larger thing that the shown stage has.
fn nearest(results: ResultsState, mut path: &str) -> Explanation {
    let (lines, unit) = (results.lines.read(), results.page.preferences.unit.get());
    loop {
        if let Some(explanation) = explain(&lines, path, unit) {
            return explanation;
        }
        path = above(path);
    }
}

/// The path of the next larger thing: a bucket's is its group, a group's and a component's the whole stage.
fn above(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((above, _)) => above.trim_start_matches('*'),
        None => bucket_of(path).map_or("", |bucket| BucketGroup::of(bucket).id()),
    }
}
