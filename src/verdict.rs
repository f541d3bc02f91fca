//! A job's standing: one value, made in one place. All that the page, the command line, the API, searches and exports say
//! of whether a job runs and fits is read off it; nothing else compares bytes with a GPU.

use crate::config::Checked;
use crate::config::gpus::GpuMemory;
use crate::config::job::Config;
pub use crate::config::problem::Refusal;
use crate::memory::overhead::{memory_range, range_of_reserved};
use crate::memory::reserved::{ReservedRange, reserved};
use crate::memory::{Estimate, JobMoment, StageRef, estimate};
use crate::units::Bytes;

/// The verdict on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No GPU is chosen.
    Unknown,
    /// It fits even with the largest overheads.
    Fits,
    /// It fits with the smallest overheads, but not with the largest, nor does a replay of PyTorch's allocator settle it.
    Tight,
    /// It does not fit even with the smallest overheads, whatever such GPUs report.
    DoesNotFit,
    /// The estimate is that of another job: one without what the job's [marks](Config::not_modelled) name.
    NotThisJob,
    /// Megatron or the launcher of the job refuses to train it.
    Refused(Refusal),
}

impl Verdict {
    /// The verdict on a checked job where a device shows from `low` to `high` bytes, as [`device`] gives them.
    #[must_use]
    pub fn of(config: &Config, device: (Bytes, Bytes)) -> Self {
        if let Some(refusal) = config.refused_by() {
            Self::Refused(refusal)
        } else if !config.not_modelled().is_empty() {
            Self::NotThisJob
        } else {
            Self::of_memory(config.reported_gpu_memory(), device)
        }
    }

    /// The verdict on a job that runs and is modelled.
    #[must_use]
    pub fn of_memory(gpu: Option<GpuMemory>, device: (Bytes, Bytes)) -> Self {
        match gpu.map(|gpu| Headroom::of(device, gpu)) {
            None => Self::Unknown,
            Some(Headroom::Free { .. }) => Self::Fits,
            Some(Headroom::Uncertain { .. }) => Self::Tight,
            Some(Headroom::Missing { .. }) => Self::DoesNotFit,
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
            Self::NotThisJob => "Estimate of another job",
            Self::Refused(_) => "Cannot run",
        }
    }

    /// A sign that tells the verdicts apart without color.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Unknown => "?",
            Self::Fits => "✓",
            Self::Tight => "!",
            Self::DoesNotFit | Self::Refused(_) => "✕",
            Self::NotThisJob => "≠",
        }
    }

    /// The verdict's name in style sheets.
    #[must_use]
    pub const fn style(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Fits => "fits",
            Self::Tight => "tight",
            Self::DoesNotFit => "over",
            Self::NotThisJob => "not-this-job",
            Self::Refused(_) => "refused",
        }
    }

    /// The verdict's name in programs; `None` where no GPU is chosen, so that there is no verdict.
    #[must_use]
    pub const fn id(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Fits => Some("fits"),
            Self::Tight => Some("tight"),
            Self::DoesNotFit => Some("does_not_fit"),
            Self::NotThisJob => Some("not_this_job"),
            Self::Refused(_) => Some("cannot_run"),
        }
    }
}

/// What stays free on a GPU, or is missing, over the range of memory that the device may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// Memory stays free even with the largest overheads.
    Free {
        /// What stays free with the largest overheads.
        least: Bytes,
        /// What stays free with the smallest overheads.
        most: Bytes,
    },
    /// Memory stays free with the smallest overheads, and is missing with the largest.
    Uncertain {
        /// What stays free with the smallest overheads: nothing where such GPUs report different amounts, of which only
        /// some are enough.
        free: Bytes,
        /// What is missing with the largest overheads.
        missing: Bytes,
    },
    /// Memory is missing even with the smallest overheads.
    Missing {
        /// What is missing with the smallest overheads.
        least: Bytes,
        /// What is missing with the largest overheads.
        most: Bytes,
    },
}

