//! Parts of the page that are built one after the other, each in a task of its own, so that none is long.

use std::collections::VecDeque;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::deferred::next_task;

/// Turns that are taken one a task, in the order of the page: what a turn asks for comes before what waited already. A
/// context of every [`InTurn`] below.
#[derive(Clone, Copy)]
pub struct Turns {
    queue: StoredValue<Queue, LocalStorage>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Box<dyn FnOnce()>>,
    /// How many of those in front the last turn has asked for.
    asked_for: usize,
    /// Whether a task is under way that takes them.
    is_running: bool,
}

impl Turns {
    /// Provides the context. Turns are taken from the next task on.
    pub fn provide() -> Self {
        let turns = Self {
            queue: StoredValue::new_local(Queue::default()),
        };
        provide_context(turns);
        let print = window_event_listener(ev::beforeprint, move |_| turns.take_all());
        on_cleanup(move || print.remove());
        turns.run();
        turns
    }

    /// Acts in a turn of its own.
    pub fn then(self, act: impl FnOnce() + 'static) {
        self.queue.update_value(|queue| {
            queue.waiting.insert(queue.asked_for, Box::new(act));
            queue.asked_for += 1;
        });
        if !self.is_running() {
            self.run();
        }
    }

    /// Whether turns are being taken.
    fn is_running(self) -> bool {
        self.queue.with_value(|queue| queue.is_running)
    }

    /// Takes turns until nobody waits.
    fn run(self) {
        self.queue.update_value(|queue| queue.is_running = true);
        spawn_local(async move {
            next_task().await;
            while let Some(act) = self.next() {
                act();
                next_task().await;
            }
        });
    }

    /// Takes all turns now: the page is about to be printed.
    fn take_all(self) {
        while let Some(act) = self.next() {
            act();
        }
    }

    /// Whose turn it is. Nobody's where the page is gone.
    fn next(self) -> Option<Box<dyn FnOnce()>> {
        let next = self.queue.try_update_value(|queue| {
            let next = queue.waiting.pop_front();
            queue.asked_for = 0;
            queue.is_running = next.is_some();
            next
        });
        next.flatten()
    }
}

/// What is built in its turn while the page builds itself, and at once when the reader asks for it later, or where no
/// [`Turns`] are provided.
#[component]
pub fn InTurn(
    /// What stands in its place until then.
    #[prop(optional, into)]
    fallback: ViewFn,
    children: ChildrenFn,
) -> impl IntoView {
    let turns = use_context::<Turns>().filter(|turns| turns.is_running());
    let is_built = RwSignal::new(turns.is_none());
    if let Some(turns) = turns {
        turns.then(move || {
            // The reader may have left by then.
            let _ = is_built.try_set(true);
        });
    }
    view! { <Show when=move || is_built.get() fallback>{children()}</Show> }
}
