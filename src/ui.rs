//! The page. [`state`] holds what it knows; every other module draws a part of it.
#![allow(
    clippy::must_use_candidate,
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "components are used by naming them in a view, own their properties, and come with public helpers"
)]

mod browser;
mod embed;
mod form;
mod header;
mod history;
mod link;
mod notices;
mod parts;
mod presets_bar;
mod results;
mod shortcuts;
mod shown;
pub mod state;
mod step;
mod summary;
pub mod theme;
mod values;

use leptos::prelude::*;

pub use embed::Embed;
use form::Form;
use header::Header;
use notices::NoticeBoard;
use results::{Results, View};
use shortcuts::Shortcuts;
use summary::Summary;

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    let state = link::open();
    provide_context(state);
    View::provide();
    shortcuts::listen(state);
    link::keep(state);
    // A link to a fragment would overwrite the one that holds the settings.
    let skip = move |event: leptos::ev::MouseEvent| {
        event.prevent_default();
        browser::focus("results");
    };
    view! {
        <a class="skip" href="#results" on:click=skip>"Skip to the results"</a>
        <Header />
        <main class="panes">
            <Summary />
            <Form />
            <div class="results-pane" id="results" tabindex="-1" role="region" aria-label="Results">
                <Results />
            </div>
        </main>
        <NoticeBoard />
        <Shortcuts />
    }
}
