//! The root component: the calculator's own page, or, in `embed.html`, all of it in a frame.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::PLACE;
use super::browser::{self, Unseen};
use super::components::footer::Footer;
use super::components::header::Header;
use super::components::help_dialog::HelpDialog;
use super::components::settings_pane::SettingsPane;
use super::components::toasts::Toasts;
use super::dialogs::Dialogs;
use super::embed::FullEmbed;
use super::lazy_parts::LazyParts;
use super::parts::{InTurn, Turns};
use super::results::Results;
use super::state::{
    MeasuredLog, OpenDialog, OutOfMemoryErrors, PlottedField, ResultsState, ResultsTab, SavedPlans, State,
};
use super::summary::{Answers, OutOfMemoryNotes, Remarks, ReplayOfTight, Summary};
use super::title::Title;
use super::url_sync::UrlSync;
use megatron_memory::report::grouping::Grouping;

/// The application. The page's [`State`] is a context of every component below.
#[component]
pub fn App() -> impl IntoView {
    let content = if browser::is_embed() {
        view! { <FullEmbed /> }.into_any()
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
    ResultsState::provide(Grouping::CLOSED);
    provide_context(PlottedField::default());
    provide_context(SavedPlans::stored());
    provide_context(MeasuredLog::default());
    provide_context(OutOfMemoryErrors::default());
    provide_context(OpenDialog::default());
    Turns::provide();
    browser::mark_root(STARTING, Some(""));
    view! {
        <Title />
        <Header />
        <main class="panes">
            <InTurn>
                <Summary
                    notes=|| view! { <OutOfMemoryNotes /> }.into_any()
                    below=|| view! { <ReplayOfTight /> }.into_any()
                    answers=|| view! { <Answers /> }.into_any()
                />
            </InTurn>
            <Appear />
            <InTurn fallback=|| view! { <div class="form"></div> }>
                <SettingsPane />
            </InTurn>
            <div class="results-pane" id="results" tabindex="-1" role="region" aria-label="Results">
                <InTurn><Remarks /></InTurn>
                <InTurn><Results /></InTurn>
                <InTurn><Footer /></InTurn>
            </div>
        </main>
        <InTurn>
            <Toasts />
            <HelpDialog />
            <Dialogs />
        </InTurn>
        <Started />
    }
}

/// The attribute that the root element has until everything is there.
const STARTING: &str = "data-starting";

/// Puts what stands before it in the place of the first view, which shows the same; until then it is built out of sight.
#[component]
fn Appear() -> impl IntoView {
    let (turns, unseen): (Turns, Unseen) = (expect_context(), expect_context());
    turns.then(move || unseen.show_in(PLACE));
}

/// Says that everything that stands before it is there, and goes to the panel that the address names.
#[component]
fn Started() -> impl IntoView {
    let view = expect_context::<State>().view;
    let LazyParts { part, .. } = expect_context();
    expect_context::<Turns>().then(move || {
        browser::mark_root(STARTING, None);
        if let Some(heading) = ResultsTab::heading_of(&browser::fragment()) {
            spawn_local(async move {
                // It may be among the panels that are loaded now.
                let _ = part(None).await;
                view.go_to(heading);
            });
        }
    });
}
