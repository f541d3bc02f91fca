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
use super::parts::next_task;
use super::results::Results;
use super::state::{
    MeasuredLog, OpenDialog, OutOfMemoryErrors, PlottedField, ResultsState, ResultsTab, SavedPlans, State,
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
            <Show when=move || started.has(Started::HEADLINE)>
                <Summary
                    notes=|| view! { <OutOfMemoryNotes /> }.into_any()
                    answers=|| view! { <Answers /> }.into_any()
                />
            </Show>
            <Show when=move || started.has(Started::FORM) fallback=|| view! { <div class="form"></div> }>
                <SettingsPane sections=Signal::derive(move || started.sections()) />
            </Show>
            <div class="results-pane" id="results" tabindex="-1" role="region" aria-label="Results">
                <Show when=move || started.has(Started::RESULTS)>
                    <Remarks />
                    <Results />
                    <Footer />
                </Show>
            </div>
        </main>
        <Show when=move || started.has(Started::DIALOGS)>
            <Toasts />
            <HelpDialog />
            <Dialogs />
        </Show>
    }
}

/// How far the page has started. Each part is built in a task of its own, so that none is long. Header and headline are
/// built out of sight, and then take the place of the first view, which shows the same.
#[derive(Clone, Copy)]
struct Started {
    /// How many parts are there, beside the header.
    parts: RwSignal<usize>,
}

impl Started {
    /// How many parts there are with the headline.
    const HEADLINE: usize = 1;
    /// The same with the form, whose sections are parts of their own.
    const FORM: usize = 2;
    /// The same with the results.
    const RESULTS: usize = Self::FORM + Group::ALL.len() + 1;
    /// The same with messages and dialogs: then everything is there.
    const DIALOGS: usize = Self::RESULTS + 1;

    /// The attribute that the root element has until everything is there.
    const MARK: &str = "data-starting";

    /// Starts the parts one after the other.
    fn begin() -> Self {
        let started = Self {
            parts: RwSignal::new(0),
        };
        browser::mark_root(Self::MARK, Some(""));
        let (view, unseen): (_, Unseen) = (expect_context::<State>().view, expect_context());
        let LazyParts { part, .. } = expect_context();
        spawn_local(async move {
            for part in Self::HEADLINE..=Self::DIALOGS {
                next_task().await;
                if part == Self::FORM {
                    unseen.show_in(PLACE);
                }
                started.parts.set(part);
            }
            browser::mark_root(Self::MARK, None);
            if let Some(heading) = ResultsTab::heading_of(&browser::fragment()) {
                // Its panel may be among those that are loaded now.
                let _ = part(None).await;
                view.go_to(heading);
            }
        });
        started
    }

    /// Whether this part is there.
    fn has(self, part: usize) -> bool {
        self.parts.get() >= part
    }

    /// How many sections of the form are there.
    fn sections(self) -> usize {
        self.parts.get().saturating_sub(Self::FORM)
    }
}
