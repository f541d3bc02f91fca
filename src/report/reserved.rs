//! What PyTorch's allocator reserves, in words.

use serde::{Deserialize, Serialize};

use super::amount::Scale;
use crate::config::job::Config;
use crate::fit::{AllocatorSetting, ReservedGain};
use crate::memory::overhead::memory_range;
use crate::memory::reserved::{LEAST_OF_REPLAY, MOST_OF_REPLAY, ReservedRange, reserved};
use crate::memory::{Estimate, JobMoment, RankMemory, StageEstimate, StageRef};
use crate::units::Bytes;
use crate::verdict::{Standing, Verdict, device_by_replay};

/// Two sentences: what a replay of the allocator reserves, with the standing that the job has
/// [by it](Standing::by_replay), and how much of that is holes.
#[must_use]
pub fn sentences(reserved: &ReservedRange, by_replay: &Standing, scale: Scale) -> String {
    format!(
        "Reserved by a replay of PyTorch's allocator: {}; {}. When it grows last, {} of it are holes: {}.",
        scale.range(reserved.low, reserved.high),
        device_words(by_replay.device, by_replay.verdict, scale),
        scale.amount(reserved.holes.free),
        reserved.holes.moment,
    )
}

/// What the device shows where so much is reserved, and the verdict on that.
fn device_words((low, high): (Bytes, Bytes), verdict: Verdict, scale: Scale) -> String {
    let device = format!("{} on the device", scale.range(low, high));
    match verdict {
        Verdict::Fits | Verdict::Tight | Verdict::DoesNotFit => {
            format!("{device}: {}", verdict.words().to_ascii_lowercase())
        }
        Verdict::Unknown | Verdict::NotThisJob | Verdict::Refused(_) => device,
    }
}

/// The memory that PyTorch's allocator reserves on a pipeline stage, or on the rank with the largest peak, as a replay of
/// all that is allocated and freed there finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// The allocated peak.
    peak: Bytes,
    /// What is reserved, the least and the most.
    range: (Bytes, Bytes),
    /// What the device shows with that.
    device: (Bytes, Bytes),
    /// What the replays reserve, on the ranks of the stage that reserve least and most.
    replays: (Bytes, Bytes),
    /// What is free and of no use when the allocator takes more of the GPU's memory for the last time.
    holes: Bytes,
    /// That moment.
    moment: String,
}

impl Replayed {
    /// Replays the allocator of a stage in later iterations; `None` where there is no such stage, or [`reserved`] has no
    /// result.
    #[must_use]
    pub fn of(config: &Config, estimate: &Estimate, stage: StageRef) -> Option<Self> {
        let StageEstimate { total, graphs, .. } = estimate.stage(stage)?;
        let rank = RankMemory {
            stages: vec![stage],
            total: *total,
            graphs: *graphs,
            ..RankMemory::default()
        };
        Self::of_rank(config, stage.module, &rank)
    }

    /// Replays the allocator of the rank with the largest peak, with the stages of all modules that run on it. The verdict on
    /// a job is about that rank. `None` where [`reserved`] has no result.
    #[must_use]
    pub fn of_worst_rank(config: &Config, estimate: &Estimate) -> Option<Self> {
        Self::of_rank(config, estimate.worst.module, &estimate.worst_rank)
    }

    /// The standing of the job with what the device shows by this replay, which is that of its rank with the largest peak.
    #[must_use]
    pub fn standing(&self, config: &Config, by_factors: Standing) -> Standing {
        by_factors.with_device_by_replay(config, self.device)
    }

    fn of_rank(config: &Config, module: usize, rank: &RankMemory) -> Option<Self> {
        let found = reserved(config, rank, JobMoment::default())?;
        let range = (found.low, found.high);
        Some(Self {
            peak: rank.total,
            range,
            device: device_by_replay(config, module, (rank.total, rank.graphs), range),
            replays: found.replayed,
            holes: found.holes.free,
            moment: found.holes.moment.to_string(),
        })
    }
}