impl Headroom {
    /// Compares the memory that the device shows, from `low` to `high`, with the memory of the GPU. What is free or missing
    /// is of the least that such GPUs report.
    #[must_use]
    pub fn of((low, high): (Bytes, Bytes), gpu: impl Into<GpuMemory>) -> Self {
        let GpuMemory { least: gpu, most } = gpu.into();
        let beyond = |device: Bytes| device.saturating_sub(gpu);
        let free = |device: Bytes| gpu.saturating_sub(device);
        if low > most {
            Self::Missing {
                least: beyond(low),
                most: beyond(high),
            }
        } else if high > gpu {
            Self::Uncertain {
                free: free(low),
                missing: beyond(high),
            }
        } else {
            Self::Free {
                least: free(high),
                most: free(low),
            }
        }
    }
}

/// The memory that a device shows, from the least to the most, where PyTorch allocates `amount` in a module and CUDA
/// graphs reserve `graphs` beyond it.
#[must_use]
pub fn device(config: &Config, module: usize, amount: Bytes, graphs: Bytes) -> (Bytes, Bytes) {
    let module = config.modules().get(module);
    module.map_or((amount, amount), |m| {
        let range = memory_range(m, config.gpu_memory(), amount, graphs);
        (range.low, range.high)
    })
}

/// The same where a replay finds that PyTorch's allocator reserves so much, from the least to the most, in place of the
/// factors.
#[must_use]
pub fn device_by_replay(
    config: &Config,
    module: usize,
    (amount, graphs): (Bytes, Bytes),
    reserved: (Bytes, Bytes),
) -> (Bytes, Bytes) {
    let module = config.modules().get(module);
    module.map_or(reserved, |m| {
        let range = range_of_reserved(m, config.gpu_memory(), amount, graphs, reserved);
        (range.low, range.high)
    })
}

/// The standing of a job that can be estimated: what it needs, where, and the verdict on it. A job that breaks a rule has
/// none: the verdict on it is [`Refusal::ByRules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The memory that the device may show: the peak with the smallest and with the largest overheads.
    pub device: (Bytes, Bytes),
    /// The stage with the largest peak.
    pub worst: StageRef,
    /// The peak of the rank that needs most, over all modules that run on it.
    pub total: Bytes,
    /// The memory of a GPU; `None` where no GPU is chosen.
    pub gpu: Option<GpuMemory>,
    /// Whether the job runs and fits.
    pub verdict: Verdict,
    /// How the reserved memory is found that `device` counts.
    pub reserved_by: ReservedBy,
}

/// How it is found how much PyTorch's allocator reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservedBy {
    /// By factors of allocated memory, the fields `reserved_over_allocated_low` and `reserved_over_allocated_high`. What is
    /// [tight](Verdict::Tight) by them, a replay may settle.
    Factors,
    /// By a [replay](crate::memory::reserved::reserved) of what the rank allocates and frees.
    Replay,
}

impl Standing {
    /// The standing of a job with this estimate: by the factors, and by a replay of PyTorch's allocator where these leave
    /// open whether it fits. A replay takes up to a third of a second.
    #[must_use]
    pub fn new(config: &Config, estimate: &Estimate) -> Self {
        let by_factors = Self::by_factors(config, estimate);
        if !by_factors.is_left_open() {
            return by_factors;
        }
        let found = reserved(config, &estimate.worst_rank, JobMoment::default());
        by_factors.settled_by(config, estimate, found.as_ref())
    }

    /// Whether this is a standing by the factors that leaves open if the job fits, so that a replay has to settle it.
    #[must_use]
    pub fn is_left_open(&self) -> bool {
        self.reserved_by == ReservedBy::Factors && self.verdict == Verdict::Tight
    }

    /// The standing of a job with this estimate by the factors: what searches, which look at millions of layouts, do with.
    #[must_use]
    pub fn by_factors(config: &Config, estimate: &Estimate) -> Self {
        let rank = &estimate.worst_rank;
        let device = device(config, estimate.worst.module, rank.total, rank.graphs);
        Self {
            device,
            worst: estimate.worst,
            total: rank.total,
            gpu: config.reported_gpu_memory(),
            verdict: Verdict::of(config, device),
            reserved_by: ReservedBy::Factors,
        }
    }

