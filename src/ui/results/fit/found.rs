//! The changes with which the job on the page fits, looked for while its reader pauses.

use leptos::prelude::*;

use crate::browser;
use crate::parts::when_idle;
use crate::state::State;
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::{ChangeKind, Offer, OfferSearch};
use megatron_memory::report::offers::OfferRow;

/// The most characters of a change that a button in the headline names.
const MOST_NAMED: usize = 32;

/// The changes found for a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FoundChanges {
    /// The job that they change.
    job: RawJob,
    /// Those with which it fits, or, where it fits as it is, those that its free memory allows. The cheapest comes first.
    pub(super) offers: Vec<Offer>,
    /// Of those that are not enough, the one with the smallest peak.
    pub(super) closest: Option<Offer>,
    /// Whether the job fits as it is.
    pub(super) fits: bool,
    /// Whether all changes have been tried.
    pub(super) is_complete: bool,
}

impl FoundChanges {
    /// Looks for changes whenever the job has changed, its reader pauses, and they are wanted. The earlier ones stay until
    /// then.
    pub(crate) fn of_page(state: State, is_wanted: impl Fn() -> bool + Clone + 'static) -> RwSignal<Self> {
        let found = RwSignal::new(Self::default());
        when_idle(
            move || {
                state.outcome.track();
                state.standing.track();
            },
            move || {
                is_wanted().then(|| {
                    let job = state.setup.read_untracked().job.clone();
                    let standing = state.standing.get_untracked();
                    (standing.and_then(|now| OfferSearch::of_standing(&job, now).ok()), job)
                })
            },
            move |started: &mut Option<(Option<OfferSearch>, RawJob)>| {
                let Some((search, job)) = started else {
                    return true;
                };
                let done = search.as_mut().is_none_or(|search| search.advance(1));
                if done {
                    found.set(Self::of(search.as_ref(), core::mem::take(job)));
                }
                done
            },
        );
        found
    }

    fn of(search: Option<&OfferSearch>, job: RawJob) -> Self {
        Self {
            job,
            offers: search.map(OfferSearch::offers).unwrap_or_default(),
            closest: search.and_then(OfferSearch::closest).cloned(),
            fits: search.is_some_and(|search| search.now().has_room()),
            is_complete: true,
        }
    }

    /// The cheapest change of a job; `None` as long as its changes are looked for, and where none is enough.
    pub(crate) fn best(&self, job: &RawJob) -> Option<&Offer> {
        self.offers.first().filter(|_| self.job == *job)
    }

    /// Whether there may be a change that is enough.
    pub(crate) fn is_promising(&self) -> bool {
        !self.is_complete || !self.offers.is_empty()
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
