//! The headline: the worst stage's memory against the GPU's, in words, an icon and a color.

use leptos::prelude::*;

use super::amount::{Unit, percent, thousandths};
use super::browser;
use super::form::control_id;
use super::state::{State, state};
use crate::config::field::Field;
use crate::config::problem::{Problem, Severity};
use crate::memory::StageRef;
use crate::memory::bucket::Bucket;
use crate::units::Bytes;

/// Above this part of the GPU's memory, in percent, a job is called tight: the allocator's fragments
/// and the libraries' own buffers are not in the total.
const TIGHT: u64 = 80;

/// Whether a job fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fits,
    Tight,
    Over,
    /// No GPU was chosen.
    Open,
}

impl Verdict {
    fn of(total: Bytes, capacity: Option<Bytes>) -> Self {
        match capacity {
            None => Self::Open,
            Some(capacity) if total > capacity => Self::Over,
            Some(capacity) if thousandths(total.0, capacity.0) > TIGHT * 10 => Self::Tight,
            Some(_) => Self::Fits,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Fits => "Fits",
            Self::Tight => "Tight",
            Self::Over => "Does not fit",
            Self::Open => "No GPU chosen",
        }
    }

    const fn id(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Tight => "tight",
            Self::Over => "over",
            Self::Open => "open",
        }
    }

    const fn icon(self) -> &'static str {
        match self {
            Self::Fits => "M3 8.5l3.5 3.5L13 4.5",
            Self::Tight => "M8 3v6M8 12v1",
            Self::Over => "M4 4l8 8M12 4l-8 8",
            Self::Open => "M4 8h8",
        }
    }
}

/// All that the headline says.
#[derive(Clone, Debug, PartialEq)]
struct Headline {
    total: Bytes,
    capacity: Option<Bytes>,
    verdict: Verdict,
    worst: StageRef,
    stages: usize,
    module: Option<String>,
    memory: [Bytes; Bucket::COUNT],
}

impl Headline {
    fn of(state: State) -> Option<Self> {
        let outcome = state.outcome.read();
        let outcome = outcome.as_ref()?;
        let (estimate, capacity) = (&outcome.estimate, state.capacity.get());
        let heaviest = estimate.worst_stage()?;
        let modules = outcome.config.modules();
        Some(Self {
            total: heaviest.total,
            capacity,
            verdict: Verdict::of(heaviest.total, capacity),
            worst: estimate.worst,
            stages: estimate.modules.get(estimate.worst.module)?.stages.len(),
            module: (modules.len() > 1)
                .then(|| {
                    modules
                        .get(estimate.worst.module)
                        .map(|m| m.name().to_owned())
                })
                .flatten(),
            memory: heaviest.memory,
        })
    }

    fn place(&self) -> String {
        let module = self.module.as_ref().map(|name| format!("{name}, "));
        let module = module.unwrap_or_default();
        match self.stages {
            1 => format!("{module}on every GPU: there is one stage"),
            stages => format!(
                "{module}on the GPUs of the worst stage, rank {} of {stages}",
                self.worst.pp_rank
            ),
        }
    }

    fn headroom(&self, unit: Unit) -> String {
        let Some(capacity) = self.capacity else {
            return String::from("choose one under Hardware");
        };
        let share = |part: Bytes| percent(part.0, capacity.0);
        if self.total > capacity {
            let over = self.total.saturating_sub(capacity);
            format!("{} too much, {} %", unit.show(over), share(over))
        } else {
            let free = capacity.saturating_sub(self.total);
            format!("{} free, {} %", unit.show(free), share(free))
        }
    }
}

/// What the total leaves out; nothing once everything is in it.
#[allow(
    clippy::unnecessary_wraps,
    reason = "nothing is missing once activations are counted"
)]
const fn missing() -> Option<&'static str> {
    Some("Weights, gradients and optimizer states only: activations are not in the total yet.")
}

/// The headline as one sentence.
pub(super) fn sentence(state: State) -> String {
    let Some(headline) = Headline::of(state) else {
        return String::new();
    };
    let unit = state.unit.get();
    format!(
        "{}. {} {}. {}.",
        headline.verdict.words(),
        unit.show(headline.total),
        headline.place(),
        headline.headroom(unit)
    )
}

