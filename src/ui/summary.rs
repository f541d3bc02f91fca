//! The headline: the worst stage's memory against the GPU's, in words, an icon and a color.

use leptos::prelude::*;

use super::browser;
use super::form::control_id;
use super::parts::{block, button, memo, text, yes};
use super::results::HeadlineBar;
use super::state::{Outcome, State, state};
use crate::config::field::Field;
use crate::config::problem::{Problem, Severity};
use crate::memory::bucket::Bucket;
use crate::report::amount::{Scale, percent};
use crate::report::summary::{self as report, Verdict};
use crate::units::Bytes;

/// The outline of a verdict's icon.
const fn icon(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "M3 8.5l3.5 3.5L13 4.5",
        Verdict::Tight => "M8 3v6M8 12v1",
        Verdict::DoesNotFit => "M4 4l8 8M12 4l-8 8",
        Verdict::Unknown => "M4 8h8",
    }
}

/// All that the headline says.
#[derive(Clone, Debug, PartialEq)]
struct Headline {
    summary: report::Summary,
    place: String,
    memory: [Bytes; Bucket::COUNT],
}

impl Headline {
    fn of(state: &'static State) -> Option<Self> {
        let outcome = state.outcome.read();
        let Outcome { config, estimate } = outcome.as_ref()?.as_ref();
        let summary = report::Summary::new(config, estimate);
        let stages = estimate.modules.iter().map(|m| m.stages.len()).sum();
        let place = match stages {
            1 => String::from("on every GPU: all layers are one stage"),
            _ => format!(
                "on each GPU of the heaviest of {stages} stages, {}",
                report::stage_name(config, summary.worst)
            ),
        };
        Some(Self {
            summary,
            place,
            memory: estimate.worst_stage()?.memory,
        })
    }

    fn headroom(&self, scale: Scale) -> String {
        let (Some(gpu), Some(difference)) = (self.summary.gpu, self.summary.difference()) else {
            return String::from("choose one under Hardware");
        };
        let what = match self.summary.verdict {
            Verdict::DoesNotFit => "too much",
            _ => "free",
        };
        format!(
            "{} {what}, {}",
            scale.amount(difference),
            percent(difference, gpu)
        )
    }

    fn gpu(&self, scale: Scale) -> String {
        let gpu = self
            .summary
            .gpu
            .map(|gpu| format!(" of {}", scale.amount(gpu)));
        gpu.unwrap_or_default()
    }
}

/// What the total leaves out.
const MISSING: &str = "The most that PyTorch allocates at any moment of a step. Not in it: the CUDA context, \
    NCCL's buffers, and the allocator's gaps.";

/// The headline as one sentence.
pub(super) fn sentence(state: &'static State) -> String {
    let Some(headline) = Headline::of(state) else {
        return String::new();
    };
    let scale = Scale::coarse(state.unit.get());
    format!(
        "{}. {} {}. {}.",
        headline.summary.verdict.words(),
        scale.amount(headline.summary.total),
        headline.place,
        headline.headroom(scale)
    )
}

/// The headline.
#[component]
pub fn Summary() -> impl IntoView {
    let state = state();
    let unit = state.unit;
    let headline = memo(move || Headline::of(state));
    let say = move |what: fn(&Headline, Scale) -> String| {
        text(move || {
            let headline = headline.read();
            let said = headline
                .as_ref()
                .map(|h| what(h, Scale::coarse(unit.get())));
            said.unwrap_or_default()
        })
    };
    let verdict = memo(move || {
        let headline = headline.read();
        headline
            .as_ref()
            .map_or(Verdict::Unknown, |h| h.summary.verdict)
    });
    view! {
        <section
            class="summary"
            class:stale=yes(move || state.stale.get())
            data-verdict=text(move || verdict.get().id().to_owned())
            aria-label="Memory of one GPU"
        >
            <div class="summary-figures">
                <p class="total">
                    <strong data-testid="total">{say(|h, scale| scale.number(h.summary.total))}</strong>
                    " "
                    {text(move || unit.get().symbol().to_owned())}
                    <span class="of">
                        {say(Headline::gpu)}</span>
                </p>
                <p class="verdict">
                    <svg viewBox="0 0 16 16" aria-hidden="true">
                        <path d=text(move || icon(verdict.get()).to_owned()) />
                    </svg>
                    <strong data-testid="verdict">{text(move || verdict.get().words().to_owned())}</strong>
                    <span class="headroom">{say(Headline::headroom)}</span>
                </p>
            </div>
            <Meter headline />
            <HeadlineBar />
            <p class="where">{say(|h, _| h.place.clone())}</p>
            <p class="missing">{MISSING}</p>
            <Trouble />
        </section>
    }
}

/// The buckets of the worst stage on one line, with the GPU's memory as its end or as a mark in it.
#[component]
fn Meter(headline: Memo<Option<Headline>>) -> impl IntoView {
    let full = memo(move || {
        let headline = headline.read();
        headline.as_ref().map_or(0, |h| {
            h.summary.total.max(h.summary.gpu.unwrap_or_default()).0
        })
    });
    let width = move |part: u64| {
        // A CSS length of four digits is finer than any screen.
        let share = u128::from(part) * 1000 / u128::from(full.get().max(1));
        format!("{}.{}%", share / 10, share % 10)
    };
    let segment = move |bucket: Bucket| {
        let bytes = memo(move || {
            let headline = headline.read();
            let memory = headline.as_ref().map(|h| h.memory);
            memory
                .and_then(|m| m.get(bucket as usize).copied())
                .unwrap_or_default()
        });
        view! {
            <span
                class=format!("meter-part bucket-{}", bucket.id())
                style:width=text(move || width(bytes.get().0))
                hidden=yes(move || bytes.get() == Bytes::ZERO)
            ></span>
        }
    };
    let mark = move || {
        let headline = headline.read();
        headline
            .as_ref()
            .and_then(|h| h.summary.gpu)
            .map(|capacity| width(capacity.0))
    };
    view! {
        <div class="meter" aria-hidden="true">
            {Bucket::ALL.map(segment).collect_view()}
            <span class="meter-mark" hidden=yes(move || mark().is_none()) style:left=text(move || mark().unwrap_or_default())></span>
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
    let go = move || {
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
            .into_any()
    };
    view! {
        <div class="trouble" hidden=yes(move || !state.stale.get())>
            <p data-testid="stale">{text(stale)}</p>
            {button("link", "Go to the first", yes(|| false), go)}
        </div>
        {block(homeless)}
    }
}
