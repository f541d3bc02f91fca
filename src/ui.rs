//! The page. [`state`] holds what it knows; every other module draws a part of it.
#![allow(
    clippy::must_use_candidate,
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "components are used by naming them in a view, own their properties, and come with public helpers"
)]

mod browser;
mod draw;
mod embed;
mod foot;
mod form;
mod header;
mod history;
mod link;
mod modules;
mod notices;
mod presets_bar;
pub mod reactive;
mod results;
mod runtime;
mod shortcuts;
mod shown;
pub mod state;
mod step;
mod summary;
pub mod theme;
mod values;

use leptos::prelude::*;

use crate::memory::line::stage_lines;
use crate::report::markup::tag;
pub use embed::Embed;
use results::View;
use shown::frame;

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
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
        frame(region, vec![results::results(view), foot::foot(state)]),
    ];
    vec![
        header::header(state),
        frame(tag("main").class("panes"), panes),
        notices::board(state),
        shortcuts::help(state),
    ]
}
