//! Memos that are not updated with the frame that shows a keystroke, where nobody would see it.

use leptos::html::Div;
use leptos::prelude::*;
use leptos_use_intersection_observer::use_intersection_observer;

use crate::ui::browser;
use crate::ui::state::State;

/// A memo of what is shown in `place`. While that element is scrolled out of sight, a change reaches the memo only once
/// the next frame is on the screen: what the reader sees follows a keystroke first, and the rest right after it.
pub(super) fn deferred_memo<T>(place: NodeRef<Div>, compute: impl Fn() -> T + Send + Sync + 'static) -> Memo<T>
where
    T: PartialEq + Send + Sync + 'static,
{
    let outcome = expect_context::<State>().outcome;
    // Visible until the browser says otherwise: the first view comes at once.
    let visible = StoredValue::new(true);
    use_intersection_observer(place, move |entries, _| {
        if let Some(last) = entries.last() {
            visible.set_value(last.is_intersecting());
        }
    });
    let wait = StoredValue::new(Wait::Not);
    let frame_is_shown = Trigger::new();
    // On paper nothing is out of sight.
    let print = window_event_listener(leptos::ev::beforeprint, move |_| {
        if wait.get_value() == Wait::ForFrame {
            wait.set_value(Wait::Over);
            frame_is_shown.notify();
        }
    });
    on_cleanup(move || print.remove());
    Memo::new_owning(move |previous| {
        // The outcome comes first: a memo is updated as soon as one of its sources turns out to have changed, in the
        // order in which it has read them. Whatever `compute` reads is not worked out before it is wanted.
        outcome.track();
        frame_is_shown.track();
        match previous {
            Some(previous) if !visible.get_value() && wait.get_value() != Wait::Over => {
                if wait.get_value() == Wait::Not {
                    wait.set_value(Wait::ForFrame);
                    browser::after_frame(Box::new(move || {
                        wait.set_value(Wait::Over);
                        frame_is_shown.notify();
                    }));
                }
                (previous, false)
            }
            previous => {
                wait.set_value(Wait::Not);
                let value = compute();
                let changed = previous.as_ref() != Some(&value);
                (value, changed)
            }
        }
    })
}

/// Whether an update waits for a frame to be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// There is no update.
    Not,
    /// It waits.
    ForFrame,
    /// The frame is on the screen: the update is due.
    Over,
}
