//! The root component: the calculator's own page, or, in `embed.html`, an embed of it.

use leptos::prelude::*;

use super::browser;
use super::components::footer::Footer;
use super::components::header::Header;
use super::components::help_dialog::HelpDialog;
use super::components::settings_pane::SettingsPane;
use super::components::toasts::Toasts;
use super::dialogs::Dialogs;
use super::embed::Embed;
use super::results::Results;
use super::state::{MeasuredLog, OpenDialog, PlottedField, ResultsState, SavedPlans, State};
use super::summary::Summary;
use super::title::Title;
use super::url_sync::UrlSync;
use megatron_memory::formats::share_url::visit;

/// The application. Provides the page's [`State`] as context to every component below.
#[component]
pub fn App() -> impl IntoView {
    provide_context(State::of_visit(visit(&browser::fragment())));
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
    provide_context(PlottedField::default());
    provide_context(SavedPlans::stored());
    provide_context(MeasuredLog::default());
    provide_context(OpenDialog::default());
    view! {
        <Title />
        <Header />
        <main class="panes">
            <Summary />
            <SettingsPane />
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
