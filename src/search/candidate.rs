//! A combination that Megatron runs: its memory and what it costs.

use serde::{Deserialize, Serialize};

use super::bubble::Bubbles;
use super::placement::Crossing;
use super::traffic::{Traffic, traffic_of};
use crate::config::job::{Config, Module};
use crate::memory::bucket::Bucket;
use crate::memory::overhead::memory_range;
use crate::memory::savings::{choice_of, recomputed};
use crate::memory::{Estimate, StageRef};
use crate::units::Bytes;
use crate::verdict::Verdict;

/// Tokens of a sequence on a context-parallel rank below which the ring's exchange takes longer than the attention that
/// it should hide behind; sequences of twice as many need no context parallelism for speed.
pub const SHORT_SEQUENCE: u64 = 4096;

/// A legal combination with its derived sizes, its memory and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The combination's index in the space.
    pub index: u64,
    /// Whether adapters alone are trained.
    pub adapters: bool,
    /// The peak of allocated memory on the rank that needs most.
    pub peak: Bytes,
    /// The least memory that the device shows at that peak: with the allocator's fragmentation, the CUDA context and
    /// CUDA graphs.
    pub least: Bytes,
    /// The most memory that the device shows at that peak.
    pub most: Bytes,
    /// The memory of a GPU; `None` where no GPU is chosen.
    pub gpu: Option<Bytes>,
    /// The stage with the largest peak.
    pub worst: StageRef,
    /// GPUs of the job.
    pub gpus: u64,
    /// GPUs of one model replica: the larger of TP · CP and ETP · EP, times PP.
    pub replica: u64,
    /// Context-parallel size.
    pub cp: u64,
    /// Groups inside layers that leave the node or `NVLink` domain.
    pub crossing: Crossing,
    /// Virtual-pipeline size: chunks on each pipeline rank.
    pub vpp: u64,
    /// Data-parallel size.
    pub dp: u64,
    /// Data-parallel size of routed experts.
    pub edp: u64,
    /// Micro batches of one iteration on each data-parallel rank.
    pub num_microbatches: u64,
    /// The pipeline bubble: the time that pipeline ranks wait, in millionths of their working time. See
    /// [`bubble_ppm`](super::bubble_ppm).
    pub bubble_ppm: u64,
    /// Operations of matrix products that the worst stage recomputes, in millionths of those of its forward pass.
    pub recomputed_ppm: u64,
    /// The recomputed floating-point operations of one GPU in one iteration.
    pub recomputed_flops: u64,
    /// What a GPU of the worst stage sends in one step. See [`traffic`](super::traffic()).
    pub traffic: Traffic,
    /// The same as operations that the GPU could do meanwhile, in millionths of those of its passes. See
    /// [`Traffic::operations`].
    pub exchange_ppm: u64,
    /// Whether context-parallel ranks have fewer than [`SHORT_SEQUENCE`] tokens of a sequence.
    pub splits_short_sequences: bool,
}

/// The stage of a job with the largest peak, and the rank that runs it.
pub(super) struct WorstStage {
    pub(super) at: StageRef,
    /// The memory of the stage by bucket.
    pub(super) memory: [Bytes; Bucket::COUNT],
    /// The peak of the rank, which may run stages of other modules too.
    pub(super) peak: Bytes,
    /// What CUDA graphs of the rank reserve beyond the peak.
    pub(super) graphs: Bytes,
}

impl WorstStage {
    pub(super) fn of(estimate: &Estimate) -> Option<Self> {
        Some(Self {
            at: estimate.worst,
            memory: estimate.worst_stage()?.memory,
            peak: estimate.worst_rank.total,
            graphs: estimate.worst_rank.graphs,
        })
    }
}

impl Candidate {
    /// A checked job with its worst stage.
    pub(super) fn new(index: u64, config: &Config, worst_stage: &WorstStage, bubbles: &mut Bubbles) -> Option<Self> {
        let (worst, peak) = (worst_stage.at, worst_stage.peak);
        let m = config.modules().get(worst.module)?;
        let language = config.modules().iter().find(|m| m.io().is_language())?;
        let choice = choice_of(m);
        let work = recomputed(m, worst.pp_rank, choice);
        let derived = language.derived();
        let device = memory_range(m, peak, worst_stage.graphs);
        let pp_rank = u32::try_from(worst.pp_rank).ok()?;
        let mut sent = Traffic::default();
        for of_group in traffic_of(m, &worst_stage.memory, pp_rank, choice) {
            sent += of_group.traffic;
        }
        Some(Self {
            index,
            adapters: language.adapters().is_some(),
            peak,
            least: device.low,
            most: device.high,
            gpu: config.gpu_memory(),
            worst,
            gpus: config.world_size(),
            replica: replica(language),
            cp: language.cp,
            crossing: Crossing::of(language),
            vpp: derived.virtual_pipeline_model_parallel_size,
            dp: language.dp,
            edp: language.edp,
            num_microbatches: language.num_microbatches,
            bubble_ppm: bubbles.ppm(language, choice_of(language)),
            recomputed_ppm: work.ppm,
            recomputed_flops: work.flops,
            traffic: sent,
            exchange_ppm: per_million(sent.operations(), step_operations(m, work.forward)),
            splits_short_sequences: language.cp > 1 && language.args().seq_length / language.cp < SHORT_SEQUENCE,
        })
    }

    /// Whether the device shows more than a GPU has, even at the least. Always false where no GPU is chosen.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.verdict() == Verdict::DoesNotFit
    }

    /// The verdict on the layout by its numbers. [`Space::verdict`](super::Space::verdict) knows whether they are those
    /// of the job.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of_memory(self.gpu, (self.least, self.most))
    }

    /// The GPU's memory minus the peak in bytes, negative where the GPU has less; `None` where no GPU is chosen.
    #[must_use]
    pub fn headroom(&self) -> Option<i64> {
        let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        self.gpu.map(|gpu| signed(gpu).saturating_sub(signed(self.peak)))
    }
}

fn per_million(part: u128, whole: u128) -> u64 {
    let ppm = part.saturating_mul(1_000_000).checked_div(whole);
    u64::try_from(ppm.unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Floating-point operations of a step on a GPU of a stage whose forward pass has so many multiplications for a token,
/// without those that are recomputed: two for each multiplication, and twice as many in the backward pass.
fn step_operations(m: &Module, forward: u128) -> u128 {
    let tokens = u128::from(m.args.seq_length)
        .saturating_mul(m.args.micro_batch_size.into())
        .saturating_mul(m.num_microbatches.into());
    forward.saturating_mul(6).saturating_mul(tokens) / u128::from(m.tp * m.cp).max(1)
}

/// GPUs of one model replica. Experts may be spread over ranks that otherwise hold replicas of the dense layers.
fn replica(m: &Module) -> u64 {
    let experts = if m.moe.is_some() { m.etp.saturating_mul(m.ep) } else { 1 };
    m.tp.saturating_mul(m.cp).max(experts).saturating_mul(m.pp)
}
