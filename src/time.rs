//! How long one optimizer step of a checked job takes: a roofline over the operations that [`model`](crate::model)
//! records, linear in a few coefficients, with the exchanges between ranks and a replay of the pipeline's schedule.
//!
//! Every operation has its floating-point operations, the bytes that it reads and writes, and the messages of its layer,
//! for the forward pass, the input gradient and the weight gradient. What these take at the speeds of the data sheet are
//! [nominal seconds](cost::Seconds) by kind; [coefficients](coefficients::Coefficients) say how much longer they take in
//! practice. One set of coefficients serves every GPU and every site. The order of layouts carries over from one machine
//! to another; the level of their times does to some 10 to 30 %.

#![allow(
    clippy::float_arithmetic,
    reason = "a time is an estimate in seconds, and no count of elements or bytes"
)]

mod calibration;
pub mod coefficients;
mod contents;
pub mod cost;
mod exchange;
pub mod hardware;
mod layers;
pub(crate) mod makespan;
mod passes;
mod pipeline;
pub mod placement;
pub(crate) mod sent;
mod step;
mod tables;

use strum::IntoEnumIterator;
use thiserror::Error;

use crate::config::choices::OptimizerKind;
use crate::config::job::{Config, Module};
use crate::config::step_time_calibration::StepTimeCalibration;
use crate::memory::Estimate;
pub use calibration::calibrate;
use coefficients::Coefficients;
use hardware::Hardware;
pub use layers::Software;
use passes::wide;
pub use pipeline::Replay;
pub use step::{Nominal, Part, Parts};
pub use tables::TimeTables;

/// The part by which the measured time of a dense job is shorter or longer than predicted in four of five of the runs of
/// `src/evidence/step_times`, and in more of them.
const DENSE_INTERVAL: f64 = 0.20;
/// The same for jobs with experts, whose routing and dispatchers differ most.
const MOE_INTERVAL: f64 = 0.35;

/// The part by which the times of a job without calibration are off in four of five runs.
#[must_use]
pub fn interval(m: &Module) -> f64 {
    if m.moe.is_some() { MOE_INTERVAL } else { DENSE_INTERVAL }
}

/// The time of one optimizer step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// Seconds.
    pub seconds: f64,
    /// The interval in which the measured times of four of five runs lie, in seconds.
    pub interval: [f64; 2],
    /// Seconds by [`Part`]; their sum is `seconds`.
    pub parts: Parts,
    /// Tokens that the job trains on in a second, for each GPU.
    pub tokens_per_second_per_gpu: f64,
    /// Floating-point operations of the model in a second, for each GPU: matrix products, causal attention and the scans
    /// of linear attention, without what is recomputed. Megatron's logs count the same (`num_floating_point_operations`),
    /// but for models that its formulas take for others: `tests/it/time/flops.rs` has them.
    pub flops_per_second_per_gpu: f64,
    /// Model FLOPs utilization: `flops_per_second_per_gpu` over the dense bf16 peak of the GPU, from 0 to 1.
    pub mfu: f64,
}

/// A part that takes this share of a step is worth a change of the job.
const NOTABLE: f64 = 0.05;

impl StepTime {
    /// Floating-point operations of the model in a second for each GPU, in units of 10^12.
    #[must_use]
    pub fn tflops_per_gpu(&self) -> f64 {
        self.flops_per_second_per_gpu / 1e12
    }

    /// The interval of a number that falls as the step gets longer, such as tokens a second, in four of five runs.
    #[must_use]
    pub fn interval_of(&self, number: f64) -> [f64; 2] {
        let [low, high] = self.interval;
        [number * self.seconds / high, number * self.seconds / low]
    }

    /// The time of the step in nanoseconds.
    #[must_use]
    pub fn nanoseconds(&self) -> u64 {
        tables::nanoseconds(self.seconds)
    }

    /// The seconds of every part.
    pub fn by_part(&self) -> impl Iterator<Item = (Part, f64)> {
        Part::iter().zip(self.parts)
    }

