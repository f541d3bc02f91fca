//! A view of the calculator in a frame of another page: `embed.html?view=bar#v1;m=llama3-8b@1`.
//!
//! The query says what is shown, the fragment holds the job, as on the page itself. Messages to and from the page
//! around are the business of `src/web/frame.js`; here the state follows the address and the result is left on the
//! root element.

mod frame_result;
mod full;
mod light;
mod parts;
mod presentation;
mod settings;

pub(super) use full::FullEmbed;
pub(super) use light::LightEmbed;
pub use parts::{EmbedParts, embed_replay, embed_sweep, embed_table, embed_timeline};

use leptos::prelude::*;

use super::PLACE;
use super::browser::{self, Unseen};
use super::components::toasts::Toasts;
use super::lazy_parts::{Loaded, Loading};
use super::state::{ResultsState, ResultsTab, State};
use super::summary::{Remarks, Summary};
use super::title::job_of;
use frame_result::FrameResult;
use megatron_memory::config::Checked;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::share_url::{encode, visit};
use megatron_memory::report::grouping::Grouping;

/// The state of the job in the address, which `check` checks.
pub(super) fn state_of_address(check: fn(&RawJob) -> Checked) -> State {
    let fragment = browser::fragment();
    // A fragment that names a panel holds no job.
    let is_job = ResultsTab::heading_of(&fragment).is_none();
    State::of_visit(visit(if is_job { &fragment } else { "" }), check)
}

/// What all embeds have: the title, the headline, what the page around is told, and the link to the page.
#[component]
fn EmbedFrame(
    /// The name of the view.
    name: &'static str,
    /// How finely charts tell buckets apart at first.
    grouping: Grouping,
    /// Loads [`embed_replay`], for a job that is tight by the factors.
    replay: fn() -> Loading,
    /// Inputs and results below the headline.
    children: Children,
) -> impl IntoView {
    let state = expect_context::<State>();
    ResultsState::provide(grouping);
    let unseen = expect_context::<Unseen>();
    // The first effect: what the page around is told comes after it.
    Effect::new(move |_| unseen.show_in(PLACE));
    let job = Memo::new(move |_| job_of(state, state.outcome.read().as_deref()));
    let hash = Memo::new(move |_| encode(&state.share()));
    let is_left_open = Memo::new(move |_| state.is_left_open());
    Effect::new(move |_| {
        let result = FrameResult::of(state, &hash.read()).json();
        browser::mark_root("data-result", Some(&result));
    });
    view! {
        <main class="embed-parts" data-view=name>
            <h1 class="embed-title">
                <span class="unseen">"Megatron Memory: "</span>
                {job}
            </h1>
            <Summary />
            <Show when=move || is_left_open.get()>
                <Loaded load=replay />
            </Show>
            <Remarks />
            {children()}
            <div class="embed-foot">
                <a href=move || format!("./{}", hash.read()) target="_blank" rel="noopener">
                    "Open in calculator"
                </a>
            </div>
        </main>
        <Toasts />
    }
}
