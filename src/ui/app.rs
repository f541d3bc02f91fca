//! The root component: the calculator's own page, or, in `embed.html`, an embed of it.

use leptos::prelude::*;

use super::components::footer::Footer;
use super::components::form::Form;
use super::components::header::Header;
use super::components::help_dialog::HelpDialog;
use super::components::toasts::Toasts;
use super::dialogs::{Dialogs, OpenDialog};
use super::embed::Embed;
use super::results::{MeasuredLog, PlottedField, Results, ResultsState};
use super::shelf::Shelf;
use super::summary::Summary;
use super::title::Title;
use super::url_sync::UrlSync;
use super::{browser, url_sync};

/// The application. Provides the page's [`State`](super::state::State) as context to every component below.
#[component]
pub fn App() -> impl IntoView {
    provide_context(url_sync::open());
    let content = if browser::is_embed() {
        view! { <Embed /> }.into_any()
    } else {
        view! { <Page /> }.into_any()
    };
    view! {
        <UrlSync />
        {content}
    }
}

/// The calculator's own page: header, headline, form and results.
#[component]
fn Page() -> impl IntoView {
    ResultsState::provide();
    PlottedField::provide();
    Shelf::provide();
    MeasuredLog::provide();
    // An embed has no dialogs.
    provide_context(OpenDialog::default());
    view! {
        <Title />
        <Header />
        <main class="panes">
            <Summary />
            <Form />
            <div class="results-pane" id="results" tabindex="-1" role="region" aria-label="Results">
                <Results />
                <Footer />
            </div>
        </main>
        <Toasts />
        <HelpDialog />
        <Dialogs />
    }
}
