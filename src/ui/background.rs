//! Work that takes longer than a frame, done in short pieces between frames.

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::browser;
use super::state::State;

/// How many milliseconds work waits for the reader to pause.
const PAUSE: u32 = 400;
/// How many milliseconds a piece of work may take before the browser gets its turn.
const PIECE: u64 = 6;

/// The timer of the next piece of some work. It is cancelled when another one takes its place, or its owner goes.
type Timer = StoredValue<Option<Timeout>, LocalStorage>;

/// Starts work anew whenever the outcome has changed and the reader pauses: `start` makes its state, and `advance` does
/// a little of it and says whether all is done. Work on an earlier outcome is dropped.
pub(super) fn when_idle<T: 'static>(
    start: impl Fn() -> T + Clone + 'static,
    advance: impl Fn(&mut T) -> bool + Clone + 'static,
) {
    let outcome = expect_context::<State>().outcome;
    when_idle_after(move || outcome.track(), start, advance);
}

/// The same after other changes than those of the outcome: of whatever `track` reads.
pub(super) fn when_idle_after<T: 'static>(
    track: impl Fn() + 'static,
    start: impl Fn() -> T + Clone + 'static,
    advance: impl Fn(&mut T) -> bool + Clone + 'static,
) {
    let work = Background::new();
    Effect::new(move |_| {
        track();
        let (start, advance) = (start.clone(), advance.clone());
        work.after(PAUSE, move || {
            let state = untrack(&start);
            work.run(state, advance);
        });
    });
}

/// Work in pieces, one at a time: other work that begins ends it.
#[derive(Clone, Copy)]
pub(super) struct Background {
    timer: Timer,
}

impl Background {
    /// No work yet.
    pub(super) fn new() -> Self {
        Self {
            timer: StoredValue::new_local(None),
        }
    }

    /// Does work piece by piece: `advance` does a little of it and says whether all is done.
    pub(super) fn run<T: 'static>(self, mut state: T, advance: impl Fn(&mut T) -> bool + 'static) {
        self.after(0, move || {
            let end = browser::now() + PIECE;
            while browser::now() < end {
                if untrack(|| advance(&mut state)) {
                    return;
                }
            }
            self.run(state, advance);
        });
    }

    /// Does something after so many milliseconds, in place of what was to be done.
    fn after(self, wait: u32, act: impl FnOnce() + 'static) {
        let timer = Timeout::new(wait, act);
        // Where its owner is gone there is no place for the timer, and it is cancelled.
        let _ = self.timer.try_set_value(Some(timer));
    }
}
