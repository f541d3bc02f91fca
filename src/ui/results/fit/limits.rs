//! The longest sequence, the largest micro batch and the fewest GPUs with which the job fits. A click applies each.

use leptos::prelude::*;

use crate::parts::{ActionButton, when_idle};
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::{Limit, fewest_gpus, largest_micro_batch, longest_sequence, longest_sequence_is_of_samples};
use megatron_memory::report::amount::grouped;

/// A size whose largest value that fits can be found, or, of the number of GPUs, the smallest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitSize {
    /// The name of the size for most jobs.
    label: &'static str,
    /// What the number counts, in words that follow it: one of them, and several.
    unit: [&'static str; 2],
    field: FieldId,
    find: fn(&RawJob) -> Option<Limit>,
    test_id: &'static str,
}

/// Each is about a field of its own.
impl PartialEq for LimitSize {
    fn eq(&self, other: &Self) -> bool {
        self.field == other.field
    }
}

impl LimitSize {
    /// The size that is the largest value of a field; `None` for a field without one, and for the number of GPUs.
    pub(crate) fn of_field(field: FieldId) -> Option<Self> {
        let mut sizes = SIZES.into_iter();
        sizes.find(|size| size.field == field && field != FieldId::world_size)
    }

    /// Works it out for a job.
    pub(crate) fn of(self, job: &RawJob) -> LargestSize {
        (self.find)(job).map_or(LargestSize::NoneFits, LargestSize::Fits)
    }

    /// The name of the size for a job.
    pub(crate) fn label(self, job: &RawJob) -> &'static str {
        if self.field == FieldId::seq_length && longest_sequence_is_of_samples(job) {
            "Longest sample"
        } else {
            self.label
        }
    }

    /// A value with its unit.
    pub(crate) fn words(self, value: u64) -> String {
        let [one, several] = self.unit;
        format!("{} {}", grouped(value), if value == 1 { one } else { several })
    }
}

const SIZES: [LimitSize; 3] = [
    LimitSize {
        label: "Longest sequence",
        unit: ["token", "tokens"],
        field: FieldId::seq_length,
        find: longest_sequence,
        test_id: "longest-sequence",
    },
    LimitSize {
        label: "Largest micro batch",
        unit: ["sample", "samples"],
        field: FieldId::micro_batch_size,
        find: largest_micro_batch,
        test_id: "largest-micro-batch",
    },
    LimitSize {
        label: "Fits safely from",
        unit: ["GPU", "GPUs"],
        field: FieldId::world_size,
        find: fewest_gpus,
        test_id: "fewest-gpus",
    },
];

/// What is known of a size.
#[derive(Clone, Default, PartialEq)]
pub(crate) enum LargestSize {
    /// It has not been worked out yet.
    #[default]
    Nothing,
    /// No value fits.
    NoneFits,
    /// This value fits.
    Fits(Limit),
}

impl LargestSize {
    /// The answer so far, in words.
    pub(crate) fn words(&self, size: LimitSize) -> String {
        match self {
            Self::Nothing => String::from("…"),
            Self::NoneFits => String::from("none fits"),
            Self::Fits(limit) => size.words(limit.value),
        }
    }
}

/// The sizes, a chip each. While they are worked out anew, the chips stay and are dimmed.
#[component]
pub(super) fn Limits() -> impl IntoView {
    let state = expect_context::<State>();
    let known = SIZES.map(|_| RwSignal::new(LargestSize::default()));
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
            if let (Some(size), Some(known)) = (SIZES.get(*next), known.get(*next)) {
                let found = size.of(job);
                if *known.read_untracked() != found {
                    known.set(found);
                }
            }
            *next += 1;
            let done = *next >= SIZES.len();
            if done {
                is_current.set(true);
            }
            done
        },
    );
    let chips = SIZES.into_iter().zip(known);
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
        let now = setup.job.number(limit.module, size.field);
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
                attr:data-testid=size.test_id
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
