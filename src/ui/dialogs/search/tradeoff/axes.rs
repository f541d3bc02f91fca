//! The two axes of the picture, with their ends and ticks in between.

use std::sync::Arc;

use leptos::prelude::*;

use super::picture::{HEIGHT, LEFT, Picture, QUARTERS, amount, amount_between};
use megatron_memory::report::amount::Unit;
use megatron_memory::report::scene::Px;
use megatron_memory::search::{Column, Space};

/// The width in pixels from which numbers have room at the ticks of the horizontal axis.
const ROOMY: i32 = 520;

/// The axes with the least and the most of each measure, and ticks between them.
#[component]
pub(super) fn Axes(
    picture: RwSignal<Option<Picture>>,
    /// What the picture is of: across, and up.
    measures: [RwSignal<Column>; 2],
    /// The combinations that the layouts are of.
    #[prop(into)]
    space: Signal<Option<Arc<Space>>>,
    /// The unit of memory.
    unit: RwSignal<Unit>,
) -> impl IntoView {
    let [across, up] = measures;
    let base = HEIGHT - Px::of(22);
    let drawn = move || {
        let (picture, space) = (picture.read(), space.get()?);
        let picture = picture.as_ref()?;
        let unit = unit.get();
        let [(left, right), (low, high)] = &picture.ends;
        let (across, up) = (across.get(), up.get());
        let of = |measure, c| amount(measure, &space, c, unit);
        let beside = LEFT - Px::of(10);
        let below = HEIGHT - Px::of(6);
        let left_line = LEFT - Px::of(4);
        let axes = format!("M{left_line} 6V{base}H{}", picture.width);
        let is_roomy = picture.width >= Px::of(ROOMY);
        let ticks_across = QUARTERS.map(|quarters| {
            let x = picture.across(quarters);
            let words = amount_between(across, &space, (left, right), quarters, unit);
            let words = words.filter(|_| is_roomy);
            view! {
                <path class="grid" fill="none" d=format!("M{x} {base}v4") />
                {words.map(|words| text(x, below, "middle", words))}
            }
        });
        let ticks_up = QUARTERS.map(|quarters| {
            let y = Picture::up(quarters);
            let words = amount_between(up, &space, (low, high), quarters, unit);
            view! {
                <path class="grid" fill="none" d=format!("M{left_line} {y}h-4") />
                {words.map(|words| text(beside, y + Px::of(4), "end", words))}
            }
        });
        Some(view! {
            <path class="grid" fill="none" d=axes />
            {ticks_across.into_iter().collect_view()}
            {ticks_up.into_iter().collect_view()}
            {text(LEFT, below, "start", of(across, left))}
            {text(picture.width - Px::of(4), below, "end", of(across, right))}
            {text(beside, base, "end", of(up, low))}
            {text(beside, Px::of(18), "end", of(up, high))}
        })
    };
    view! { <g aria-hidden="true">{drawn}</g> }
}

fn text(x: Px, y: Px, anchor: &'static str, text: String) -> impl IntoView {
    view! {
        <text class="tick" x=x.to_string() y=y.to_string() text-anchor=anchor>
            {text}
        </text>
    }
}
