//! The whole page.

use leptos::prelude::*;

use super::results::{View, results};
use super::shown::frame;
use super::{browser, embed, foot, form, header, link, notices, shortcuts, summary};
use crate::memory::line::stage_lines;
use crate::report::markup::tag;

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    if browser::query().contains("view=") {
        return embed::embed();
    }
    let state = link::open();
    let view = View::new(state, stage_lines);
    link::keep(state);
    let region = tag("div")
        .class("results-pane")
        .with("id", "results")
        .with("tabindex", "-1")
        .with("role", "region")
        .with("aria-label", "Results");
    let panes = vec![
        summary::summary(view),
        form::form(state),
        frame(region, vec![results(view), foot::foot(state)]),
    ];
    vec![
        header::header(state),
        frame(tag("main").class("panes"), panes),
        notices::board(state),
        shortcuts::help(state),
    ]
}