    /// The same standing with what a replay of PyTorch's allocator [reserves](crate::memory::reserved::reserved) on the
    /// rank that needs most, in place of the factors. `self` is that of the estimate.
    #[must_use]
    pub fn by_replay(self, config: &Config, estimate: &Estimate, reserved: &ReservedRange) -> Self {
        let rank = &estimate.worst_rank;
        let amounts = (rank.total, rank.graphs);
        let device = device_by_replay(config, self.worst.module, amounts, (reserved.low, reserved.high));
        self.with_device_by_replay(config, device)
    }

    /// The same standing with the memory that the device shows by a replay.
    #[must_use]
    pub fn with_device_by_replay(self, config: &Config, device: (Bytes, Bytes)) -> Self {
        Self {
            device,
            verdict: Verdict::of(config, device),
            reserved_by: ReservedBy::Replay,
            ..self
        }
    }

    /// The standing of a job of which this is the one by the factors, with what a replay has found: that by the replay where
    /// the factors leave open whether it fits. The allocator of some jobs is not replayed, and they keep theirs.
    #[must_use]
    pub fn settled_by(self, config: &Config, estimate: &Estimate, reserved: Option<&ReservedRange>) -> Self {
        let reserved = reserved.filter(|_| self.is_left_open());
        reserved.map_or(self, |reserved| self.by_replay(config, estimate, reserved))
    }

    /// The standing of a checked job.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self::new(config, &estimate(config))
    }

    /// The verdict on a job as a check found it, and its standing where it can be estimated.
    #[must_use]
    pub fn of_checked(checked: &Checked) -> (Verdict, Option<Self>) {
        let standing = checked.config.as_ref().map(Self::of);
        let refused = Verdict::Refused(Refusal::ByRules);
        (standing.map_or(refused, |standing| standing.verdict), standing)
    }

    /// The memory that the device shows, from the least to the most, for a stage or a rank in whose module PyTorch allocates
    /// `amount`, and CUDA graphs reserve `graphs` beyond it. By the factors; where the job is settled by a replay, which is of
    /// the rank that needs most alone, a rank that allocates less is taken to show no more than that one.
    #[must_use]
    pub fn device_of(&self, config: &Config, module: usize, amount: Bytes, graphs: Bytes) -> (Bytes, Bytes) {
        let (low, high) = device(config, module, amount, graphs);
        match self.reserved_by {
            ReservedBy::Factors => (low, high),
            ReservedBy::Replay if amount == self.total => self.device,
            ReservedBy::Replay => (low.min(self.device.0), high.min(self.device.1)),
        }
    }

    /// What stays free on the GPU, or is missing; `None` where no GPU is chosen, and where the numbers are not those of
    /// the job.
    #[must_use]
    pub fn headroom(&self) -> Option<Headroom> {
        match self.verdict {
            Verdict::Unknown | Verdict::NotThisJob | Verdict::Refused(_) => None,
            Verdict::Fits | Verdict::Tight | Verdict::DoesNotFit => self.room(),
        }
    }

    /// The same by the numbers alone, also where they are those of another job.
    #[must_use]
    pub fn room(&self) -> Option<Headroom> {
        self.gpu.map(|gpu| Headroom::of(self.device, gpu))
    }

    /// The least memory that such GPUs report; `None` where no GPU is chosen.
    #[must_use]
    pub fn gpu_memory(&self) -> Option<Bytes> {
        Some(self.gpu?.least)
    }

    /// Whether the GPU has all that the device may show, by the numbers alone: also where they are those of another job.
    /// False where no GPU is chosen.
    #[must_use]
    pub fn has_room(&self) -> bool {
        matches!(self.room(), Some(Headroom::Free { .. }))
    }

    /// Whether the estimate is that of another job.
    #[must_use]
    pub fn is_of_another_job(&self) -> bool {
        self.verdict == Verdict::NotThisJob
    }
}
