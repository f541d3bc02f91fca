//! The page.
#![allow(
    clippy::must_use_candidate,
    reason = "components are used by naming them in a view"
)]

use leptos::prelude::*;

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    view! {
        <main>
            <h1>"Megatron Memory"</h1>
            <p data-testid="ready">"How much GPU memory a Megatron training job needs."</p>
        </main>
    }
}
