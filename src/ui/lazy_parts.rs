//! The parts of the page that the first view does without, and that are loaded after it.

use std::future::Future;
use std::pin::Pin;

use leptos::prelude::*;

use crate::state::DialogKind;

/// A view that is being loaded.
pub type Loading = Pin<Box<dyn Future<Output = AnyView> + Send>>;

/// What loads the parts. They are `#[lazy]` functions of the page's program, which small embeds are linked without.
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
    /// The table of all stages.
    Numbers,
    /// Ranks, and what a step takes.
    Ranks,
    /// What makes the job fit.
    Fit,
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
    /// The part, where it is to stand: nothing until it is loaded.
    pub fn view(self) -> AnyView {
        let LazyParts { part, .. } = expect_context();
        Suspend::new(part(Some(self))).into_any()
    }
}
