//! Work that waits: for the next frame, for a pause of the reader, or for its turn between frames.

use gloo::timers::callback::Timeout;
use gloo::timers::future::TimeoutFuture;
use leptos::html::Div;
use leptos::prelude::*;
use leptos_use_intersection_observer::use_intersection_observer;

use super::signal_on_change::signal_on_change;
use super::unsubscribe::unsubscribe_on_cleanup;
use crate::browser;

/// How many milliseconds work waits for the reader to pause.
const PAUSE: u32 = 400;
/// How many milliseconds a piece of work may take before the browser gets its turn.
const PIECE: u64 = 6;
/// How many milliseconds the page rests after a frame: the next key may be about to come.
const REST: u32 = 30;

/// Waits for a task of its own, right after the one that runs.
pub async fn next_task() {
    TimeoutFuture::new(0).await;
}

/// Work that waits. What is put off takes the place of what waited before, and is dropped with the reactive owner that
/// this was created under.
#[derive(Clone, Copy)]
pub struct Deferred {
    timer: StoredValue<Option<Timeout>, LocalStorage>,
}

impl Deferred {
    /// Nothing waits yet.
    pub fn new() -> Self {
        Self {
            timer: StoredValue::new_local(None),
        }
    }

    /// Acts once the frame that comes next is on the screen, and the page has had a rest.
    pub fn after_frame(self, act: impl FnOnce() + 'static) {
        request_animation_frame(move || self.after(REST, act));
    }

    /// Acts in a task of its own, right after the one that runs.
    pub fn in_next_task(self, act: impl FnOnce() + 'static) {
        self.after(0, act);
    }

    /// Does work piece by piece: `advance` does a little of it and says whether all is done.
    pub fn in_pieces<T: 'static>(self, mut state: T, advance: impl Fn(&mut T) -> bool + 'static) {
        self.after(0, move || {
            let end = browser::now() + PIECE;
            while browser::now() < end {
                if untrack(|| advance(&mut state)) {
                    return;
                }
            }
            self.in_pieces(state, advance);
        });
    }

    /// Acts after so many milliseconds.
    pub fn after(self, wait: u32, act: impl FnOnce() + 'static) {
        let timer = Timeout::new(wait, act);
        // Where its owner is gone there is no place for the timer, and it is cancelled.
        let _ = self.timer.try_set_value(Some(timer));
    }
}

/// Starts work anew whenever something that `track` reads has changed and the reader pauses: `start` makes its state,
/// and `advance` does a little of it and says whether all is done. Work on what was there before is dropped.
pub fn when_idle<T: 'static>(
    track: impl Fn() + 'static,
    start: impl Fn() -> T + Clone + 'static,
    advance: impl Fn(&mut T) -> bool + Clone + 'static,
) {
    let work = Deferred::new();
    Effect::new(move |_| {
        // It may be a button's that comes and goes with edits.
        unsubscribe_on_cleanup();
        track();
        let (start, advance) = (start.clone(), advance.clone());
        work.after(PAUSE, move || {
            let state = untrack(&start);
            work.in_pieces(state, advance);
        });
    });
}

/// When a signal follows a keystroke while its place is in sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InSight {
    /// In the frame of the key: what the reader looks at while typing.
    AtOnce,
    /// Once that frame is on the screen, so that it comes sooner.
    AfterFrame,
}

/// What is shown in `place`, as a [`signal_on_change`]. What `track` reads changes with keystrokes, and such a change
/// reaches the signal later: after the frame of the key, or, while the element is scrolled out of sight, once the reader pauses or scrolls
/// there. What only `compute` reads changes it at once while the element is in sight: the reader has asked for that here.
///
/// `track` reads what the signal depends on before all else. A memo is updated as soon as one of its sources turns out to
/// have changed, in the order in which it has read them: what `compute` reads is not worked out before it is wanted.
pub fn deferred_signal<T>(
    place: NodeRef<Div>,
    in_sight: InSight,
    track: impl Fn() + Send + Sync + 'static,
    compute: impl Fn() -> T + Send + Sync + 'static,
) -> ReadSignal<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let update = StoredValue::new(Update::UpToDate);
    let is_due = Trigger::new();
    let catch_up = move || {
        if update.get_value() == Update::Waits {
            update.set_value(Update::Due);
            is_due.notify();
        }
    };
    // Visible until the browser says otherwise: the first view comes at once.
    let visible = StoredValue::new(true);
    use_intersection_observer(place, move |entries, _| {
        if let Some(last) = entries.last() {
            visible.set_value(last.is_intersecting());
            if last.is_intersecting() {
                catch_up();
            }
        }
    });
    // On paper nothing is out of sight.
    let print = window_event_listener(leptos::ev::beforeprint, move |_| catch_up());
    on_cleanup(move || print.remove());
    let deferred = Deferred::new();
    let version = version_of(Box::new(track));
    let known_version = StoredValue::new(0);
    let memo = Memo::new_owning(move |previous| {
        let has_changed = known_version.get_value() != version.get();
        known_version.set_value(version.get_untracked());
        is_due.track();
        let waits = !visible.get_value() || (has_changed && in_sight == InSight::AfterFrame);
        match previous {
            Some(previous) if waits && update.get_value() != Update::Due => {
                update.set_value(Update::Waits);
                if visible.get_value() {
                    deferred.after_frame(catch_up);
                } else {
                    deferred.after(PAUSE, catch_up);
                }
                (previous, false)
            }
            previous => {
                update.set_value(Update::UpToDate);
                let value = compute();
                let changed = previous.as_ref() != Some(&value);
                (value, changed)
            }
        }
    });
    signal_on_change(memo)
}

/// How often what `track` reads has changed.
fn version_of(track: Box<dyn Fn() + Send + Sync>) -> Memo<u32> {
    Memo::new(move |version: Option<&u32>| {
        track();
        version.map_or(0, |version| version.wrapping_add(1))
    })
}

/// How far the update of a memo is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Update {
    /// Nothing has changed since the last one.
    UpToDate,
    /// Something has changed, and the frame of the key comes first, or the reader is to pause.
    Waits,
    /// The change is to be shown now: the frame of the key is on the screen, or the reader has paused or scrolled there.
    Due,
}
