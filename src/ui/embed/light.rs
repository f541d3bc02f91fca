//! The small views: a headline with a few inputs, a table, a timeline, or plots. Nothing here knows the form, the dialogs
//! or the searches, so that the program of small embeds is linked without them.

use leptos::prelude::*;

use super::EmbedFrame;
use super::parts::EmbedParts;
use super::presentation::{EmbedView, Presentation};
use super::settings::{LockedValues, SmallInputs, locked};
use crate::browser;
use crate::lazy_parts::Loaded;
use crate::results::Legend;
use crate::url_sync::UrlSync;
use megatron_memory::report::grouping::Grouping;

/// A small view of the calculator in a frame of another page.
#[component]
pub(crate) fn LightEmbed() -> impl IntoView {
    let asked = Presentation::from_query(&browser::query());
    let EmbedParts { replay, .. } = expect_context();
    let view = asked.view;
    let grouping = match view {
        // There is room for the names of four groups.
        EmbedView::Compact | EmbedView::Bar => Grouping::CLOSED,
        EmbedView::Full | EmbedView::Table | EmbedView::Timeline | EmbedView::Sweep => Grouping::Buckets,
    };
    view! {
        <UrlSync />
        <EmbedFrame name=view.name() grouping replay=replay>
            <Settings asked=asked />
            <div class="results-pane">
                <Panels view=view />
            </div>
        </EmbedFrame>
    }
}

/// The fields that stay inputs, and those around them for reading.
#[component]
fn Settings(asked: Presentation) -> impl IntoView {
    let locked = locked(&asked);
    let Presentation { view, fields, readonly } = asked;
    if view == EmbedView::Sweep {
        let EmbedParts { sweep, .. } = expect_context();
        return view! { <Loaded load=sweep /> }.into_any();
    }
    let editable = if readonly { Vec::new() } else { fields };
    view! {
        {(!editable.is_empty()).then(|| view! { <SmallInputs fields=editable /> })}
        {(!locked.is_empty()).then(|| view! { <LockedValues fields=locked /> })}
    }
    .into_any()
}

/// The results below the headline.
#[component]
fn Panels(view: EmbedView) -> impl IntoView {
    let EmbedParts { table, timeline, .. } = expect_context();
    match view {
        EmbedView::Table => view! { <Loaded load=table /> }.into_any(),
        EmbedView::Timeline => view! { <Loaded load=timeline /> }.into_any(),
        EmbedView::Full | EmbedView::Compact | EmbedView::Bar => view! { <Legend /> }.into_any(),
        EmbedView::Sweep => ().into_any(),
    }
}
