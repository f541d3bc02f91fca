//! Parts of the page that are built one after the other, each in a task of its own, so that none is long.

use leptos::prelude::*;

use super::deferred::Deferred;

/// A part of the page.
pub type Part = fn() -> AnyView;

/// The parts, the first of them at once.
#[component]
pub fn InTasks(
    /// What builds each of them.
    parts: Vec<Part>,
    /// Whether some are still to be built.
    is_busy: RwSignal<bool>,
) -> impl IntoView {
    let built = RwSignal::new(1_usize);
    is_busy.set(true);
    build_next(Deferred::new(), built, parts.len(), is_busy);
    let parts = parts.into_iter().enumerate().map(|(number, part)| {
        view! { <Show when=move || { number < built.get() }>{part()}</Show> }
    });
    parts.collect_view()
}

/// Builds the next part in the next task, and so on.
fn build_next(tasks: Deferred, built: RwSignal<usize>, count: usize, is_busy: RwSignal<bool>) {
    tasks.in_next_task(move || {
        if built.get_untracked() >= count {
            is_busy.set(false);
            return;
        }
        built.update(|built| *built += 1);
        build_next(tasks, built, count, is_busy);
    });
}
