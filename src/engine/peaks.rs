//! Peaks of stages through the JavaScript API: the moment, the timeline, the allowances, the ledger of savings.

use super::output::{Estimate, buckets};
use super::text::Writer;
use crate::config::job::Config;
use crate::config::raw::RawJob;
use crate::memory::overhead::{MemoryRange, memory_range};
use crate::memory::peak::PeakMoment;
use crate::memory::savings::{self, Saving};
use crate::memory::{self, StageEstimate, StageRef};
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

/// The fields of a stage about its peak. So many stages have a timeline; with none, this one has none either.
pub(super) fn peak(
    w: &mut Writer,
    all: &Estimate<'_>,
    (at, stage): (StageRef, &StageEstimate),
    timelines: usize,
) {
    w.key("steady_bytes").number(stage.steady.0);
    w.key("peak_bytes").number(stage.total.0);
    w.key("peak_moment");
    moment(w, &stage.moment);
    w.key("in_flight");
    in_flight(w, &stage.in_flight);
    if let Some(m) = all.config.modules().get(at.module) {
        w.key("allowances");
        allowances(w, &memory_range(m, stage.total, stage.graphs));
    }
    let points = all.request.points_each(timelines);
    if points > 0 && timelines > 0 {
        w.key("timeline");
        timeline(w, all.config, at, points);
    }
}

fn in_flight(w: &mut Writer, live: &[u32]) {
    w.list(|w| live.iter().for_each(|live| w.number((*live).into())));
}

fn moment(w: &mut Writer, m: &PeakMoment) {
    w.object(|w| {
        w.key("description").display(m);
        w.key("pass").text(m.pass.label());
        w.key("phase").text_or_null(m.phase.map(Phase::label));
        w.key("step").number_or_null(m.step);
        w.key("chunk").number(m.chunk.into());
        w.key("microbatch").number(m.microbatch.into());
        w.key("part")
            .text(&m.block.map_or_else(String::new, |block| block.to_string()));
        w.key("layer").number_or_null(m.layer.map(u64::from));
        w.key("operation").text(m.op);
    });
}

fn timeline(w: &mut Writer, config: &Config, at: StageRef, points: u32) {
    let Some(timeline) = memory::timeline(config, at, points) else {
        return w.null();
    };
    w.object(|w| {
        w.key("steps").number(timeline.steps);
        w.key("points").list(|w| {
            for point in &timeline.points {
                w.object(|w| {
                    w.key("step").number(point.step);
                    w.key("memory");
                    buckets(w, &point.memory, point.total);
                    w.key("moment");
                    moment(w, &point.moment);
                    w.key("in_flight");
                    in_flight(w, &point.in_flight);
                });
            }
        });
        w.key("optimizer_step");
        let step = &timeline.optimizer_step;
        buckets(w, step, step.iter().copied().sum());
    });
}

fn allowances(w: &mut Writer, band: &MemoryRange) {
    w.object(|w| {
        w.key("low_bytes").number(band.low.0);
        w.key("high_bytes").number(band.high.0);
        w.key("parts").list(|w| {
            for part in &band.overheads {
                w.object(|w| {
                    w.key("what").text(part.what);
                    w.key("low_bytes").number(part.low.0);
                    w.key("high_bytes").number(part.high.0);
                    w.key("field").text(part.field.field().name);
                    w.key("source").text(&part.source.url());
                });
            }
        });
    });
}

/// What each way of recomputing would save on a stage.
pub(super) fn savings(w: &mut Writer, job: &RawJob, at: StageRef) {
    w.list(|w| {
        for row in savings::savings(job, at) {
            saving(w, &row);
        }
    });
}

fn saving(w: &mut Writer, row: &Saving) {
    let saved = row.result.as_ref().ok();
    w.object(|w| {
        w.key("choice").text(&row.choice.label());
        w.key("settings").object(|w| {
            for (id, value) in row.choice.settings() {
                w.key(id.field().name).plain(&value);
            }
        });
        w.key("current").bool(row.current);
        w.key("saves_bytes");
        match saved {
            Some(saved) => w.signed(saved.saves.into()),
            None => w.null(),
        }
        w.key("peak_bytes")
            .number_or_null(saved.map(|saved| saved.peak.0));
        w.key("worst_rank_bytes")
            .number_or_null(saved.map(|saved| saved.worst.0));
        w.key("recomputed_flops")
            .number_or_null(saved.map(|saved| saved.recomputed_flops));
        w.key("recomputed_ppm")
            .number_or_null(saved.map(|saved| saved.recomputed_ppm));
        w.key("refused")
            .text_or_null(row.result.as_ref().err().map(String::as_str));
    });
}
