//! The groups and buckets that some stage has, with their colors. On the page each group is split by a click.

use leptos::either::Either;
use leptos::prelude::*;

use crate::browser;
use crate::state::{Highlight, ResultsState};
use megatron_memory::report::grouping::{BucketGroup, Grouping, Segment};
use megatron_memory::report::target::Target;
use megatron_memory::units::Bytes;

/// The legend. Below a group that is split stand its buckets.
#[component]
pub(crate) fn Legend() -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let entries = Memo::new(move |_| entries(results));
    let is_grouped = move || results.grouping.get() != Grouping::Buckets;
    view! {
        <div class="legend">
            <ul aria-label="Colors">
                <For each=move || entries.get() key=|entry| entry.id() let:entry>
                    <LegendItem entry=entry />
                </For>
                <Show when=is_grouped>
                    <li><SplitSwitch /></li>
                </Show>
            </ul>
        </div>
    }
}

/// What the legend has: each group that some stage has, and behind one that is split its buckets; without groups the
/// buckets alone.
fn entries(results: ResultsState) -> Vec<Segment> {
    let grouping = results.grouping.get();
    let outcome = results.page.outcome.read();
    let modules = outcome.iter().flat_map(|outcome| &outcome.estimate.modules);
    let stages: Vec<_> = modules.flat_map(|module| &module.stages).collect();
    let is_held = |segment: &Segment| {
        let mut stages = stages.iter();
        stages.any(|stage| segment.bytes(|bucket| stage.bytes(bucket)) > Bytes::ZERO)
    };
    let of_group = |group: BucketGroup| {
        let whole = (grouping != Grouping::Buckets).then_some(Segment::Group(group));
        let buckets = group.buckets().map(Segment::Bucket);
        let buckets = buckets.filter(move |_| grouping.splits(group));
        whole.into_iter().chain(buckets)
    };
    let all = BucketGroup::ALL.into_iter().flat_map(of_group);
    all.filter(is_held).collect()
}

/// Splits all groups, or puts all together.
#[component]
fn SplitSwitch() -> impl IntoView {
    let grouping = expect_context::<ResultsState>().grouping;
    let is_split = Memo::new(move |_| grouping.get() == Grouping::SPLIT);
    let toggle = move |_| {
        grouping.set(if is_split.get_untracked() {
            Grouping::CLOSED
        } else {
            Grouping::SPLIT
        });
    };
    view! {
        <button
            type="button"
            class="link"
            data-testid="all-buckets"
            aria-pressed=move || is_split.get().to_string()
            on:click=toggle
        >
            "All buckets"
        </button>
    }
}

/// A group or bucket with its color. Pointing at it highlights it on every stage.
#[component]
fn LegendItem(entry: Segment) -> impl IntoView {
    let results = expect_context::<ResultsState>();
    let highlight = expect_context::<Highlight>();
    let target = Target::segment(entry);
    let point = {
        let target = target.clone();
        move || highlight.set(Some(target.clone()))
    };
    let click = point.clone();
    let texture = if entry.class().textured() { " hatched" } else { "" };
    let swatch = format!("swatch {}{texture}", entry.class().names());
    let name = view! {
        <span class=swatch></span>
        <span>{entry.label()}</span>
    };
    let name = match entry {
        Segment::Bucket(_) => Either::Left(name),
        Segment::Group(group) => Either::Right(view! {
            <button
                type="button"
                class="legend-group"
                data-group=group.id()
                aria-expanded=move || results.grouping.get().splits(group).to_string()
                on:click=move |_| results.toggle(group)
            >
                {name}
            </button>
        }),
    };
    view! {
        <li
            class:lit=move || highlight.highlights(&target)
            on:pointerenter=move |event| if browser::is_mouse(&event) { point() }
            on:pointerleave=move |event| if browser::is_mouse(&event) { highlight.clear() }
            on:click=move |event| {
                event.prevent_default();
                click();
            }
        >
            {name}
        </li>
    }
}
