//! Effects and memos that end before the signals that they read, and unsubscribe from them.

use leptos::prelude::*;
use leptos::reactive::graph::{Observer, Subscriber};

/// Takes the effect or memo that calls this out of the lists of readers of all signals that it reads, as soon as it is
/// cleaned up.
///
/// `reactive_graph` 0.2 leaves it there: the memory of the reader, about a hundred bytes, stays as long as the signal, and
/// each change of the signal is sent to it. So this belongs into readers that come and go with edits, of signals that
/// stay.
pub fn unsubscribe_on_cleanup() {
    if let Some(reader) = Observer::get() {
        on_cleanup(move || reader.clear_sources(&reader));
    }
}

/// A memo for a part that comes and goes with edits, of signals that stay. What else the part reads of them would not
/// unsubscribe: an item of a list is dropped before it is cleaned up.
pub fn passing_memo<T>(compute: impl Fn() -> T + Send + Sync + 'static) -> Memo<T>
where
    T: PartialEq + Send + Sync + 'static,
{
    Memo::new(move |_| {
        unsubscribe_on_cleanup();
        compute()
    })
}
