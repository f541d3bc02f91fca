//! What only some small views have, and what is loaded for them alone.

use leptos::prelude::*;

use super::presentation::Presentation;
use super::settings::Plots;
use crate::browser;
use crate::lazy_parts::Loading;
use crate::results::{NumbersPanel, StagesPanel, TimelinePanel};

/// What loads them: lazy functions of the program of small embeds. Provided as context.
#[derive(Clone, Copy)]
pub struct EmbedParts {
    /// Loads [`embed_table`].
    pub table: fn() -> Loading,
    /// Loads [`embed_timeline`].
    pub timeline: fn() -> Loading,
    /// Loads [`embed_sweep`].
    pub sweep: fn() -> Loading,
}

/// Every stage with its buckets.
#[must_use]
pub fn embed_table() -> AnyView {
    view! { <NumbersPanel /> }.into_any()
}

/// The heaviest stage over one step, and all stages.
#[must_use]
pub fn embed_timeline() -> AnyView {
    view! { <TimelinePanel /><StagesPanel /> }.into_any()
}

/// What other values of the fields in the address would come to.
#[must_use]
pub fn embed_sweep() -> AnyView {
    let Presentation { fields, readonly, .. } = Presentation::from_query(&browser::query());
    view! { <fieldset disabled=readonly><Plots fields=fields readonly /></fieldset> }.into_any()
}
