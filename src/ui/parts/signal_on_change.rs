//! Signals that are silent until their value has changed.

use leptos::prelude::*;

/// The value of a memo as a signal, for the many that show it.
///
/// A change of the job is sent on through all memos that depend on it to every effect behind them, once for each way that
/// leads there, so that it can ask whether its own value has changed. Behind this signal nobody is asked before it has.
/// The signal follows the memo in the same frame, but after it: what reads both may find them apart for a moment.
pub fn signal_on_change<T>(memo: Memo<T>) -> ReadSignal<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let (value, set_value) = signal(memo.get_untracked());
    Effect::new(move |_| {
        let now = memo.read();
        if *value.read_untracked() != *now {
            set_value.set(now.clone());
        }
    });
    value
}