    /// The seconds of one part.
    #[must_use]
    pub fn part(&self, part: Part) -> f64 {
        self.parts.get(part as usize).copied().unwrap_or_default()
    }

    /// The part to look at first: what takes most time besides computing, where that is 5 % of the step or more, and
    /// otherwise the larger part of computing.
    #[must_use]
    pub fn bottleneck(&self) -> Part {
        let longest = |computes: bool| {
            Part::iter()
                .filter(|part| part.computes() == computes)
                .max_by(|one, other| self.part(*one).total_cmp(&self.part(*other)))
                .unwrap_or(Part::Compute)
        };
        let waits = longest(false);
        if self.part(waits) >= NOTABLE * self.seconds {
            waits
        } else {
            longest(true)
        }
    }
}

/// Why a job has no predicted time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoTime {
    /// No GPU is chosen.
    #[error("no GPU is chosen")]
    NoGpu,
    /// The table of speeds has no such GPU.
    #[error("the speeds of {0} are not known")]
    UnknownGpu(String),
    /// The job is of several modules.
    #[error("times of jobs with several modules are not predicted")]
    SeveralModules,
    /// Settings of the job are not modelled.
    #[error("{0} is not modelled")]
    NotModelled(String),
    /// No measured run has this.
    #[error("no measured run with {0} was compared")]
    NotMeasured(&'static str),
}

/// Whether a module trains in a way that the prediction was compared with measured runs for.
fn measured(m: &Module) -> Result<(), NoTime> {
    let a = m.args();
    if a.optimizer != OptimizerKind::Adam {
        return Err(NoTime::NotMeasured("another optimizer than Adam"));
    }
    if a.use_megatron_fsdp || a.use_torch_fsdp2 {
        return Err(NoTime::NotMeasured("fully sharded data parallelism"));
    }
    if m.packing().is_some() {
        return Err(NoTime::NotMeasured("packed samples"));
    }
    if a.optimizer_cpu_offload || a.fine_grained_activation_offloading || a.cpu_offloading_num_layers > 0 {
        return Err(NoTime::NotMeasured("offloading"));
    }
    Ok(())
}

/// The only module of a job, and the speeds of its GPU.
///
/// # Errors
/// Where the prediction does not follow the job.
pub fn timed(config: &Config) -> Result<(&Module, Hardware), NoTime> {
    let [m] = config.modules() else {
        return Err(NoTime::SeveralModules);
    };
    if let Some(mark) = config.not_modelled().first() {
        return Err(NoTime::NotModelled(mark.key.clone()));
    }
    let gpu = m.args().gpu.as_ref().ok_or(NoTime::NoGpu)?;
    let on = Hardware::of(m.args()).ok_or_else(|| NoTime::UnknownGpu(gpu.clone()))?;
    measured(m)?;
    Ok((m, on))
}

/// The time of a step of a job with this estimate.
///
/// # Errors
/// Where the prediction does not follow the job.
pub fn step_time(config: &Config, estimate: &Estimate) -> Result<StepTime, NoTime> {
    let (m, on) = timed(config)?;
    let module = estimate.modules.first().ok_or(NoTime::SeveralModules)?;
    let nominal = Nominal::new(m, module, &on, Software::default());
    let parts = nominal.parts(m, &Coefficients::of(m), Replay::EveryPass);
    let seconds: f64 = parts.into_iter().sum();
    let calibrated = StepTimeCalibration::of(m.args());
    let within = calibrated.map_or_else(|| interval(m), |by| by.within_percent / 100.0);
    let gpus = wide(config.world_size().max(1));
    let tokens = wide(m.global_batch_size) * wide(m.args().seq_length);
    let flops = nominal.flops() / seconds / gpus;
    Ok(StepTime {
        seconds,
        interval: [seconds / (1.0 + within), seconds * (1.0 + within)],
        parts,
        tokens_per_second_per_gpu: tokens / seconds / gpus,
        flops_per_second_per_gpu: flops,
        mfu: flops / on.half.peak,
    })
}
