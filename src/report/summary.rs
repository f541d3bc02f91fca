//! Whether the job fits, in one word and two numbers.

use super::amount::Scale;
use crate::config::job::Config;
use crate::memory::allowance::band;
use crate::memory::{Estimate, StageRef};
use crate::units::{Bytes, GIB};

/// Whether an amount of memory fits a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No GPU was chosen.
    Unknown,
    /// It fits with room to spare.
    Fits,
    /// It fits, but the room that is left may not hold what is not counted.
    Tight,
    /// It needs more than the GPU has.
    DoesNotFit,
}

/// The least room that a comfortable job leaves, whatever the GPU: the CUDA context, NCCL's buffers
/// and the allocator's gaps are of this order and do not grow with the GPU's memory.
const LEAST_ROOM: Bytes = Bytes(4 * GIB);
/// The least room as a part of the GPU's memory: one twentieth.
const LEAST_PART: u64 = 20;

impl Verdict {
    /// The verdict on an amount. Tight is what leaves less than 4 GiB or less than 5 % of the GPU.
    #[must_use]
    pub fn of(amount: Bytes, gpu: Option<Bytes>) -> Self {
        match gpu {
            None => Self::Unknown,
            Some(gpu) if amount > gpu => Self::DoesNotFit,
            Some(gpu) => {
                let free = gpu.saturating_sub(amount);
                if free < LEAST_ROOM.max(Bytes(gpu.0 / LEAST_PART)) {
                    Self::Tight
                } else {
                    Self::Fits
                }
            }
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
        let module = config.modules().get(estimate.worst.module);
        Self {
            device: module.map_or((total, total), |m| {
                let band = band(m, total, estimate.worst_rank.graphs);
                (band.low, band.high)
            }),
            worst: estimate.worst,
            total,
            gpu,
            verdict: Verdict::of(total, gpu),
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

    /// What stays free, or is missing when it does not fit; nothing without a GPU.
    #[must_use]
    pub fn difference(&self) -> Option<Bytes> {
        self.gpu.map(|gpu| Bytes(gpu.0.abs_diff(self.total.0)))
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