/// A sentence for a job that is [tight](Verdict::Tight) by the factors: what the device shows by them, and whether the replay
/// settles if the job fits.
#[must_use]
pub fn settled(by_replay: &Standing, by_factors: &Standing, scale: Scale) -> String {
    let (low, high) = by_factors.device;
    let (too, settles) = match by_replay.verdict {
        Verdict::Tight => (" too", "does not settle it"),
        Verdict::Unknown | Verdict::Fits | Verdict::DoesNotFit | Verdict::NotThisJob | Verdict::Refused(_) => {
            ("", "settles it")
        }
    };
    format!(
        "Tight by the factors{too} ({}); a replay {settles}.",
        scale.range(low, high)
    )
}

/// What a replay finds for a stage of a job, in a line.
#[must_use]
pub fn line(config: &Config, found: &Replayed, scale: Scale) -> String {
    let (low, high) = found.range;
    format!(
        "Reserved by a replay: {}; {}. {} of it are free but of no use: {}.",
        scale.range(low, high),
        device_words(found.device, Verdict::of(config, found.device), scale),
        scale.amount(found.holes),
        found.moment,
    )
}

/// How a replay comes to what it finds.
#[must_use]
pub fn derivation(found: &Replayed, scale: Scale) -> String {
    let (low, high) = found.replays;
    format!(
        "The replay asks a model of PyTorch's allocator for each tensor of this stage as Megatron makes it, through three \
         iterations, and counts segments: {} for {} allocated. What is free is of no use when segments grow for the last \
         time: no block of it is large enough. Ranks of one stage and repetitions of one job differ, so that the interval is \
         {LEAST_OF_REPLAY} to {MOST_OF_REPLAY} times that: nine of ten measured runs are in theirs. The verdict uses it \
         where the factors leave open whether the job fits.",
        scale.range(low, high),
        scale.amount(found.peak),
    )
}

/// What a stage reserves by the factors, in a line, and how that is found; `None` where there is no such stage.
#[must_use]
pub fn by_factors(config: &Config, estimate: &Estimate, at: StageRef, scale: Scale) -> Option<[String; 2]> {
    let module = config.modules().get(at.module)?;
    let stage = estimate.stage(at)?;
    let device = memory_range(module, config.gpu_memory(), stage.total, stage.graphs);
    let [factors, ..] = device.overheads;
    let (low, high) = (stage.total + factors.low, stage.total + factors.high);
    let args = module.args();
    Some([
        format!("Reserved by the factors: {}.", scale.range(low, high)),
        format!(
            "Published runs reserved {} to {} times what they allocated, here {}. The verdict uses that, and a replay of \
             PyTorch's allocator where that leaves open whether the job fits.",
            args.reserved_over_allocated_low,
            args.reserved_over_allocated_high,
            scale.amount(stage.total),
        ),
    ])
}

/// What a setting of the allocator would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gained {
    /// The setting.
    pub setting: AllocatorSetting,
    /// The index of the module that it is made in.
    pub module: usize,
    /// The reserved bytes that it saves, on the ranks that reserve most.
    bytes: Bytes,
    /// The reserved memory of the job as it is, the least and the most.
    now: (Bytes, Bytes),
    /// The reserved memory of the job with the change.
    then: (Bytes, Bytes),
}

impl From<&ReservedGain> for Gained {
    fn from(gain: &ReservedGain) -> Self {
        let range = |of: &ReservedRange| (of.low, of.high);
        Self {
            setting: gain.setting,
            module: gain.module,
            bytes: gain.bytes(),
            now: range(&gain.now),
            then: range(&gain.then),
        }
    }
}

/// What a setting of the allocator would gain, in a sentence, and what it costs.
#[must_use]
pub fn gain(gained: Gained, scale: Scale) -> String {
    let range = |(low, high)| scale.range(low, high);
    let (costs, how) = if gained.setting.costs_nothing() {
        (" and cost nothing", "")
    } else {
        (
            "",
            " It takes a little time: the driver is asked for memory more often.",
        )
    };
    format!(
        "By a replay of PyTorch's allocator, {} would reserve {} less{costs}: {} in place of {}.{how}",
        gained.setting.label(),
        scale.amount(gained.bytes),
        range(gained.then),
        range(gained.now),
    )
}
