//! The options of `estimate`.

use serde::Deserialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::JsValue;

use crate::api::arguments;
use crate::value::Value;

/// The most points that all timelines of one result may have together. More would fill the page's memory.
const MOST_POINTS: u64 = 1 << 16;
/// The most points of a timeline for `timeline: true`.
const POINTS: u64 = 4096;

/// Further results of `estimate`, besides the memory of every stage. These keys may also stand in the job; an option wins over the
/// job's key.
#[derive(Clone, Copy, Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct EstimateOptions {
    /// The global rank whose memory is reported, counted from 0.
    pub(super) rank: Option<u64>,
    /// Whether stages have timelines: `true` for timelines of at most 4096 points, a number for another limit.
    timeline: Option<Timelines>,
    /// Whether to report what each way of recomputing would save: on the first stage of `rank`, or without a rank on the
    /// stage with the largest peak.
    pub(super) ledger: Option<bool>,
}

/// Whether stages have timelines, or the most points of each.
#[derive(Clone, Copy, Debug, Deserialize, Tsify)]
#[serde(untagged)]
pub enum Timelines {
    /// Whether there are timelines at all.
    Wanted(bool),
    /// The most points of each timeline.
    Points(u64),
}

impl EstimateOptions {
    /// Reads the options. An option that is not given is read from the job.
    pub(super) fn of(options: Option<Ts<Self>>, job: &JsValue) -> Result<Self, JsValue> {
        let options = arguments::options(options)?;
        let own: Self = if job.is_object() {
            arguments::read(job.clone())?
        } else {
            Self::default()
        };
        Ok(Self {
            rank: options.rank.or(own.rank),
            timeline: options.timeline.or(own.timeline),
            ledger: options.ledger.or(own.ledger),
        })
    }

    /// The most points of each timeline where `stages` stages have one; 0 where no timelines are wanted.
    pub(super) fn points_each(&self, stages: usize) -> u32 {
        let wanted = match self.timeline {
            None | Some(Timelines::Wanted(false)) => 0,
            Some(Timelines::Wanted(true)) => POINTS,
            Some(Timelines::Points(points)) => points,
        };
        let stages = u64::try_from(stages).unwrap_or(u64::MAX);
        let most = MOST_POINTS.checked_div(stages).unwrap_or_default().max(1);
        u32::try_from(wanted.min(most)).unwrap_or(u32::MAX)
    }
}

/// The job without the keys that are options of `estimate`.
pub(super) fn without(mut job: Value) -> Value {
    if let Value::Map(entries) = &mut job {
        entries.retain(|(key, _)| !matches!(key.as_str(), "rank" | "timeline" | "ledger"));
    }
    job
}