/// The headline.
#[component]
pub fn Summary() -> impl IntoView {
    let state = state();
    let unit = state.unit;
    let headline = Memo::new(move |_| Headline::of(state));
    let say = move |what: fn(&Headline, Unit) -> String| {
        move || headline.read().as_ref().map(|h| what(h, unit.get()))
    };
    let verdict = Memo::new(move |_| {
        headline
            .read()
            .as_ref()
            .map_or(Verdict::Open, |h| h.verdict)
    });
    view! {
        <section
            class="summary"
            class:stale=state.stale
            data-verdict=move || verdict.get().id()
            aria-label="Memory of one GPU"
        >
            <div class="summary-figures">
                <p class="total">
                    <strong data-testid="total">{say(|h, unit| unit.number(h.total))}</strong>
                    " "
                    {move || unit.get().name()}
                    <span class="of">
                        {say(|h, unit| h.capacity.map_or_else(String::new, |c| format!(" of {}", unit.show(c))))}
                    </span>
                </p>
                <p class="verdict">
                    <svg viewBox="0 0 16 16" aria-hidden="true">
                        <path d=move || verdict.get().icon() />
                    </svg>
                    <strong data-testid="verdict">{move || verdict.get().words()}</strong>
                    <span class="headroom">{say(Headline::headroom)}</span>
                </p>
            </div>
            <Meter headline />
            <p class="where">{say(|h, _| h.place())}</p>
            <p class="missing">{missing()}</p>
            <Trouble />
        </section>
    }
}

/// The buckets of the worst stage on one line, with the GPU's memory as its end or as a mark in it.
#[component]
fn Meter(headline: Memo<Option<Headline>>) -> impl IntoView {
    let full = Memo::new(move |_| {
        let headline = headline.read();
        headline
            .as_ref()
            .map_or(0, |h| h.total.max(h.capacity.unwrap_or_default()).0)
    });
    let width = move |part: u64| {
        let share = thousandths(part, full.get());
        format!("{}.{}%", share / 10, share % 10)
    };
    let segment = move |bucket: Bucket| {
        let bytes = Memo::new(move |_| {
            let headline = headline.read();
            let memory = headline.as_ref().map(|h| h.memory);
            memory
                .and_then(|m| m.get(bucket as usize).copied())
                .unwrap_or_default()
        });
        view! {
            <span
                class=format!("meter-part bucket-{}", bucket.id())
                style:width=move || width(bytes.get().0)
                hidden=move || bytes.get() == Bytes::ZERO
            ></span>
        }
    };
    let mark = move || {
        let headline = headline.read();
        headline
            .as_ref()
            .and_then(|h| h.capacity)
            .map(|capacity| width(capacity.0))
    };
    view! {
        <div class="meter" aria-hidden="true">
            {Bucket::ALL.map(segment).collect_view()}
            <span class="meter-mark" hidden=move || mark().is_none() style:left=mark></span>
        </div>
    }
}

/// What stands in the way of a result, and the way to its fields.
#[component]
fn Trouble() -> impl IntoView {
    let state = state();
    let checked = state.checked;
    let first = move || {
        let checked = checked.read();
        checked.errors().find_map(|p| p.fields.first().copied())
    };
    let go = move |_| {
        if let Some(id) = first() {
            let field: &Field = id.field();
            state.disclosure.update(|d| d.reveal(field));
            browser::focus(control_id(field));
        }
    };
    let stale = move || {
        let older = if state.outcome.read().is_some() {
            "The numbers are those of the last valid settings."
        } else {
            "There is no result yet."
        };
        match checked.read().errors().count() {
            1 => format!("1 problem. {older}"),
            n => format!("{n} problems. {older}"),
        }
    };
    // Warnings about keys that no field has have no field to stand beside.
    let homeless = move || {
        let checked = checked.read();
        let homeless = |p: &&Problem| p.severity == Severity::Warning && p.fields.is_empty();
        let texts = checked
            .problems
            .iter()
            .filter(homeless)
            .map(|p| p.message.clone());
        texts
            .map(|text| view! { <p class="homeless">{text}</p> })
            .collect_view()
    };
    view! {
        <div class="trouble" hidden=move || !state.stale.get()>
            <p data-testid="stale">{stale}</p>
            <button type="button" class="link" on:click=go>"Go to the first"</button>
        </div>
        {homeless}
    }
}
