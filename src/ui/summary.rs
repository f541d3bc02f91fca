//! The headline: the worst stage's memory against the GPU's, in words, an icon and a color.

use super::browser;
use super::draw::button;
use super::form::control_id;
use super::results::{View, headline_bar};
use super::shown::{Gesture, Piece, frame, shown};
use super::state::{Outcome, State};
use crate::config::problem::Severity;
use crate::memory::bucket::Bucket;
use crate::report::amount::{Scale, percent};
use crate::report::markup::{Markup, tag};
use crate::report::summary::{self as report, Verdict};
use crate::units::Bytes;
use leptos::prelude::*;

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
struct Headline {
    summary: report::Summary,
    place: String,
    memory: [Bytes; Bucket::COUNT],
}

impl Headline {
    fn of(state: State) -> Option<Self> {
        let outcome = state.outcome.read();
        let Outcome { config, estimate } = outcome.as_ref()?.as_ref();
        let summary = report::Summary::new(config, estimate);
        let place = report::worst_place(config, estimate);
        Some(Self {
            summary,
            place,
            memory: estimate.worst_rank.memory,
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
const MISSING: &str = "The most that PyTorch allocates at any moment of a step";

/// The headline as one sentence.
pub(super) fn sentence(state: State) -> String {
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
pub(super) fn summary(view: View) -> Piece {
    let state = view.state;
    let section = tag("section")
        .class("summary")
        .with("aria-label", "Memory of one GPU");
    // Everything that shows older numbers is dimmed.
    Effect::new(move |_| browser::mark_root("data-stale", state.stale.get().then_some("")));
    let figures = shown("summary-head", move || figures(state), |_| false);
    let notes = shown(
        "summary-foot",
        move || notes(state),
        move |gesture| {
            if let Gesture::Choose(_) = gesture {
                go_to_first(state);
            }
            false
        },
    );
    frame(section, vec![figures, headline_bar(view), notes])
}

/// Total, GPU and verdict.
fn figures(state: State) -> Vec<Markup> {
    let (headline, unit) = (Headline::of(state), state.unit.get());
    let scale = Scale::coarse(unit);
    let say = |what: fn(&Headline, Scale) -> String| {
        let headline = headline.as_ref();
        headline.map(|h| what(h, scale)).unwrap_or_default()
    };
    let verdict = headline
        .as_ref()
        .map_or(Verdict::Unknown, |h| h.summary.verdict);
    let number = tag("strong")
        .with("data-testid", "total")
        .text(say(|h, scale| scale.number(h.summary.total)));
    let total = tag("p")
        .class("total")
        .child(number)
        .child(tag("span").text(format!(" {}", unit.symbol())))
        .child(tag("span").class("of").text(say(Headline::gpu)));
    let sign = tag("svg")
        .with("viewBox", "0 0 16 16")
        .with("aria-hidden", "true")
        .child(tag("path").with("d", icon(verdict)));
    let words = tag("strong")
        .with("data-testid", "verdict")
        .text(verdict.words());
    let verdict_line = tag("p")
        .class("verdict")
        .child(sign)
        .child(words)
        .child(tag("span").class("headroom").text(say(Headline::headroom)));
    let figures = tag("div").class("summary-figures").child(total);
    let colored = tag("div")
        .with("data-verdict", verdict.id())
        .child(figures.child(verdict_line));
    vec![colored.children(headline.as_ref().map(meter))]
}

/// The buckets of the worst stage on one line, with the GPU's memory as its end or as a mark in it.
fn meter(headline: &Headline) -> Markup {
    let gpu = headline.summary.gpu;
    let full = headline.summary.total.max(gpu.unwrap_or_default()).0.max(1);
    // A thousandth is finer than any screen.
    let share = |part: u64| u128::from(part) * 1000 / u128::from(full);
    let mut meter = tag("svg")
        .class("meter")
        .with("viewBox", "0 0 1000 10")
        .with("preserveAspectRatio", "none")
        .with("aria-hidden", "true");
    let mut at = 0;
    for (bucket, bytes) in Bucket::ALL.iter().zip(headline.memory) {
        let from = share(at);
        at = at.saturating_add(bytes.0);
        if bytes > Bytes::ZERO {
            let to = share(at);
            let part = tag("polygon")
                .class(["meter-part bucket-", bucket.id()].concat())
                .with("points", format!("{from},0 {to},0 {to},10 {from},10"));
            meter = meter.child(part);
        }
    }
    let mark = gpu.map(|gpu| {
        let path = format!("M{} -4V14", share(gpu.0));
        tag("path").class("meter-mark").with("d", path)
    });
    meter.children(mark)
}

/// Where it is, what it leaves out, and what stands in the way of a result.
fn notes(state: State) -> Vec<Markup> {
    let (headline, checked) = (Headline::of(state), state.checked.get());
    let place = headline.as_ref().map(|h| h.place.clone());
    let scale = Scale::coarse(state.unit.get());
    let device = headline.as_ref().map(|h| h.summary.device_words(scale));
    let missing = device.map_or_else(String::new, |device| format!("{MISSING}; {device}."));
    let older = match headline {
        Some(_) => "The numbers are those of the last valid settings.",
        None => "There is no result yet.",
    };
    let said = match checked.errors().count() {
        1 => format!("1 problem. {older}"),
        n => format!("{n} problems. {older}"),
    };
    let old = state.stale.get();
    let trouble = tag("div")
        .class("trouble")
        .mark("hidden", !old)
        .child(tag("p").with("data-testid", "stale").text(said))
        .child(button("first", "link", "Go to the first"));
    let mut notes = vec![
        tag("p").class("where").text(place.unwrap_or_default()),
        tag("p").class("missing").text(missing),
        trouble,
    ];
    // Warnings about keys that no field has have no field to stand beside.
    for problem in &checked.problems {
        if problem.severity == Severity::Warning && problem.fields.is_empty() {
            let text = problem.message.clone();
            notes.push(tag("p").class("homeless").text(text));
        }
    }
    notes
}

/// Opens and enters the first field that stands in the way.
fn go_to_first(state: State) {
    let checked = untrack(|| state.checked.get());
    let mut errors = checked.errors();
    let first = errors.find_map(|p| Some((p.module, p.fields.first().copied()?)));
    if let Some((module, id)) = first {
        state.edit_module(module);
        state.reveal(id);
        browser::focus(control_id(id.field()));
    }
}
