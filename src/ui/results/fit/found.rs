//! The changes with which the job on the page fits, looked for while its reader pauses.

use leptos::prelude::*;

use crate::browser;
use crate::parts::when_idle;
use crate::state::{FoundChanges, State};
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::{ChangeKind, Offer, OfferSearch};
use megatron_memory::report::offers::OfferRow;

/// The most characters of a change that a button in the headline names.
const MOST_NAMED: usize = 32;

/// Looks for changes whenever the job has changed and its reader pauses. Shows nothing.
#[component]
pub(crate) fn ChangeSearch(
    /// Takes what is found; the earlier changes stay until then.
    found: RwSignal<FoundChanges>,
) -> impl IntoView {
    let state = expect_context::<State>();
    when_idle(
        move || {
            state.outcome.track();
            state.standing.track();
        },
        move || {
            let job = state.setup.read_untracked().job.clone();
            let standing = state.standing.get_untracked();
            (standing.and_then(|now| OfferSearch::of_standing(&job, now).ok()), job)
        },
        move |(search, job): &mut (Option<OfferSearch>, RawJob)| {
            let done = search.as_mut().is_none_or(|search| search.advance(1));
            if done {
                found.set(changes(search.as_ref(), core::mem::take(job)));
            }
            done
        },
    );
}

/// The changes that a search has found; none where the job cannot be searched.
fn changes(search: Option<&OfferSearch>, job: RawJob) -> FoundChanges {
    FoundChanges {
        job,
        offers: search.map(OfferSearch::offers).unwrap_or_default(),
        closest: search.and_then(OfferSearch::closest).cloned(),
        fits: search.is_some_and(|search| search.now().has_room()),
        is_complete: true,
    }
}

/// What the button of a change says in the headline, such as `Use recompute` or `Use TP 8`.
pub(crate) fn call_to_use(offer: &Offer) -> String {
    let label = offer.label();
    match offer.changes.as_slice() {
        [change] if change.kind == ChangeKind::Recompute => String::from("Use recompute"),
        [change] if change.kind == ChangeKind::Offload => String::from("Offload activations"),
        _ if label.chars().count() <= MOST_NAMED => format!("Use {label}"),
        [_] => String::from("Use the smallest change"),
        _ => String::from("Use two changes"),
    }
}

/// Makes a change the job's, which can be undone, and moves the focus to the element with an id: the button goes away
/// with the list that it stands in.
pub(crate) fn apply(state: State, row: &OfferRow, focus: &'static str) {
    let mut setup = state.setup.get_untracked();
    row.change.apply(&mut setup.job);
    state.jump(setup);
    let said = format!("{}: {} allocated. {}.", row.name, row.peak, row.cost);
    state.toasts.offer_undo(said);
    browser::focus(focus);
}
