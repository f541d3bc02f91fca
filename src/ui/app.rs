//! The root component: the calculator's own page, or, with `?view=` in the address, an embed of it.

use leptos::prelude::*;

use super::dialogs::OpenDialog;
use super::embed::Embed;
use super::results::{View, results};
use super::{browser, foot, form, header, link, notices, shortcuts, summary};
use crate::memory::line::stage_lines;

/// The application. Provides the page's [`State`](super::state::State) as context to every component below.
#[component]
pub fn App() -> impl IntoView {
    let state = link::open();
    provide_context(state);
    provide_context(OpenDialog::default());
    link::keep(state);
    if browser::query().contains("view=") {
        view! { <Embed /> }.into_any()
    } else {
        view! { <Page /> }.into_any()
    }
}

/// The calculator's own page: header, headline, form and results.
#[component]
fn Page() -> impl IntoView {
    let state = expect_context();
    let results_state = View::new(state, stage_lines);
    view! {
        {header::header(state)}
        <main class="panes">
            {summary::summary(results_state)}
            {form::form(state)}
            <div class="results-pane" id="results" tabindex="-1" role="region" aria-label="Results">
                {results(results_state)}
                {foot::foot(state)}
            </div>
        </main>
        {notices::board(state)}
        {shortcuts::help(state)}
    }
}
