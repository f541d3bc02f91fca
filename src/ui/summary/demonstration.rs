//! The notice that a link is broken, and that a demonstration is shown in place of its job.

use leptos::prelude::*;

use crate::browser;
use crate::state::{DEMONSTRATION, State};
use megatron_memory::formats::share_url::Notice;

/// Why the link is broken, with a control that opens the link that was probably meant. Nothing for a link that can be
/// read.
#[component]
pub(super) fn Demonstration() -> impl IntoView {
    let state = expect_context::<State>();
    let broken = state.link.broken;
    let marked = move || broken.read().is_some().then_some("");
    // The numbers of the demonstration are grey.
    Effect::new(move |_| browser::mark_root("data-demonstration", marked()));
    move || {
        broken.get().map(|notice| {
            view! {
                <div class="demonstration" data-testid="demonstration">
                    <p>{notice.to_string()}</p>
                    <p>{DEMONSTRATION}</p>
                    <NearestPreset notice />
                </div>
            }
        })
    }
}

/// Opens the link with the preset that was probably meant; nothing where none is near.
#[component]
fn NearestPreset(notice: Notice) -> impl IntoView {
    let state = expect_context::<State>();
    let nearest = match notice {
        Notice::UnknownPreset { name, nearest } => nearest.map(|nearest| (name, nearest)),
        _ => None,
    };
    nearest.map(|(name, nearest)| {
        let open = move |_| state.open_nearest(&name, nearest);
        view! {
            <button type="button" class="fix" data-testid="nearest" on:click=open>
                {format!("Open {nearest}")}
            </button>
        }
    })
}
