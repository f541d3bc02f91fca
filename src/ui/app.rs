//! The root component: the calculator's own page, or, in `embed.html`, all of it in a frame.

use leptos::prelude::*;

use super::browser;
use super::components::footer::Footer;
use super::components::header::Header;
use super::components::help_dialog::HelpDialog;
use super::components::settings_pane::SettingsPane;
use super::components::toasts::Toasts;
use super::dialogs::Dialogs;
use super::embed::{FullEmbed, provide_state};
use super::parts::Deferred;
use super::results::Results;
use super::state::{
    MeasuredLog, OpenDialog, OutOfMemoryErrors, PlottedField, ResultsState, ResultsTab, SavedPlans, State,
};
use super::summary::{Answers, OutOfMemoryNotes, Remarks, Summary};
use super::title::Title;
use super::url_sync::UrlSync;
use megatron_memory::report::grouping::Grouping;

/// The application. Provides the page's [`State`] as context to every component below.
#[component]
pub fn App() -> impl IntoView {
    provide_state();
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
    let started = started();
    view! {
        <Title />
        <Header />
        <main class="panes">
            <Summary notes=|| view! { <OutOfMemoryNotes /> }.into_any() answers=|| view! { <Answers /> }.into_any() />
            <Show when=move || { started.get() >= Started::Form } fallback=|| view! { <div class="form"></div> }>
                <SettingsPane />
            </Show>
            <div class="results-pane" id="results" tabindex="-1" role="region" aria-label="Results">
                <Show when=move || started.get() == Started::All>
                    <Remarks />
                    <Results />
                    <Footer />
                </Show>
            </div>
        </main>
        <Toasts />
        <HelpDialog />
        <Dialogs />
    }
}

/// How far the page has started. Each part is built in a task of its own, so that none is long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Started {
    /// Header and headline are there: what the first view has shown until now.
    Headline,
    /// The form is there too.
    Form,
    /// Everything is there.
    All,
}

/// Starts the parts one after the other. The root element has the attribute `data-starting` until all are there.
fn started() -> RwSignal<Started> {
    const MARK: &str = "data-starting";
    browser::mark_root(MARK, Some(""));
    let view = expect_context::<State>().view;
    let started = RwSignal::new(Started::Headline);
    let tasks = Deferred::new();
    tasks.in_next_task(move || {
        started.set(Started::Form);
        tasks.in_next_task(move || {
            started.set(Started::All);
            browser::mark_root(MARK, None);
            if let Some(heading) = ResultsTab::heading_of(&browser::fragment()) {
                view.go_to(heading);
            }
        });
    });
    started
}
