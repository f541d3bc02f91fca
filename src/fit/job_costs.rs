//! The costs of a job that save memory: time, GPUs, precision.

use crate::config::field::Decimal;
use crate::config::job::Config;
use crate::memory::Estimate;
use crate::search::{StepCost, replica, splits_short_sequences};
use crate::time::step_time;

/// What a job pays. Two of them say what a change costs as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCosts {
    /// The cost of a step beside its matrix products.
    pub step: StepCost,
    /// The predicted time of a step in nanoseconds; `None` where the prediction does not follow the job.
    pub step_nanoseconds: Option<u64>,
    /// GPUs of the job.
    pub gpus: u64,
    /// GPUs of one model replica.
    pub replica_gpus: u64,
    /// Data-parallel size.
    pub data_parallel_size: u64,
    /// Micro batches of a step on each data-parallel rank.
    pub micro_batches: u64,
    /// Whether context-parallel ranks have fewer tokens of a sequence than context parallelism is fast with.
    pub splits_short_sequences: bool,
    /// The number of kinds of modules whose activations move to the host.
    pub offloaded_modules: u64,
    /// Whether parameters are gathered, and gradients reduced, for every micro batch.
    pub gathers: bool,
    /// Bytes of a parameter's gradient and moments.
    pub state_bytes: u64,
    /// The part of the optimizer states that lives in host memory, in percent.
    pub on_host: u64,
    /// Tokens of a sequence.
    pub seq_length: u64,
}

impl JobCosts {
    /// The costs of an estimated job, for its language model, or its first module where it has none.
    pub(super) fn of(config: &Config, estimate: &Estimate) -> Option<Self> {
        let mut modules = config.modules().iter();
        let language = modules.find(|m| m.io().is_language());
        let m = language.or_else(|| config.modules().first())?;
        let a = m.args();
        let Decimal(fraction) = a.optimizer_offload_fraction;
        Some(Self {
            step: StepCost::of(config, estimate)?,
            step_nanoseconds: step_time(config, estimate).ok().map(|time| time.nanoseconds()),
            gpus: config.world_size(),
            replica_gpus: replica(m),
            data_parallel_size: m.derived().data_parallel_size,
            micro_batches: m.derived().num_microbatches,
            splits_short_sequences: splits_short_sequences(m),
            offloaded_modules: if a.fine_grained_activation_offloading {
                u64::try_from(a.offload_modules.iter().count()).unwrap_or(u64::MAX)
            } else {
                0
            },
            gathers: a.use_megatron_fsdp || a.use_torch_fsdp2,
            state_bytes: a.main_grads_dtype.bytes() + a.exp_avg_dtype.bytes() + a.exp_avg_sq_dtype.bytes(),
            on_host: if a.optimizer_cpu_offload { fraction / 10_000 } else { 0 },
            seq_length: a.seq_length,
        })
    }
}
