//! What `estimate` reports besides the memory of every stage.

use serde::Deserialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::JsValue;

use crate::api::arguments;
use crate::value::Value;

/// Points of all timelines of one result together: more would fill the page's memory.
const MOST_POINTS: u64 = 1 << 16;
/// Points of a timeline where the options do not say how many.
const POINTS: u64 = 4096;

/// What `estimate` reports besides. A job may have the same keys.
#[derive(Clone, Copy, Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct EstimateOptions {
    /// A global rank to report on.
    pub(super) rank: Option<u64>,
    /// Timelines of one point a step, at most 4096, or of at most so many points.
    timeline: Option<Timelines>,
    /// What each way of recomputing would save, on the rank's first stage or on the one that needs most.
    pub(super) ledger: Option<bool>,
}

/// Whether there are timelines, or how many points they have.
#[derive(Clone, Copy, Debug, Deserialize, Tsify)]
#[serde(untagged)]
pub enum Timelines {
    /// Whether there are any, of one point a step.
    Wanted(bool),
    /// The most points that each may have.
    Points(u64),
}

impl EstimateOptions {
    /// The options, with those that only the job has.
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

    /// Points of the timeline of each of so many stages; 0 for no timelines.
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

/// A job without the keys that are options.
pub(super) fn without(mut job: Value) -> Value {
    if let Value::Map(entries) = &mut job {
        entries.retain(|(key, _)| !matches!(key.as_str(), "rank" | "timeline" | "ledger"));
    }
    job
}
