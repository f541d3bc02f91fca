//! Whether the job fits, in one word and two numbers.

use super::amount::Scale;
use crate::config::job::Config;
use crate::memory::overhead::memory_range;
use crate::memory::{Estimate, StageRef};
use crate::units::Bytes;

/// Whether what a device shows for a job fits a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No GPU was chosen.
    Unknown,
    /// It fits with the most of all allowances.
    Fits,
    /// It fits with the least of all allowances, but not with the most.
    Tight,
    /// It needs more than the GPU has.
    DoesNotFit,
}

/// What a device shows for an amount that PyTorch allocates in a module, from the least to the most, where CUDA graphs
/// reserve so much beyond it.
#[must_use]
pub fn device(config: &Config, module: usize, amount: Bytes, graphs: Bytes) -> (Bytes, Bytes) {
    let module = config.modules().get(module);
    module.map_or((amount, amount), |m| {
        let band = memory_range(m, amount, graphs);
        (band.low, band.high)
    })
}

impl Verdict {
    /// The verdict on what a [`device`] shows.
    #[must_use]
    pub fn of((low, high): (Bytes, Bytes), gpu: Option<Bytes>) -> Self {
        match gpu {
            None => Self::Unknown,
            Some(gpu) if low > gpu => Self::DoesNotFit,
            Some(gpu) if high > gpu => Self::Tight,
            Some(_) => Self::Fits,
        }
    }

    /// The verdict in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unknown => "No GPU chosen",
            Self::Fits => "Fits",
            Self::Tight => "Tight",
            Self::DoesNotFit => "Does not fit",
        }
    }

    /// A sign for those who do not see the color.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Unknown => "?",
            Self::Fits => "✓",
            Self::Tight => "!",
            Self::DoesNotFit => "✕",
        }
    }

    /// Its name in style sheets.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Fits => "fits",
            Self::Tight => "tight",
            Self::DoesNotFit => "over",
        }
    }
}

/// The headline of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What the device may show for it: the prediction with the least and the most of all allowances.
    pub device: (Bytes, Bytes),
    /// The stage that needs most.
    pub worst: StageRef,
    /// What each of its GPUs needs, for all modules that run there.
    pub total: Bytes,
    /// What a GPU has, when known.
    pub gpu: Option<Bytes>,
    /// Whether it fits.
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
            verdict: Verdict::of(device, gpu),
        }
    }

    /// What the device may show, in words.
    #[must_use]
    pub fn device_words(&self, scale: Scale) -> String {
        let (low, high) = self.device;
        format!(
            "{} to {} on the device, with fragmentation, CUDA context, NCCL and CUDA graphs",
            scale.number(low),
            scale.amount(high)
        )
    }

    /// What stays free beside PyTorch's allocations, or is missing when it does not fit; nothing without a GPU.
    #[must_use]
    pub fn difference(&self) -> Option<Bytes> {
        self.gpu.map(|gpu| difference(self.device, self.total, gpu))
    }
}

/// What an amount that PyTorch allocates leaves of a GPU; where it does not fit, what the GPU lacks for the least that the
/// device shows.
#[must_use]
pub fn difference((low, _): (Bytes, Bytes), amount: Bytes, gpu: Bytes) -> Bytes {
    if low > gpu {
        low.saturating_sub(gpu)
    } else {
        gpu.saturating_sub(amount)
    }
}

/// The GPUs that need most in words, such as `on each GPU of the heaviest of 8 stages, stage 0`, with ranks where
/// there are several modules.
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

/// What a stage is called, such as `stage 7`, with its module's name where there are several.
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
