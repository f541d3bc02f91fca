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
