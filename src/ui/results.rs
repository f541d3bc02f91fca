//! The right side of the page: what every stage needs, and why.
//!
//! Everything here is about a [`Target`]. Pointing at one, or moving the focus to it, lights up all that
//! is about the same; choosing it shows its stage, and explains its number.

mod compare;
mod detail;
mod explain;
mod frameworks;
mod layers;
mod panel;
mod peaks;
mod picture;
mod ranks;
mod savings;
mod stages;
mod table;
mod view;

use super::shown::{Piece, frame};
use crate::report::charts::bucket_bar;
use crate::report::markup::tag;
pub(super) use compare::pin;
pub(super) use detail::over_time;
use picture::{Purpose, picture};
pub(super) use stages::stages;
pub(super) use table::numbers;
pub(super) use view::View;

/// All results below the headline.
pub(super) fn results(view: View) -> Piece {
    let panels = vec![
        compare::compare(view),
        stages(view),
        detail::detail(view),
        savings::savings(view),
        frameworks::frameworks(view),
        numbers(view),
        ranks::ranks(view),
    ];
    frame(tag("div").class("results"), panels)
}

/// The worst stage's buckets end to end, against the GPU.
pub(super) fn headline_bar(view: View) -> Piece {
    let draw = |view: &View, width| view.with(width, bucket_bar::CHART.draw);
    let bar = picture(view, "headline", draw, Purpose::Buttons);
    frame(tag("div").class("headline-bar"), vec![bar])
}
