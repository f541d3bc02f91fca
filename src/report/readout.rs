//! The readout of a target: its data in one line, which the page shows while the target is pointed at, focused or
//! tapped.

use super::amount::{Scale, percent};
use super::charts::Subject;
use super::explain::find;
use super::grouping::{BucketGroup, Segment};
use super::headroom::Headroom;
use super::parts::by_component;
use super::summary::{Verdict, stage_name};
use super::table::layers;
use super::target::{Target, bucket_of};
use crate::memory::{StageEstimate, StageRef};

/// The data of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readout {
    /// The stage, and the line or bucket.
    pub name: String,
    /// The amount with its unit.
    pub amount: String,
    /// Further facts: the share of the stage, or the stage's layers and free memory.
    pub detail: String,
}

impl Readout {
    /// All of it in one line, such as `Stage 1 · Weights: 2.24 GiB, 3.5 % of the stage`.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{}: {}, {}", self.name, self.amount, self.detail)
    }
}

/// The data of a target; `None` where its path leads to nothing. Lines below buckets are those of the chosen stage.
#[must_use]
pub fn readout(subject: &Subject<'_>, target: &Target) -> Option<Readout> {
    let place = target.stage.unwrap_or(subject.stage);
    let stage = subject.estimate.modules.get(place.module)?.stages.get(place.pp_rank)?;
    if target.path.is_empty() {
        return Some(whole_stage(subject, place, stage));
    }
    let (label, bytes) = if target.path.contains('/') {
        let part = by_component(subject.lines)
            .into_iter()
            .find(|part| part.path == target.path);
        let line = || find(subject.lines, &target.path).map(|line| (line.label.clone(), line.bytes));
        part.map(|part| (part.label, part.bytes)).or_else(line)?
    } else {
        let group = || BucketGroup::by_id(&target.path).map(Segment::Group);
        let segment = bucket_of(&target.path).map(Segment::Bucket).or_else(group)?;
        let bytes = segment.bytes(|bucket| stage.bytes(bucket));
        (segment.label().to_owned(), bytes)
    };
    Some(Readout {
        name: format!("{} · {label}", capitalized(&stage_name(subject.config, place))),
        amount: Scale::fine(subject.unit).amount(bytes),
        detail: format!("{} of the stage", percent(bytes, stage.total)),
    })
}

fn whole_stage(subject: &Subject<'_>, place: StageRef, stage: &StageEstimate) -> Readout {
    let gpu = subject.config.reported_gpu_memory();
    let layers = layers(subject.config, place);
    let headroom = gpu.and_then(|gpu| {
        let device = (subject.standing).device_of(subject.config, place.module, stage.total, stage.graphs);
        let is_this_job = Verdict::of(subject.config, device) != Verdict::NotThisJob;
        is_this_job.then(|| Headroom::of(device, gpu).words(Scale::fine(subject.unit)))
    });
    let chunks = match stage.chunks.len() {
        1 => String::new(),
        n => format!(" in {n} chunks"),
    };
    let headroom = headroom.map_or_else(String::new, |words| format!(" · {words}"));
    let noun = if layers == "1" { "layer" } else { "layers" };
    Readout {
        name: capitalized(&stage_name(subject.config, place)),
        amount: Scale::fine(subject.unit).amount(stage.total),
        detail: format!("{layers} {noun}{chunks}{headroom}"),
    }
}

pub(super) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        [first.to_ascii_uppercase()].into_iter().chain(chars).collect()
    })
}
