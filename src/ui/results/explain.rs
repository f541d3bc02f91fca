//! The explanation of one number: formula, values, result, source.

use leptos::either::Either;
use leptos::prelude::*;

use super::view::view;
use crate::report::explain::{Explanation, How, Term, explain};
use crate::report::target::Target;

/// The explanation of the number that was chosen last, or of the whole stage.
#[component]
pub(super) fn Explain() -> impl IntoView {
    let view = view();
    let explanation = Memo::new(move |_| {
        let (lines, path, unit) = (view.lines.read(), view.path.read(), view.state.unit.get());
        // Another job may not have what was chosen: then the next larger thing is explained.
        let mut path = path.as_str();
        loop {
            if let Some(explanation) = explain(&lines, path, unit) {
                return explanation;
            }
            path = path.rsplit_once('/').map_or("", |(above, _)| above);
        }
    });
    let text = move |of: fn(&Explanation) -> &str| move || of(&explanation.read()).to_owned();
    let above = move || {
        let path = explanation.read().path.clone();
        let above = path
            .rsplit_once('/')
            .map_or("", |(above, _)| above.trim_start_matches('*'));
        (!path.is_empty()).then(|| above.to_owned())
    };
    let up = move |_| {
        let (lines, unit) = (view.lines.get_untracked(), view.state.unit.get_untracked());
        let Some(path) = above() else { return };
        // Tensors lie more than one step below their component.
        let mut path = path.as_str();
        while explain(&lines, path, unit).is_none() {
            path = path.rsplit_once('/').map_or("", |(above, _)| above);
        }
        view.path.set(path.to_owned());
    };
    let how = move || match &explanation.read().how {
        How::Product {
            symbols,
            values,
            legend,
        } => {
            let factors = legend.iter().map(|factor| {
                view! {
                    <tr>
                        <th scope="row">{factor.symbol}</th>
                        <td class="number">{factor.value.clone()}</td>
                        <td>{factor.meaning.clone()}</td>
                    </tr>
                }
            });
            Either::Left(view! {
                <div class="formula">
                    <p>{symbols.clone()}</p>
                    <p>"= "{values.clone()}</p>
                    <p>"= "{text(|e| &e.exact)}</p>
                </div>
                <table class="symbols">
                    <caption class="unseen">"Symbols"</caption>
                    <tbody>{factors.collect_view()}</tbody>
                </table>
            })
        }
        How::Sum(terms) => Either::Right(view! {
            <ul class="terms">{terms.iter().map(term).collect_view()}</ul>
        }),
    };
    let source = move || {
        explanation.read().source.map(|source| {
            view! {
                <p class="source">
                    <a href=source.url() target="_blank" rel="noreferrer">{source.title()}</a>
                </p>
            }
        })
    };
    view! {
        <section class="explain" aria-label="Explanation" data-testid="explain">
            <header>
                <button type="button" class="link up" hidden=move || above().is_none() on:click=up>
                    "↑ up"
                </button>
                <h3>{text(|e| &e.title)}</h3>
                <p class="explain-amount">
                    <strong>{text(|e| &e.amount)}</strong>
                    <span>{text(|e| &e.exact)}</span>
                </p>
            </header>
            <p class="what">{text(|e| &e.what)}</p>
            {how}
            <p class="confidence">{text(|e| e.confidence)}</p>
            {source}
        </section>
    }
}

fn term(term: &Term) -> impl IntoView + use<> {
    let view = view();
    let path = term.path.clone();
    let stage = view.stage.get_untracked();
    let target = Target {
        stage,
        path: term.path.clone(),
    };
    let lit = target.clone();
    view! {
        <li class:lit=move || view.lit.read().as_ref().is_some_and(|lit| lit.lights(&target))>
            <button
                type="button"
                on:click=move |_| view.path.set(path.clone())
                on:pointerenter=move |_| view.lit.set(Some(lit.clone()))
                on:pointerleave=move |_| view.lit.set(None)
            >
                <span class="term-label">{term.label.clone()}</span>
                <span class="number">{term.number.clone()}</span>
                <span class="number share">{term.percent.clone()}</span>
            </button>
        </li>
    }
}
