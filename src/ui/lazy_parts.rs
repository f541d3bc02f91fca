//! The parts of the page that the first view does without, and that are loaded after it.

use std::future::Future;
use std::pin::Pin;

use leptos::prelude::*;
use leptos::wasm_split::SplitLoaderError;

use crate::state::{DialogKind, FoundChanges, LargestSize, LimitSize};

/// A view that is being loaded.
pub type Loading = Pin<Box<dyn Future<Output = Result<AnyView, NotLoaded>> + Send>>;

/// The module with a part could not be fetched, or is of another version. The next call fetches it again.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("A part of the page could not be loaded. Reload when you are connected.")]
pub struct NotLoaded;

impl From<SplitLoaderError> for NotLoaded {
    fn from(_: SplitLoaderError) -> Self {
        Self
    }
}

/// What loads the parts. They are lazy functions of the page's program, which small embeds are linked without.
/// Provided as context wherever a part may be shown.
#[derive(Clone, Copy)]
pub struct LazyParts {
    /// Loads [`dialog`](crate::dialog).
    pub dialog: fn(Option<DialogKind>) -> Loading,
    /// Loads [`part`](crate::part).
    pub part: fn(Option<LazyPart>) -> Loading,
}

/// A part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LazyPart {
    /// The shown stage.
    Detail,
    /// The timeline of a stage by itself.
    Timeline,
    /// The replay of the allocator, with a sentence about it below the headline of a job that is tight by the factors.
    ReplayOfTight,
    /// The replay of the allocator in an embed: on its own thread, and without a sentence.
    Replay,
    /// The table of all stages.
    Numbers,
    /// Ranks, and what a step takes.
    Ranks,
    /// What makes the job fit.
    Fit,
    /// Searches for changes with which the job fits, of which the headline offers one.
    ChangeSearch(RwSignal<FoundChanges>),
    /// Searches for a layout with which the job fits, and says how far it is.
    LayoutSearch(RwSignal<Option<u64>>),
    /// Searches for the largest value of a size with which the job fits.
    LargestSizeSearch(LimitSize, RwSignal<LargestSize>),
    /// Explanations of the out-of-memory errors in an imported text.
    ExplainedErrors,
    /// What recompute saves.
    Savings,
    /// Memory against a setting.
    Plot,
    /// Ways of training, and other GPUs.
    Methods,
    /// The job beside pinned ones.
    Compare,
    /// Plans, and a measured run.
    Plans,
    /// The frameworks' own reports.
    Frameworks,
    /// Evidence, and a script for one GPU.
    Evidence,
    /// The layers of a pattern as cells.
    PatternEditor,
}

impl LazyPart {
    /// The part, where it is to stand.
    pub fn view(self) -> AnyView {
        view! { <Loaded load=move || self.load() /> }.into_any()
    }

    /// Loads the part.
    pub fn load(self) -> Loading {
        let LazyParts { part, .. } = expect_context();
        part(Some(self))
    }
}

/// What is loaded: nothing until it is there, and a message where it cannot be loaded.
#[component]
pub(crate) fn Loaded(
    /// Loads it. Called again when something changes that it has read, and when the reader tries again.
    load: impl Fn() -> Loading + Send + 'static,
    /// Puts what the message needs in its place around it.
    #[prop(default = |message| message)]
    around_message: fn(AnyView) -> AnyView,
) -> impl IntoView {
    let again = Trigger::new();
    let message = move |error: NotLoaded| {
        let message = view! {
            <div class="not-loaded" role="alert">
                <p>{error.to_string()}</p>
                <button type="button" on:click=move |_| again.notify()>
                    "Try again"
                </button>
            </div>
        };
        around_message(message.into_any())
    };
    move || {
        again.track();
        let loading = load();
        Suspend::new(async move { loading.await.unwrap_or_else(message) })
    }
}
