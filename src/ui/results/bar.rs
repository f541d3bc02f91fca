//! The headline's bar.

use leptos::prelude::*;

use super::picture::{Picture, Purpose};
use crate::report::charts::bucket_bar;

/// The worst stage's buckets end to end, against the GPU.
#[component]
pub(in super::super) fn HeadlineBar() -> impl IntoView {
    view! {
        <div class="headline-bar">
            <Picture id="headline" chart=bucket_bar::CHART purpose=Purpose::Buttons />
        </div>
    }
}
