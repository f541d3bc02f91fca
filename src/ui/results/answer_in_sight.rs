//! What takes a worker some time to find out about the job, for a place that is in sight.

use leptos::html::Div;
use leptos::prelude::*;
use leptos_use_intersection_observer::use_intersection_observer;

use crate::parts::when_idle;
use crate::state::{State, WorkerQueue};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::ShareState;
use search_worker::{Answer, Request};

/// What a worker has answered about the job as it is; `None` before it has, and where that is its answer. It is asked
/// once the reader pauses with the place in sight. Answers about what was there before are dropped.
///
/// `track` reads what the request depends on besides the job, and `request` makes it of the job's link.
pub(super) fn answer_in_sight<T: Send + Sync + 'static>(
    place: NodeRef<Div>,
    track: impl Fn() + Copy + 'static,
    request: impl Fn(String) -> Option<Request> + Copy + 'static,
    read: fn(Answer) -> Option<T>,
) -> RwSignal<Option<T>> {
    let page = expect_context::<State>();
    let worker = WorkerQueue::new();
    let answered = RwSignal::new(None::<T>);
    // How often there was something else to ask about, and at which of these times the worker was asked.
    let (version, asked) = (StoredValue::new(0_u64), StoredValue::new(0_u64));
    Effect::new(move |_| {
        page.outcome.track();
        track();
        version.update_value(|version| *version += 1);
        if answered.read_untracked().is_some() {
            answered.set(None);
        }
    });
    let is_in_sight = RwSignal::new(false);
    use_intersection_observer(place, move |entries, _| {
        if let Some(last) = entries.last() {
            let now = last.is_intersecting();
            is_in_sight.maybe_update(|before| core::mem::replace(before, now) != now);
        }
    });
    let ask = move || {
        let now = version.get_value();
        // Settings that cannot run have no outcome of their own.
        if !is_in_sight.get() || page.stale.get() || asked.get_value() == now {
            return;
        }
        let link = share_url::encode(&ShareState {
            setup: page.setup.get(),
            ..ShareState::default()
        });
        let Some(request) = request(link) else { return };
        asked.set_value(now);
        worker.ask(request, move |answer| {
            if version.try_get_value() == Some(now) {
                answered.set(answer.and_then(read));
            }
        });
    };
    when_idle(
        move || {
            page.outcome.track();
            track();
            is_in_sight.track();
        },
        || (),
        move |()| {
            ask();
            true
        },
    );
    answered
}
