//! The right side of the page: what every stage needs, and why.
//!
//! Everything here is about a [`Target`]. Pointing at one, or moving the focus to it, lights up all that
//! is about the same; choosing it shows its stage, and explains its number.

mod detail;
mod explain;
mod frameworks;
mod picture;
mod stages;
mod table;
mod view;

use leptos::prelude::*;

use super::parts::yes;
use crate::report::charts::bucket_bar;
use picture::{Purpose, picture};
pub(super) use stages::stages;
pub(super) use table::numbers;
pub(super) use view::{View, view};

/// All results below the headline.
#[component]
pub fn Results() -> impl IntoView {
    let view = view();
    view! {
        <div class="results" class:stale=yes(move || view.state.stale.get())>
            {stages(view)} {detail::detail(view)} {frameworks::frameworks(view)}
            {numbers(view)}
        </div>
    }
}

/// The worst stage's buckets end to end, against the GPU.
#[component]
pub(super) fn HeadlineBar() -> impl IntoView {
    let chart = Signal::stored(bucket_bar::CHART);
    let bar = picture(view(), "headline", chart, Purpose::Buttons);
    view! { <div class="headline-bar">{bar}</div> }
}
