//! Parts of the page that are built as they come near to what is in sight, each in a task of its own, so that none is
//! long.

use leptos::ev;
use leptos::html::Div;
use leptos::prelude::*;
use leptos_use_intersection_observer::use_intersection_observer;
use wasm_bindgen_futures::spawn_local;

use super::deferred::Deferred;
use super::in_turn::Turns;
use crate::browser;
use crate::lazy_parts::LazyParts;

/// A part of the page.
pub type Part = fn() -> AnyView;

/// The height in pixels that is kept free for each part that is still to be built.
const HEIGHT: usize = 480;
/// How many milliseconds the reader has for what is in sight before one more part is built out of sight, where the
/// browser's own search finds it.
const QUIET: u32 = 1_000;

/// The parts, from the first one on: at once those near to what is in sight, the others when they come near, when all are
/// asked for, before the page is printed, or one after another while nothing else happens. A part never comes after one
/// below it, so that nothing moves what is in sight.
#[component]
pub fn NearFirst(
    /// What builds each of them.
    parts: Vec<Part>,
    /// Whether parts near to what is in sight are still to be built.
    is_busy: RwSignal<bool>,
    /// Whether all are asked for, wherever they are. They are no longer once they are built.
    all: RwSignal<bool>,
) -> impl IntoView {
    let progress = Progress {
        built: RwSignal::new(1),
        count: parts.len(),
        rest: NodeRef::new(),
        tasks: Deferred::new(),
        turns: expect_context(),
        is_loaded: RwSignal::new(false),
        is_building: RwSignal::new(false),
        is_busy,
        all,
    };
    is_busy.set(true);
    // Once the place of the parts has been laid out.
    progress.tasks.in_next_task(move || progress.advance());
    let LazyParts { part, .. } = expect_context();
    spawn_local(async move {
        // Where it fails, each part says so in its place, and is loaded again by those that come later.
        let _ = part(None).await;
        progress.tasks.in_next_task(move || progress.start());
    });
    use_intersection_observer(progress.rest, move |_, _| progress.advance());
    Effect::new(move |_| {
        if all.get() {
            progress.advance();
        }
    });
    let print = window_event_listener(ev::beforeprint, move |_| progress.finish());
    on_cleanup(move || print.remove());
    let parts = parts.into_iter().enumerate().map(|(number, part)| {
        view! { <Show when=move || number < progress.built.get()>{part()}</Show> }
    });
    let height = move || format!("{}px", HEIGHT * progress.missing());
    view! {
        {parts.collect_view()}
        <div class="rest" node_ref=progress.rest hidden=move || progress.missing() == 0 style:height=height></div>
    }
}

/// How far the parts are built.
#[derive(Clone, Copy)]
struct Progress {
    built: RwSignal<usize>,
    count: usize,
    /// The place of those that are still to be built.
    rest: NodeRef<Div>,
    tasks: Deferred,
    turns: Turns,
    /// Whether the loading of what the parts consist of is over. None is built before: without a height they would all
    /// be near.
    is_loaded: RwSignal<bool>,
    /// Whether a part is being built, in several turns. Until it is complete, its height says nothing of the next one.
    is_building: RwSignal<bool>,
    is_busy: RwSignal<bool>,
    all: RwSignal<bool>,
}

impl Progress {
    /// How many parts are still to be built.
    fn missing(self) -> usize {
        self.count.saturating_sub(self.built.get())
    }

    /// Builds the parts that are wanted, now that they are loaded.
    fn start(self) {
        self.is_loaded.set(true);
        self.advance();
    }

    /// Builds the next part if it is wanted now, and so on; one that is not waits for a quiet moment. Before the parts are
    /// loaded, only says whether one is wanted.
    fn advance(self) {
        if self.is_building.get_untracked() {
            return;
        }
        if untrack(|| self.missing()) == 0 {
            return self.finish();
        }
        let is_reached = || self.rest.get_untracked().is_some_and(|rest| browser::is_reached(&rest));
        let is_wanted = self.all.get_untracked() || is_reached();
        self.set_busy(is_wanted);
        if !self.is_loaded.get_untracked() {
            return;
        }
        if is_wanted {
            self.build_next();
        } else {
            self.tasks.after(QUIET, move || self.build_next());
        }
    }

    fn set_busy(self, is_busy: bool) {
        if self.is_busy.get_untracked() != is_busy {
            self.is_busy.set(is_busy);
        }
    }

    /// Builds the next part, and advances once it is complete.
    fn build_next(self) {
        if self.is_building.try_set(true).is_some() {
            return;
        }
        self.turns.then(move || {
            // The tab may have been left by then.
            self.built.try_update(|built| *built += 1);
        });
        self.turns.then(move || {
            if self.is_building.try_set(false).is_none() {
                self.advance();
            }
        });
    }

    /// Builds all that are missing. Those that are not loaded are empty until they are.
    fn finish(self) {
        if untrack(|| self.missing()) > 0 {
            self.built.set(self.count);
        }
        let is_loaded = self.is_loaded.get_untracked();
        self.set_busy(!is_loaded);
        if is_loaded && self.all.get_untracked() {
            self.all.set(false);
        }
    }
}
