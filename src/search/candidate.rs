//! A combination that Megatron runs: its memory and what it costs.

use serde::{Deserialize, Serialize};

use super::bubble::Bubbles;
use super::options::Order;
use super::placement::Crossing;
use super::step_cost::StepCost;
use super::traffic::Traffic;
use crate::config::gpus::GpuMemory;
use crate::config::job::{Config, Module};
use crate::memory::bucket::ByBucket;
use crate::memory::savings::choice_of;
use crate::memory::{Estimate, LayoutPlainTapes, StageRef};
use crate::time::TimeTables;
use crate::units::{Bytes, narrow};
use crate::verdict::{Verdict, device};

/// Tokens of a sequence on a context-parallel rank below which the ring's exchange takes longer than the attention that
/// it should hide behind; sequences of twice as many need no context parallelism for speed.
pub const SHORT_SEQUENCE: u64 = 4096;

/// Memory that a GPU has beyond what PyTorch allocates in layouts that run as fast as predicted. With less, layouts of
/// Hagemann et al. on A100 80 GB (`src/evidence/step_times/runs.json`) took up to 1.7 times as long as their neighbours.
pub const ROOM_FOR_SPEED: Bytes = Bytes(5 << 30);

/// A legal combination with its derived sizes, its memory and what it costs. A search keeps millions of them, so that
/// counts, which the bounds of the fields hold below 2^32, are of 32 bits.
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
    pub gpu: Option<GpuMemory>,
    /// The stage with the largest peak.
    pub worst: StageRef,
    /// GPUs of the job.
    pub gpus: u32,
    /// GPUs of one model replica: the larger of TP · CP and ETP · EP, times PP.
    pub replica: u32,
    /// Context-parallel size.
    pub cp: u32,
    /// Groups inside layers that leave the node or `NVLink` domain.
    pub crossing: Crossing,
    /// Virtual-pipeline size: chunks on each pipeline rank.
    pub vpp: u32,
    /// Data-parallel size.
    pub dp: u32,
    /// Data-parallel size of routed experts.
    pub edp: u32,
    /// Micro batches of one iteration on each data-parallel rank.
    pub num_microbatches: u32,
    /// The pipeline bubble: the time that pipeline ranks wait, in millionths of their working time. See
    /// [`bubble_ppm`](super::bubble_ppm).
    pub bubble_ppm: u64,
    /// Recomputation of all stages, in millionths of the matrix products of their forward passes.
    pub recomputed_ppm: u64,
    /// The recomputed floating-point operations of a GPU of the slowest stage in one iteration.
    pub recomputed_flops: u64,
    /// Bytes that a GPU of the slowest stage sends in one step. See [`traffic`](super::traffic()).
    pub traffic: Traffic,
    /// The same as operations that the GPU could do meanwhile, in millionths of those of its passes. See
    /// [`Traffic::operations`].
    pub exchange_ppm: u64,
    /// Bytes that a GPU of the slowest stage reads and writes of weights and main gradients for all micro batches, in
    /// the same measure. See [`StepCost`].
    pub weights_ppm: u64,
    /// The predicted time of a step in nanoseconds; `None` where the prediction does not follow the job. See
    /// [`time`](crate::time).
    pub step_nanoseconds: Option<u64>,
    /// By what it is ordered.
    pub order: Order,
    /// Whether context-parallel ranks have fewer than [`SHORT_SEQUENCE`] tokens of a sequence.
    pub splits_short_sequences: bool,
}

/// The memory of the stages of a language model by bucket.
pub(super) struct LanguageMemory {
    /// On the slowest stage.
    pub(super) slowest: ByBucket,
    /// On all stages, of those with the same model states at least one.
    pub(super) stages: Vec<ByBucket>,
    /// The tapes of blocks that the layout shares with others, where it does.
    pub(super) tapes: Option<LayoutPlainTapes>,
}

impl LanguageMemory {
    /// That of the module of an estimate with this index; `None` where it has no such pipeline rank.
    pub(super) fn of(estimate: &Estimate, module: usize, slowest: u32) -> Option<Self> {
        let stages = &estimate.modules.get(module)?.stages;
        Some(Self {
            slowest: stages.get(usize::try_from(slowest).ok()?)?.memory,
            stages: stages.iter().map(|stage| stage.memory).collect(),
            tapes: None,
        })
    }
}

