//! The memory of a job over the values of one setting, while all else stays as it is.

use std::collections::BTreeSet;

use super::limits::{largest_micro_batch, longest_sequence, sequence_settings};
use super::measure::Measured;
use crate::config::field::Kind;
use crate::config::fields::FieldId as F;
use crate::config::raw::RawJob;
use crate::config::suggest::step::{now, powers};
use crate::search::{Axis, Candidate, Ranking, ranking};
use crate::units::Bytes;
use crate::value::Value;
use crate::verdict::Standing;

/// Values up to this many times smaller or larger than the current one are tried.
const REACH: u64 = 16;
/// Sequence lengths and micro batches are tried up to this many times the current value, and, beyond it, up to the
/// largest one that fits.
const LARGER: u64 = 4;
/// How many equal steps lead to the current value, and as many beyond it, where memory grows steadily with the value.
const STEPS: u64 = 8;

/// The settings that a plot is offered for first, in this order.
pub const PLOTTED: [F; 8] = [
    F::seq_length,
    F::micro_batch_size,
    F::tensor_model_parallel_size,
    F::pipeline_model_parallel_size,
    F::context_parallel_size,
    F::expert_model_parallel_size,
    F::num_experts,
    F::num_layers,
];

/// A value of the setting with what the job needs then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepPoint {
    /// The value.
    pub value: u64,
    /// The memory of the rank that needs most.
    pub memory: Standing,
    /// The job as searches order it, with the point's index; `None` where it has no language model.
    pub candidate: Option<Candidate>,
}

impl SweepPoint {
    /// The predicted time of a step in nanoseconds; `None` where the prediction does not follow the job.
    #[must_use]
    pub fn step_nanoseconds(&self) -> Option<u64> {
        self.candidate?.step_nanoseconds
    }
}

/// The memory of a job over the values of one setting. [`step`](Self::step) adds a value at a time, so that a page can
/// work between frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The setting.
    pub field: F,
    module: usize,
    job: RawJob,
    /// The values that are still to be tried, the next one last.
    open: Vec<u64>,
    /// The value that the job has.
    pub current: Option<u64>,
    /// The values that Megatron runs, ascending.
    pub points: Vec<SweepPoint>,
    /// The largest value that fits, where it is known exactly, and not only among the points.
    pub largest: Option<u64>,
}

impl Sweep {
    /// A sweep over a setting of one of the job's modules; `None` where the setting is no whole number, has no value,
    /// or is 0. `derived` is the value that the job has where the setting itself says none.
    #[must_use]
    pub fn new(job: &RawJob, module: usize, field: F, derived: Option<u64>) -> Option<Self> {
        let Kind::Int { min, max } = field.field().kind else {
            return None;
        };
        let current = match job.get(module, field) {
            None | Some(Value::Null) => derived.or_else(|| now(job, module, field)),
            Some(_) => now(job, module, field),
        };
        // Of what is not there at all, there is nothing to change.
        let current = current.filter(|value| *value > 0)?;
        let exact = match field {
            F::seq_length => longest_sequence(job),
            F::micro_batch_size => largest_micro_batch(job),
            _ => None,
        };
        let largest = exact.filter(|limit| limit.module == module);
        let largest = largest.map(|limit| limit.value);
        let values = values(field, current, largest);
        let values = values.into_iter().filter(|n| (min..=max).contains(n));
        Some(Self {
            field,
            module,
            job: job.clone(),
            open: values.rev().collect(),
            current: Some(current),
            points: Vec::new(),
            largest,
        })
    }

    /// Tries one more value. Returns whether all have been tried.
    pub fn step(&mut self) -> bool {
        if let Some(value) = self.open.pop() {
            let mut job = self.job.clone();
            self.apply(value, &mut job);
            let index = u64::try_from(self.points.len()).unwrap_or(u64::MAX);
            let measured = Measured::of_job(&job);
            self.points.extend(measured.map(|measured| SweepPoint {
                value,
                memory: measured.standing,
                candidate: measured.candidate(index),
            }));
        }
        self.open.is_empty()
    }

    /// The points in the order of searches, where the setting is a size that searches vary. With other values of any other
    /// setting it is another model, or trains on other samples, so that a shorter step is no gain: those points stay in the
    /// order of their values, without ranks.
    #[must_use]
    pub fn ranking(&self) -> Vec<Ranking> {
        let mut sizes = Axis::ALL.into_iter().filter(|axis| axis.has_sizes());
        let is_varied = sizes.any(|axis| axis.field() == self.field);
        let alternatives = self.points.iter().map(|point| point.candidate.filter(|_| is_varied));
        ranking(&alternatives.collect::<Vec<_>>())
    }

    /// Gives a job a value of the setting, and a sequence length the positions that it needs.
    pub fn apply(&self, value: u64, job: &mut RawJob) {
        let settings = match self.field {
            F::seq_length => sequence_settings(job, self.module, value),
            field => vec![(field, Value::Int(value.into()))],
        };
        for (field, value) in settings {
            job.put(self.module, field, value);
        }
    }

    /// Whether a job of the sweep is marked with what is not modelled, so that its numbers are those of another one.
    #[must_use]
    pub fn is_of_another_job(&self) -> bool {
        let mut points = self.points.iter();
        points.any(|point| point.memory.is_of_another_job())
    }

    /// The memory of the GPU; `None` where none is chosen, or no value is legal.
    #[must_use]
    pub fn gpu(&self) -> Option<Bytes> {
        self.points.first()?.memory.gpu_memory()
    }

    /// The largest value that fits, where all smaller ones fit too and some larger one does not.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        let fitting = self.points.iter().take_while(|point| point.memory.has_room());
        let fitting: Vec<u64> = fitting.map(|point| point.value).collect();
        let rest = self.points.get(fitting.len()..).unwrap_or_default();
        let is_one = !rest.is_empty() && rest.iter().all(|point| !point.memory.has_room());
        let most = fitting.last().copied();
        most.filter(|_| is_one).map(|most| self.largest.unwrap_or(most))
    }
}

/// The values that are tried, ascending.
fn values(field: F, current: u64, largest: Option<u64>) -> BTreeSet<u64> {
    let is_steady = matches!(
        field,
        F::seq_length | F::micro_batch_size | F::num_layers | F::num_experts
    );
    let to = match largest {
        Some(largest) => largest.saturating_mul(5) / 4,
        None => 0,
    }
    .max(current.saturating_mul(if is_steady { LARGER } else { REACH }));
    let usual = powers().filter(|value| *value >= current / REACH && *value <= to);
    let mut values: BTreeSet<u64> = usual.chain([current]).chain(largest).collect();
    if is_steady {
        let steps = (1..=2 * STEPS).map(|n| current.saturating_mul(n) / STEPS);
        let whole = steps.filter(|value| *value > 0 && current.is_multiple_of(STEPS));
        values.extend(whole);
    }
    values
}
