//! The right side of the page: what every stage needs, and why.
//!
//! Everything here is about a [`Target`]. Pointing at one, or moving the focus to it, lights up all that
//! is about the same; choosing it shows its stage, and explains its number.

mod bar;
mod detail;
mod explain;
mod frameworks;
mod picture;
mod stages;
mod table;
mod view;

use leptos::prelude::*;

use super::state::state;
pub(super) use bar::HeadlineBar;
use detail::Detail;
use frameworks::Frameworks;
use stages::Stages;
use table::Numbers;
pub(super) use view::View;

/// All results below the headline.
#[component]
pub fn Results() -> impl IntoView {
    let state = state();
    view! {
        <div class="results" class:stale=state.stale>
            <Stages />
            <Detail />
            <Frameworks />
            <Numbers />
        </div>
    }
}
