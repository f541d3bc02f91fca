//! A view of the calculator in a frame of another page: `embed.html?view=bar#v1;m=llama3-8b@1`.
//!
//! The query says what is shown, the fragment holds the job, as on the page itself. Messages to and from the page
//! around are the business of `src/web/frame.js`; here the state follows the address and the result is left on the
//! root element.

mod frame_result;
mod presentation;
mod settings;

use leptos::prelude::*;

use super::browser;
use super::components::toasts::Toasts;
use super::results::{Legend, NumbersPanel, StagesPanel, TimelinePanel};
use super::state::{ResultsState, State};
use super::summary::{Remarks, Summary};
use super::title::job_of;
use frame_result::FrameResult;
use megatron_memory::formats::share_url::encode;
use megatron_memory::report::grouping::Grouping;
use presentation::{EmbedView, Presentation};
use settings::Settings;

/// The calculator in a frame of another page.
#[component]
pub(super) fn Embed() -> impl IntoView {
    let state = expect_context::<State>();
    let asked = Presentation::from_query(&browser::query());
    let view = asked.view;
    ResultsState::provide(match view {
        // There is room for the names of four groups.
        EmbedView::Compact | EmbedView::Bar => Grouping::CLOSED,
        EmbedView::Full | EmbedView::Table | EmbedView::Timeline | EmbedView::Sweep => Grouping::Buckets,
    });
    let job = Memo::new(move |_| job_of(state, state.outcome.read().as_deref()));
    let hash = Memo::new(move |_| encode(&state.share()));
    Effect::new(move |_| {
        let result = FrameResult::of(state, &hash.read()).json();
        browser::mark_root("data-result", Some(&result));
    });
    view! {
        <main class="embed-parts" data-view=view.name()>
            <h1 class="embed-title">
                <span class="unseen">"Megatron Memory: "</span>
                {job}
            </h1>
            <Summary />
            <Remarks />
            <Settings asked=asked />
            <div class="results-pane">
                <Panels view=view />
            </div>
            <div class="embed-foot">
                <a href=move || format!("./{}", hash.read()) target="_blank" rel="noopener">
                    "Open in calculator"
                </a>
            </div>
        </main>
        <Toasts />
    }
}

/// The results below the headline.
#[component]
fn Panels(view: EmbedView) -> impl IntoView {
    match view {
        EmbedView::Full => view! { <StagesPanel /><TimelinePanel /><NumbersPanel /> }.into_any(),
        EmbedView::Table => view! { <NumbersPanel /> }.into_any(),
        EmbedView::Timeline => view! { <TimelinePanel /><StagesPanel /> }.into_any(),
        EmbedView::Compact | EmbedView::Bar => view! { <Legend /> }.into_any(),
        EmbedView::Sweep => ().into_any(),
    }
}
