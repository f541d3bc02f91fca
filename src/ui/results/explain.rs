//! The explanation of one number: formula, values, result, source.

use super::super::shown::{Gesture, Piece, shown};
use super::picture::{number, when_lit};
use super::view::View;
use crate::report::explain::{Explanation, Factor, How, Term, explain};
use crate::report::markup::{Markup, tag};
use crate::report::target::Target;
use leptos::prelude::*;

/// The explanation of the number that was chosen last, or of the whole stage.
pub(super) fn explanation(view: View) -> Piece {
    let shows = Memo::new(move |_| nearest(&view, &view.path.read()));
    let draw = move || {
        view.follow();
        panel(&view, &shows.read())
    };
    shown("explain", draw, move |gesture| act(&view, &shows, gesture))
}

/// The explanation of a path, or of the next larger thing that this stage has.
fn nearest(view: &View, mut path: &str) -> Explanation {
    let (lines, unit) = (view.lines.read(), view.state.unit.get());
    loop {
        if let Some(explanation) = explain(&lines, path, unit) {
            return explanation;
        }
        path = above(path);
    }
}

fn above(path: &str) -> &str {
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    above.trim_start_matches('*')
}

fn panel(view: &View, shows: &Explanation) -> Vec<Markup> {
    let mut head = tag("header").child(tag("h3").text(shows.title.clone()));
    if !shows.path.is_empty() {
        let up = tag("button")
            .with("type", "button")
            .class("link up")
            .with("data-at", "up");
        head = head.child(up.text("↑ up"));
    }
    let amount = tag("p")
        .class("explain-amount")
        .child(tag("strong").text(shows.amount.clone()))
        .child(tag("span").text(shows.exact.clone()));
    let mut panel = vec![
        head.child(amount),
        tag("p").class("what").text(shows.what.clone()),
    ];
    match &shows.how {
        How::Product {
            symbols,
            values,
            legend,
        } => {
            let steps = [
                symbols.clone(),
                format!("= {values}"),
                format!("= {}", shows.exact),
            ];
            let steps = steps.map(|step| tag("p").text(step));
            panel.push(tag("div").class("formula").children(steps));
            let rows = tag("tbody").children(legend.iter().map(factor));
            panel.push(
                tag("table")
                    .class("symbols")
                    .with("aria-label", "Symbols")
                    .child(rows),
            );
        }
        How::Sum(terms) => {
            let terms = terms
                .iter()
                .enumerate()
                .map(|(i, term)| self::term(view, i, term));
            panel.push(tag("ul").class("terms").children(terms));
        }
    }
    panel.push(tag("p").class("confidence").text(shows.confidence));
    if let Some(source) = &shows.source {
        let link = tag("a")
            .with("href", source.url())
            .with("target", "_blank")
            .with("rel", "noreferrer");
        panel.push(tag("p").class("source").child(link.text(source.title())));
    }
    let section = tag("section")
        .with("aria-label", "Explanation")
        .with("data-testid", "explain");
    vec![section.children(panel)]
}

fn factor(factor: &Factor) -> Markup {
    tag("tr")
        .child(tag("th").with("scope", "row").text(factor.symbol.clone()))
        .child(tag("td").class("number").text(factor.value.clone()))
        .child(tag("td").text(factor.meaning.clone()))
}

fn term(view: &View, i: usize, term: &Term) -> Markup {
    let lit = view.lit.read();
    let target = Target {
        stage: view.stage.get(),
        path: term.path.clone(),
    };
    let button = tag("button")
        .with("type", "button")
        .with("data-at", i.to_string())
        .child(tag("span").class("term-label").text(term.label.clone()))
        .child(tag("span").class("number").text(term.number.clone()))
        .child(tag("span").class("number share").text(term.percent.clone()));
    tag("li")
        .class(when_lit(lit.as_ref(), Some(&target)).trim_start())
        .child(button)
}

fn act(view: &View, shows: &Memo<Explanation>, gesture: Gesture<'_>) -> bool {
    let shows = shows.read_untracked();
    let path = |place: &str| match &shows.how {
        How::Sum(terms) => terms.get(number(place)?).map(|term| term.path.clone()),
        How::Product { .. } => None,
    };
    let target = |place| {
        path(place).map(|path| Target {
            stage: untrack(|| view.stage.get()),
            path,
        })
    };
    match gesture {
        Gesture::Choose("up") => {
            let path = untrack(|| nearest(view, above(&shows.path)).path);
            drop(shows);
            view.path.set(path);
        }
        Gesture::Choose(place) => {
            if let Some(path) = path(place) {
                drop(shows);
                view.path.set(path);
            }
        }
        Gesture::Point(place) | Gesture::Focus(place) => view.lit.set(target(place)),
        Gesture::Leave => view.lit.set(None),
        _ => {}
    }
    false
}
