//! All pipeline stages, and what the reader points at in one line.

use super::super::shown::{Gesture, Piece, shown};
use super::panel::{head, panel};
use super::picture::{Purpose, picture, when_lit};
use super::view::View;
use crate::memory::bucket::Bucket;
use crate::report::charts::stage_bars;
use crate::report::markup::{Markup, tag};
use crate::report::readout::readout;
use crate::report::scene::{Class, Px, Scene};
use crate::report::target::Target;
use crate::units::Bytes;
use leptos::prelude::*;

/// The chart of all stages with its line of data and its legend.
pub(in super::super) fn stages(view: View) -> Piece {
    let inside = vec![
        head(
            "stages-title",
            "Pipeline stages",
            "memory of one GPU of each stage",
        ),
        picture(view, "stages", bars, Purpose::Choice),
        shown("readout", move || line(&view), |_| false),
        shown(
            "legend",
            move || legend(&view),
            move |gesture| point(&view, gesture),
        ),
    ];
    panel("panel stages", "stages-title", inside)
}

fn bars(view: &View, width: Px) -> Option<Scene> {
    view.with(width, stage_bars::CHART.draw)
}

/// What is lit, or else the shown stage.
fn line(view: &View) -> Vec<Markup> {
    let lit = view.lit.get();
    let line = match &lit {
        Some(lit) => view.with_lines(Px::ZERO, |subject| readout(subject, lit)),
        None => view.with(Px::ZERO, |subject| {
            readout(subject, &Target::stage(subject.stage))
        }),
    };
    let Some(line) = line.flatten() else {
        return Vec::new();
    };
    vec![
        tag("span").text(line.name),
        tag("strong").text(line.amount),
        tag("span").class("readout-detail").text(line.detail),
    ]
}

/// The buckets that some stage has, with their colors.
fn legend(view: &View) -> Vec<Markup> {
    let lit = view.lit.read();
    let items = buckets(view).into_iter().enumerate().map(|(i, bucket)| {
        let hatched = if Class::Bucket(bucket).textured() {
            " hatched"
        } else {
            ""
        };
        tag("li")
            .class(when_lit(lit.as_ref(), Some(&Target::bucket(bucket))).trim_start())
            .with("data-at", i.to_string())
            .child(tag("span").class(format!("swatch bucket-{}{hatched}", bucket.id())))
            .child(tag("span").text(bucket.label()))
    });
    vec![tag("ul").with("aria-label", "Buckets").children(items)]
}

fn point(view: &View, gesture: Gesture<'_>) -> bool {
    match gesture {
        Gesture::Point(place) | Gesture::Choose(place) => {
            let bucket = place
                .parse()
                .ok()
                .and_then(|i: usize| buckets(view).get(i).copied());
            view.lit.set(bucket.map(Target::bucket));
            return true;
        }
        Gesture::Leave => view.lit.set(None),
        _ => {}
    }
    false
}

fn buckets(view: &View) -> Vec<Bucket> {
    let outcome = view.state.outcome.read();
    let stages = || {
        outcome
            .iter()
            .flat_map(|o| &o.estimate.modules)
            .flat_map(|m| &m.stages)
    };
    let held = |bucket: &Bucket| stages().any(|stage| stage.bytes(*bucket) > Bytes::ZERO);
    Bucket::ALL.into_iter().filter(held).collect()
}
