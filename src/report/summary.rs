//! The headline of an estimate: what the job needs, whether it fits the GPU, and by how much.

use super::amount::Scale;
pub use super::verdict::Verdict;
use crate::config::job::Config;
use crate::memory::overhead::memory_range;
use crate::memory::{Estimate, StageRef};
use crate::units::Bytes;

/// The memory that a device shows, from the least to the most, where PyTorch allocates `amount` in a module and CUDA graphs
/// reserve `graphs` beyond it.
#[must_use]
pub fn device(config: &Config, module: usize, amount: Bytes, graphs: Bytes) -> (Bytes, Bytes) {
    let module = config.modules().get(module);
    module.map_or((amount, amount), |m| {
        let range = memory_range(m, amount, graphs);
        (range.low, range.high)
    })
}

/// The headline of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The memory that the device may show: the peak with the smallest and with the largest overheads.
    pub device: (Bytes, Bytes),
    /// The stage with the largest peak.
    pub worst: StageRef,
    /// The peak of the rank that needs most, over all modules that run on it.
    pub total: Bytes,
    /// The memory of a GPU; `None` where no GPU is chosen.
    pub gpu: Option<Bytes>,
    /// Whether the job fits.
    pub verdict: Verdict,
}

impl Summary {
    /// The headline of an estimate.
    #[must_use]
    pub fn new(config: &Config, estimate: &Estimate) -> Self {
        let total = estimate.worst_rank.total;
        let gpu = config.gpu_memory();
        let graphs = estimate.worst_rank.graphs;
        let device = device(config, estimate.worst.module, total, graphs);
        Self {
            device,
            worst: estimate.worst,
            total,
            gpu,
            verdict: Verdict::of(config, device),
        }
    }

    /// The memory that the device may show, in words.
    #[must_use]
    pub fn device_words(&self, scale: Scale) -> String {
        let (low, high) = self.device;
        format!(
            "{} to {} on the device, with fragmentation, CUDA context, NCCL and CUDA graphs",
            scale.number(low),
            scale.amount(high)
        )
    }

    /// The memory that stays free, or, where the job does not fit, that is missing; `None` where no GPU is chosen, and where the
    /// estimate is that of another job.
    #[must_use]
    pub fn difference(&self) -> Option<Bytes> {
        let gpu = self.gpu.filter(|_| self.verdict != Verdict::NotThisJob);
        gpu.map(|gpu| difference(self.device, self.total, gpu))
    }
}

/// The memory of a GPU that stays free beside an amount that PyTorch allocates. Where the job does not fit, the memory that
/// is missing for `low`, the least that the device shows.
#[must_use]
pub fn difference((low, _): (Bytes, Bytes), amount: Bytes, gpu: Bytes) -> Bytes {
    if low > gpu {
        low.saturating_sub(gpu)
    } else {
        gpu.saturating_sub(amount)
    }
}

/// The GPUs with the largest peak in words, such as `on each GPU of the heaviest of 8 stages, stage 0`. A job with several
/// modules has the first rank too, or the names of the modules that share the GPUs.
#[must_use]
pub fn worst_place(config: &Config, estimate: &Estimate) -> String {
    let stages: usize = estimate.modules.iter().map(|m| m.stages.len()).sum();
    if stages == 1 {
        return String::from("on every GPU: all layers are one stage");
    }
    let name = stage_name(config, estimate.worst);
    let of = |at: &StageRef| config.modules().get(at.module).map_or("", |m| m.name());
    match (config.modules(), estimate.worst_rank.stages.as_slice()) {
        ([_], _) => format!("on each GPU of the heaviest of {stages} stages, {name}"),
        (_, [_]) => format!(
            "on each GPU of the heaviest of {stages} stages, {name}, from rank {} on",
            estimate.worst_rank.rank
        ),
        (_, shared) => format!(
            "on each GPU, which {} share",
            shared.iter().map(of).collect::<Vec<_>>().join(" and ")
        ),
    }
}

/// The name of a stage, such as `stage 7`, after its module's name where there are several modules.
#[must_use]
pub fn stage_name(config: &Config, stage: StageRef) -> String {
    match config.modules() {
        [_] => format!("stage {}", stage.pp_rank),
        modules => {
            let module = modules.get(stage.module).map_or("", |m| m.name());
            format!("{module} stage {}", stage.pp_rank)
        }
    }
}
