//! The longest sequence, the largest micro batch and the fewest GPUs with which the job fits. A click applies each.

use leptos::prelude::*;

use crate::parts::{ActionButton, when_idle};
use crate::state::{LargestSize, LimitSize, State};

/// Works out a size of the job on the page whenever its reader pauses. Shows nothing.
#[component]
pub(crate) fn LargestSizeSearch(
    size: LimitSize,
    /// Takes what is found.
    known: RwSignal<LargestSize>,
) -> impl IntoView {
    let state = expect_context::<State>();
    when_idle(
        move || state.outcome.track(),
        || (),
        move |()| {
            known.set(size.of(&state.setup.read_untracked().job));
            true
        },
    );
}

/// The sizes, a chip each. While they are worked out anew, the chips stay and are dimmed.
#[component]
pub(super) fn Limits() -> impl IntoView {
    let state = expect_context::<State>();
    let known = LimitSize::ALL.map(|_| RwSignal::new(LargestSize::default()));
    let is_current = RwSignal::new(false);
    Effect::new(move |_| {
        state.outcome.track();
        is_current.set(false);
    });
    when_idle(
        move || state.outcome.track(),
        move || 0_usize,
        move |next| {
            let job = &state.setup.read_untracked().job;
            if let (Some(size), Some(known)) = (LimitSize::ALL.get(*next), known.get(*next)) {
                let found = size.of(job);
                if *known.read_untracked() != found {
                    known.set(found);
                }
            }
            *next += 1;
            let done = *next >= LimitSize::ALL.len();
            if done {
                is_current.set(true);
            }
            done
        },
    );
    let chips = LimitSize::ALL.into_iter().zip(known);
    let chips = chips.map(|(size, known)| view! { <LimitChip size known /> });
    view! {
        <ul class="limits" class:waiting=move || !is_current.get() data-testid="limits">
            {chips.collect_view()}
        </ul>
    }
}

/// A size with its button.
#[component]
fn LimitChip(size: LimitSize, known: RwSignal<LargestSize>) -> impl IntoView {
    let state = expect_context::<State>();
    let value = move || known.read().words(size);
    let current = Memo::new(move |_| {
        let setup = state.setup.read();
        let LargestSize::Fits(limit) = &*known.read() else {
            return false;
        };
        let now = setup.job.number(limit.module, size.field());
        now == Some(limit.value)
    });
    let reason = move || match &*known.read() {
        LargestSize::Fits(_) => "",
        LargestSize::Nothing => "Still being worked out",
        LargestSize::NoneFits => "No value fits with the other settings as they are",
    };
    let apply = move || {
        let LargestSize::Fits(limit) = known.get_untracked() else {
            return;
        };
        let mut setup = state.setup.get_untracked();
        limit.apply(&mut setup.job);
        let said = format!("{}: {}.", size.label(&setup.job), size.words(limit.value));
        state.jump(setup);
        state.toasts.offer_undo(said);
    };
    view! {
        <li>
            <ActionButton
                attr:class="limit"
                attr:data-testid=size.test_id()
                attr:aria-pressed=move || current.get().to_string()
                blocked=move || !matches!(&*known.read(), LargestSize::Fits(_))
                reason
                on_press=apply
            >
                <span>{move || size.label(&state.setup.read().job)}</span>
                <strong>{value}</strong>
            </ActionButton>
        </li>
    }
}
