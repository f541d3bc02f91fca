//! The longest sequence, the largest micro batch and the fewest GPUs with which the job fits. A click applies each.

use leptos::prelude::*;

use crate::parts::{ActionButton, when_idle};
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::fit::{Limit, fewest_gpus, largest_micro_batch, longest_sequence};
use megatron_memory::report::amount::grouped;

/// One of the sizes.
#[derive(Clone, Copy)]
struct Size {
    label: &'static str,
    /// What the number counts, in words that follow it: one of them, and several.
    unit: [&'static str; 2],
    field: FieldId,
    find: fn(&RawJob) -> Option<Limit>,
    test_id: &'static str,
}

impl Size {
    /// Works it out for a job.
    fn of(self, job: &RawJob) -> Known {
        (self.find)(job).map_or(Known::NoneFits, Known::Fits)
    }

    /// A value with its unit.
    fn words(self, value: u64) -> String {
        let [one, several] = self.unit;
        format!("{} {}", grouped(value), if value == 1 { one } else { several })
    }
}

const SIZES: [Size; 3] = [
    Size {
        label: "Longest sequence",
        unit: ["token", "tokens"],
        field: FieldId::seq_length,
        find: longest_sequence,
        test_id: "longest-sequence",
    },
    Size {
        label: "Largest micro batch",
        unit: ["sample", "samples"],
        field: FieldId::micro_batch_size,
        find: largest_micro_batch,
        test_id: "largest-micro-batch",
    },
    Size {
        label: "Fits safely from",
        unit: ["GPU", "GPUs"],
        field: FieldId::world_size,
        find: fewest_gpus,
        test_id: "fewest-gpus",
    },
];

/// What is known of a size.
#[derive(Clone, Default, PartialEq)]
enum Known {
    /// It has not been worked out yet.
    #[default]
    Nothing,
    /// No value fits.
    NoneFits,
    /// This value fits.
    Fits(Limit),
}

/// The sizes, a chip each. While they are worked out anew, the chips stay and are dimmed.
#[component]
pub(super) fn Limits() -> impl IntoView {
    let state = expect_context::<State>();
    let known = SIZES.map(|_| RwSignal::new(Known::default()));
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
fn LimitChip(size: Size, known: RwSignal<Known>) -> impl IntoView {
    let state = expect_context::<State>();
    let value = move || match &*known.read() {
        Known::Nothing => String::from("…"),
        Known::NoneFits => String::from("none fits"),
        Known::Fits(limit) => size.words(limit.value),
    };
    let current = Memo::new(move |_| {
        let setup = state.setup.read();
        let Known::Fits(limit) = &*known.read() else {
            return false;
        };
        let now = setup.job.number(limit.module, size.field);
        now == Some(limit.value)
    });
    let reason = move || match &*known.read() {
        Known::Fits(_) => "",
        Known::Nothing => "Still being worked out",
        Known::NoneFits => "No value fits beside the other settings",
    };
    let apply = move || {
        let Known::Fits(limit) = known.get_untracked() else {
            return;
        };
        let mut setup = state.setup.get_untracked();
        limit.apply(&mut setup.job);
        state.jump(setup);
        let said = format!("{}: {}.", size.label, size.words(limit.value));
        state.toasts.offer_undo(said);
    };
    view! {
        <li>
            <ActionButton
                attr:class="limit"
                attr:data-testid=size.test_id
                attr:aria-pressed=move || current.get().to_string()
                blocked=move || !matches!(&*known.read(), Known::Fits(_))
                reason
                on_press=apply
            >
                <span>{size.label}</span>
                <strong>{value}</strong>
            </ActionButton>
        </li>
    }
}
