//! The whole calculator in a frame: the form, stages, timeline and table.

use leptos::prelude::*;

use super::EmbedFrame;
use super::presentation::{EmbedView, Presentation};
use super::settings::{LockedValues, locked};
use crate::browser;
use crate::components::form::{FieldRows, FormSections};
use crate::lazy_parts::LazyPart;
use crate::results::StagesPanel;
use megatron_memory::report::grouping::Grouping;

/// The whole calculator in a frame of another page.
#[component]
pub(crate) fn FullEmbed() -> impl IntoView {
    let asked = Presentation::from_query(&browser::query());
    let settings = if !asked.readonly && asked.fields.is_empty() {
        view! { <FormSections /> }.into_any()
    } else {
        let locked = locked(&asked);
        let editable = if asked.readonly { Vec::new() } else { asked.fields };
        view! {
            {(!editable.is_empty()).then(|| view! { <FieldRows fields=editable /> })}
            {(!locked.is_empty()).then(|| view! { <LockedValues fields=locked /> })}
        }
        .into_any()
    };
    view! {
        <EmbedFrame
            name=EmbedView::Full.name()
            grouping=Grouping::Buckets
            replay=|| LazyPart::Replay.load()
        >
            {settings}
            <div class="results-pane">
                <StagesPanel />
                {LazyPart::Timeline.view()}
                {LazyPart::Numbers.view()}
            </div>
        </EmbedFrame>
    }
}