/// The stage of a job with the largest peak, and the rank that runs it.
pub(super) struct WorstStage {
    pub(super) at: StageRef,
    /// The peak of the rank, which may run stages of other modules too.
    pub(super) peak: Bytes,
    /// Bytes that CUDA graphs of the rank reserve beyond the peak.
    pub(super) graphs: Bytes,
}

impl WorstStage {
    pub(super) fn of(estimate: &Estimate) -> Self {
        Self {
            at: estimate.worst,
            peak: estimate.worst_rank.total,
            graphs: estimate.worst_rank.graphs,
        }
    }
}

impl Candidate {
    /// A checked job with its worst stage. `memory` is that of its language model, by the rank of the slowest stage.
    pub(super) fn new(
        index: u64,
        config: &Config,
        worst: &WorstStage,
        (bubbles, times): (&mut Bubbles, &mut TimeTables),
        memory: impl FnOnce(u32) -> Option<LanguageMemory>,
    ) -> Option<Self> {
        let language = config.modules().iter().find(|m| m.io().is_language())?;
        let derived = language.derived();
        let (least, most) = device(config, worst.at.module, worst.peak, worst.graphs);
        let work = bubbles.work(language, choice_of(language));
        let memory = memory(work.slowest)?;
        let cost = StepCost::new(language, &memory.slowest, &work);
        Some(Self {
            index,
            adapters: language.adapters().is_some(),
            peak: worst.peak,
            least,
            most,
            gpu: config.reported_gpu_memory(),
            worst: worst.at,
            gpus: narrow(config.world_size()),
            replica: narrow(replica(language)),
            cp: narrow(language.cp),
            crossing: Crossing::of(language),
            vpp: narrow(derived.virtual_pipeline_model_parallel_size),
            dp: narrow(language.dp),
            edp: narrow(language.edp),
            num_microbatches: narrow(language.num_microbatches),
            bubble_ppm: cost.bubble_ppm,
            recomputed_ppm: cost.recomputed_ppm,
            recomputed_flops: cost.recomputed_flops,
            traffic: cost.traffic,
            exchange_ppm: cost.exchange_ppm,
            weights_ppm: cost.weights_ppm,
            step_nanoseconds: times.step_nanoseconds_of(config, memory.stages, memory.tapes.as_ref()),
            order: Order::default(),
            splits_short_sequences: splits_short_sequences(language),
        })
    }

    /// Its cost in a step.
    #[must_use]
    pub fn step_cost(&self) -> StepCost {
        StepCost {
            bubble_ppm: self.bubble_ppm,
            recomputed_ppm: self.recomputed_ppm,
            recomputed_flops: self.recomputed_flops,
            traffic: self.traffic,
            exchange_ppm: self.exchange_ppm,
            weights_ppm: self.weights_ppm,
        }
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
        self.verdict_on(self.gpu)
    }

    /// Whether the layout fits, but leaves less than [`ROOM_FOR_SPEED`] free, so that it runs slower than predicted.
    #[must_use]
    pub fn is_nearly_full(&self) -> bool {
        let free = self.gpu.map(|gpu| gpu.least.saturating_sub(self.peak));
        self.verdict() == Verdict::Fits && free.is_some_and(|free| free < ROOM_FOR_SPEED)
    }

    /// The verdict on the layout by its numbers, on a GPU with this memory.
    pub(super) fn verdict_on(&self, gpu: Option<GpuMemory>) -> Verdict {
        Verdict::of_memory(gpu, (self.least, self.most))
    }

    /// The GPU's memory minus the peak in bytes, negative where the GPU has less; `None` where no GPU is chosen.
    #[must_use]
    pub fn headroom(&self) -> Option<i64> {
        let signed = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        self.gpu.map(|gpu| signed(gpu.least).saturating_sub(signed(self.peak)))
    }
}

/// Whether context-parallel ranks of a module have fewer than [`SHORT_SEQUENCE`] tokens of a sequence.
#[must_use]
pub fn splits_short_sequences(m: &Module) -> bool {
    m.cp > 1 && m.args().seq_length / m.cp < SHORT_SEQUENCE
}

/// GPUs of one model replica. Experts may be spread over ranks that otherwise hold replicas of the dense layers.
#[must_use]
pub fn replica(m: &Module) -> u64 {
    let experts = if m.moe.is_some() { m.etp.saturating_mul(m.ep) } else { 1 };
    m.tp.saturating_mul(m.cp).max(experts).saturating_mul(m.pp)
}
