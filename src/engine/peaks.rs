//! Peaks of stages through the JavaScript API: the moment, the timeline, the allowances, the ledger of savings.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::output::{Buckets, Exact, List, Plain};
use crate::config::job::Config;
use crate::config::raw::RawJob;
use crate::memory::allowance::{Allowance, Band, band};
use crate::memory::ledger::{Saving, ledger};
use crate::memory::peak::PeakMoment;
use crate::memory::{StageEstimate, StageRef, TimelinePoint, timeline};
use crate::parallel::schedule::Phase;
use crate::value::Value;

/// Points of all timelines of one result together: more would fill the page's memory.
const MOST_POINTS: u64 = 1 << 16;
/// Points of a timeline when the request does not say how many.
const POINTS: u64 = 4096;

/// What is reported besides every stage's memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    /// The rank to report on.
    pub(super) rank: Option<u64>,
    /// Points of each timeline; 0 for none.
    points: u64,
    /// Whether to list what each way of recomputing would save.
    pub(super) ledger: bool,
}

/// The keys of a request.
const KEYS: [&str; 3] = ["rank", "timeline", "ledger"];

impl Request {
    /// Reads the options of `estimate`, and takes the same keys out of the job where the options lack them.
    pub(super) fn take(job: &mut Value, options: &Value) -> Self {
        let [rank, timeline, ledger] = KEYS.map(|key| {
            let own = match job {
                Value::Map(entries) => {
                    let at = entries.iter().position(|(name, _)| name == key);
                    at.map(|at| entries.remove(at).1)
                }
                _ => None,
            };
            options.get(key).cloned().or(own).unwrap_or(Value::Null)
        });
        Self {
            rank: whole(&rank),
            points: match timeline {
                Value::Bool(true) => POINTS,
                other => whole(&other).unwrap_or(0),
            },
            ledger: ledger == Value::Bool(true),
        }
    }

    /// Points of the timeline of each of so many stages.
    fn points_each(&self, stages: usize) -> u32 {
        let most = MOST_POINTS / u64::try_from(stages).unwrap_or(u64::MAX).max(1);
        let points = self.points.min(most.max(u64::from(self.points > 0)));
        u32::try_from(points).unwrap_or(u32::MAX)
    }
}

/// A whole number, as a number or as digits.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a fraction of a rank is cut off, what is out of range saturates"
)]
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Int(n) => u64::try_from(*n).ok(),
        Value::Float(x) if *x >= 0.0 => Some(*x as u64),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// What a stage's peak consists of; flattened into the stage.
pub(super) struct Peak<'a> {
    pub(super) config: &'a Config,
    pub(super) request: Request,
    pub(super) at: StageRef,
    pub(super) stage: &'a StageEstimate,
    /// Stages that have a timeline.
    pub(super) timelines: usize,
}

impl Peak<'_> {
    /// Writes the fields into the stage's object.
    pub(super) fn write<O: SerializeStruct>(&self, object: &mut O) -> Result<(), O::Error> {
        let stage = self.stage;
        object.serialize_field("steady_bytes", &Exact(stage.steady.0))?;
        object.serialize_field("peak_bytes", &Exact(stage.peak.0))?;
        object.serialize_field("peak_moment", &Moment(&stage.moment))?;
        object.serialize_field("in_flight", &stage.in_flight)?;
        if let Some(m) = self.config.modules().get(self.at.module) {
            object.serialize_field("allowances", &Allowances(band(m, stage.peak)))?;
        }
        let points = self.request.points_each(self.timelines);
        if points > 0 && self.timelines > 0 {
            object.serialize_field("timeline", &Timeline(self.config, self.at, points))?;
        }
        Ok(())
    }
}

struct Moment<'a>(&'a PeakMoment);

impl Serialize for Moment<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let m = self.0;
        object!(serializer, {
            "description": m.description(),
            "pass": m.pass.label(),
            "phase": m.phase.map(Phase::label),
            "step": m.step.map(Exact),
            "chunk": m.chunk,
            "microbatch": m.microbatch,
            "part": m.part,
            "layer": m.layer,
            "operation": m.op,
        })
    }
}

struct Timeline<'a>(&'a Config, StageRef, u32);

impl Serialize for Timeline<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(timeline) = timeline(self.0, self.1, self.2) else {
            return serializer.serialize_unit();
        };
        object!(serializer, {
            "steps": Exact(timeline.steps),
            "points": List(|| timeline.points.iter().map(Point)),
            "optimizer_step": {
                let step = &timeline.optimizer_step;
                Buckets(step, step.iter().copied().sum())
            },
        })
    }
}

struct Point<'a>(&'a TimelinePoint);

impl Serialize for Point<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let p = self.0;
        object!(serializer, {
            "step": Exact(p.step),
            "memory": Buckets(&p.memory, p.total),
            "moment": Moment(&p.moment),
            "in_flight": p.in_flight,
        })
    }
}

struct Allowances(Band);

impl Serialize for Allowances {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(band) = self;
        object!(serializer, {
            "low_bytes": Exact(band.low.0),
            "high_bytes": Exact(band.high.0),
            "parts": List(|| band.allowances.iter().map(Part)),
        })
    }
}

struct Part<'a>(&'a Allowance);

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(part) = self;
        object!(serializer, {
            "what": part.what,
            "low_bytes": Exact(part.low.0),
            "high_bytes": Exact(part.high.0),
            "field": part.field.field().name,
            "source": part.source.url(),
        })
    }
}

/// What each way of recomputing would save on a stage.
pub(super) struct Ledger<'a>(pub(super) &'a RawJob, pub(super) StageRef);

impl Serialize for Ledger<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(ledger(self.0, self.1).iter().map(Row))
    }
}

struct Row<'a>(&'a Saving);

impl Serialize for Row<'_> {
    #[allow(
        clippy::cast_precision_loss,
        reason = "a saving is far below 2^53 bytes"
    )]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(row) = self;
        let saved = row.result.as_ref().ok();
        let settings = row.choice.settings();
        let settings = settings.iter().map(|(id, value)| (id.field().name, value));
        object!(serializer, {
            "choice": row.choice.label(),
            "settings": Settings(settings.collect()),
            "current": row.current,
            "saves_bytes": saved.map(|saved| saved.saves as f64),
            "peak_bytes": saved.map(|saved| Exact(saved.peak.0)),
            "worst_rank_bytes": saved.map(|saved| Exact(saved.worst.0)),
            "recomputed_flops": saved.map(|saved| Exact(saved.recomputed_flops)),
            "recomputed_ppm": saved.map(|saved| Exact(saved.recomputed_ppm)),
            "refused": row.result.as_ref().err(),
        })
    }
}

struct Settings<'a>(Vec<(&'static str, &'a Value)>);

impl Serialize for Settings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Plain(value))))
    }
}
