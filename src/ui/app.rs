//! The root component: the calculator's own page, or, in `embed.html`, all of it in a frame.

use leptos::prelude::*;

use super::PLACE;
use super::browser::{self, Unseen};
use super::components::footer::Footer;
use super::components::header::Header;
use super::components::help_dialog::HelpDialog;
use super::components::settings_pane::SettingsPane;
use super::components::toasts::Toasts;
use super::dialogs::Dialogs;
use super::embed::FullEmbed;
use super::parts::Deferred;
use super::results::Results;
use super::state::{
    MeasuredLog, OpenDialog, OutOfMemoryErrors, PlottedField, ResultsState, ResultsTab, SavedPlans, State, ViewState,
};
use super::summary::{Answers, OutOfMemoryNotes, Remarks, Summary};
use super::title::Title;
use super::url_sync::UrlSync;
use megatron_memory::config::field::Group;
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
    let started = Started::begin();
    view! {
        <Title />
        <Header />
        <main class="panes">
            <Show when=move || started.headline.get()>
                <Summary
                    notes=|| view! { <OutOfMemoryNotes /> }.into_any()
                    answers=|| view! { <Answers /> }.into_any()
                />
            </Show>
            <Show when=move || started.form.get() fallback=|| view! { <div class="form"></div> }>
                <SettingsPane sections=started.sections />
            </Show>
            <div class="results-pane" id="results" tabindex="-1" role="region" aria-label="Results">
                <Show when=move || started.results.get()>
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

/// How far the page has started. Each part is built in a task of its own, so that none is long. Header and headline are
/// built out of sight, and then take the place of the first view, which shows the same.
#[derive(Clone, Copy)]
struct Started {
    /// Whether the headline is there.
    headline: RwSignal<bool>,
    /// Whether the form is there.
    form: RwSignal<bool>,
    /// How many of its sections are.
    sections: RwSignal<usize>,
    /// Whether the results are there: then everything is.
    results: RwSignal<bool>,
    tasks: Deferred,
}

impl Started {
    /// The attribute that the root element has until everything is there.
    const MARK: &str = "data-starting";

    /// Starts the parts one after the other.
    fn begin() -> Self {
        let started = Self {
            headline: RwSignal::new(false),
            form: RwSignal::new(false),
            sections: RwSignal::new(0),
            results: RwSignal::new(false),
            tasks: Deferred::new(),
        };
        browser::mark_root(Self::MARK, Some(""));
        let (view, unseen): (_, Unseen) = (expect_context::<State>().view, expect_context());
        started.tasks.in_next_task(move || started.advance(view, unseen));
        started
    }

    /// Starts the next part, and so on.
    fn advance(self, view: ViewState, unseen: Unseen) {
        if !self.headline.get_untracked() {
            self.headline.set(true);
        } else if !self.form.get_untracked() {
            unseen.show_in(PLACE);
            self.form.set(true);
        } else if self.sections.get_untracked() < Group::ALL.len() {
            self.sections.update(|sections| *sections += 1);
        } else {
            self.results.set(true);
            browser::mark_root(Self::MARK, None);
            if let Some(heading) = ResultsTab::heading_of(&browser::fragment()) {
                view.go_to(heading);
            }
            return;
        }
        self.tasks.in_next_task(move || self.advance(view, unseen));
    }
}
