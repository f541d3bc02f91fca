//! Step times that somebody measured, each with the run's complete job.
//!
//! The runs are data, in `src/evidence/step_times/runs.json`, and not compiled in: a list of sets of runs of one model,
//! each with what their jobs have in common, and for every run what its job has besides. The runs of some sets are one
//! job in several layouts, so that their order can be predicted.
//!
//! What the tables of Megatron-Bridge's performance summaries do not say of jobs with experts (dispatcher, overlap of its
//! exchanges, CUDA graphs, recomputation) is what the release of the run's container configured for the same sizes:
//! `scripts/performance/configs/*/*workload_base_configs.py` at `v0.2.0` (25.11), `v0.3.0` (26.02), `v0.3.1` (26.02.01),
//! `v0.4.0` (26.04), `v0.4.1` (26.04.01), `v0.5.0` (26.06) and `v0.5.1` (26.06.01), `run_script.py` at `v0.1.0rc4`
//! (25.09), and `src/megatron/bridge/perf_recipes` at `067f987d` (26.08). Verification cards name their recipes.
//!
//! The runs of Hagemann et al. are of Aleph Alpha's own code, which is published as `Aleph-Alpha/scaling` (`737f8558`). Its
//! gradients stay in the dtype of the weights, on the parameters (`core/optimizer/parameter_group.py`), and are copied to fp32
//! bucket by bucket while they are reduced (`core/optimizer/allreduce.py`). So their memory is that of gradients in bf16,
//! and their traffic that of gradients in fp32.

mod accuracy;
mod operations;
mod products;
mod tables;

use serde::Deserialize;

pub use accuracy::{TimeAccuracy, accuracies, pairs};
pub use operations::{MeasuredOperations, OperationKind, OverNominal};
pub use products::{FittedProducts, MeasuredProducts, ProductFit};
pub use tables::times_table;

use super::record::{ReadError, read_records};
use super::run::Confidence;
use crate::config::check;
use crate::config::fields::FieldId;
use crate::config::job::Config;
use crate::config::raw::RawJob;
use crate::memory::estimate;
use crate::search::ROOM_FOR_SPEED;
use crate::time::coefficients::Coefficients;
use crate::time::{Nominal, Replay, Software, timed};
use crate::units::Bytes;
use crate::value::Value;

/// A measured run.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedRun {
    /// The run's name within its group.
    pub id: String,
    /// Runs of one source.
    pub group: String,
    /// Where the time is published.
    pub source: String,
    /// The model in words.
    pub model: String,
    /// How exact the time is, and how complete the arguments.
    pub confidence: Confidence,
    /// Measured seconds of a step.
    pub seconds: f64,
    /// The complete job.
    pub job: RawJob,
    /// What no argument says.
    pub software: Software,
    /// Whether gradients stay in bf16 between the micro batches of a step, and are added up over ranks in fp32. No argument
    /// of Megatron says both.
    gradients_in_bf16: bool,
    /// The number of the set of runs that are one job in several layouts; `None` for a run that is in none.
    pub layouts_of: Option<usize>,
    /// What tells layouts of a set apart: the job without its batch.
    layout: Value,
}

/// Runs of one model, as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    group: String,
    source: String,
    model: String,
    /// Whether they are one job in several layouts.
    compares_layouts: bool,
    /// Whether gradients take 2 bytes each in memory, whatever the jobs say.
    #[serde(default)]
    gradients_in_bf16: bool,
    /// What their jobs have in common.
    job: Value,
    runs: Vec<Entry>,
}

/// A run of a set, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    seconds: f64,
    confidence: Confidence,
    /// Whether its norms are chains of PyTorch's kernels.
    #[serde(default)]
    unfused_norm: bool,
    /// What its job has besides.
    job: Value,
}

/// Reads all runs.
///
/// # Errors
///
/// When the text is not JSON, or a field is missing or has a wrong value.
pub fn read_step_times(text: &str) -> Result<Vec<TimedRun>, ReadError> {
    let sets: Vec<Set> = read_records(text, |_| Ok(()))?;
    let runs = sets.into_iter().enumerate().flat_map(|(number, set)| {
        let Set {
            group,
            source,
            model,
            compares_layouts,
            gradients_in_bf16,
            job,
            runs,
        } = set;
        runs.into_iter().map(move |run| TimedRun {
            id: run.id,
            group: group.clone(),
            source: source.clone(),
            model: model.clone(),
            confidence: run.confidence,
            seconds: run.seconds,
            job: RawJob::from_value(&both(&job, &run.job)),
            software: Software {
                fused_norm: !run.unfused_norm,
            },
            gradients_in_bf16,
            layouts_of: compares_layouts.then_some(number),
            layout: without_batch(run.job),
        })
    });
    Ok(runs.collect())
}

/// A job of what a set has in common and what a run has besides.
fn both(common: &Value, own: &Value) -> Value {
    let entries = [common, own].into_iter().flat_map(|job| match job {
        Value::Map(entries) => entries.as_slice(),
        _ => &[],
    });
    Value::Map(entries.cloned().collect())
}

fn without_batch(mut job: Value) -> Value {
    if let Value::Map(entries) = &mut job {
        entries.retain(|(key, _)| key != "global_batch_size");
    }
    job
}

/// A run's job with what it would take nominally.
#[derive(Clone, Debug)]
pub struct TimeComparison {
    /// The checked job.
    pub config: Config,
    nominal: Nominal,
    /// Samples of a step for each GPU.
    samples: f64,
    /// The largest peak of allocated memory of a rank.
    pub allocated: Bytes,
    /// Whether the layout leaves so little memory free that it runs slower than it should.
    pub crowded: bool,
}

#[allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "times and their shares are no counts of elements or bytes"
)]
impl TimeComparison {
    /// That of a run; `None` where Megatron refuses the job, or no time is predicted for it.
    #[must_use]
    pub fn of(run: &TimedRun) -> Option<Self> {
        let config = check(&run.job).config?;
        let estimated = estimate(&config);
        let (m, on) = timed(&config).ok()?;
        let nominal = Nominal::new(m, estimated.modules.first()?, &on, run.software);
        let samples = m.derived().global_batch_size as f64 / config.world_size() as f64;
        let allocated = if run.gradients_in_bf16 {
            let mut job = run.job.clone();
            job.put(0, FieldId::grad_reduce_in_bf16, Value::Bool(true));
            estimate(&check(&job).config?).worst_rank.total
        } else {
            estimated.worst_rank.total
        };
        let memory = config.gpu_memory().unwrap_or(Bytes(u64::MAX));
        Some(Self {
            allocated,
            crowded: allocated + ROOM_FOR_SPEED > memory,
            nominal,
            samples,
            config,
        })
    }

    /// Predicted seconds of a step.
    #[must_use]
    pub fn seconds(&self, with: &Coefficients, replay: Replay) -> f64 {
        let module = self.config.modules().first();
        module.map_or(f64::NAN, |m| self.nominal.seconds(m, with, replay))
    }

    /// Seconds of a step as those of a GPU for one sample, which runs of several batches share.
    #[must_use]
    pub fn for_sample(&self, seconds: f64) -> f64 {
        seconds / self.samples
    }
}
