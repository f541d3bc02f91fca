//! One optimizer step: the passes of its micro batches, its gradients, its optimizer.

use strum::{EnumCount, EnumIter, IntoEnumIterator};

use super::coefficients::Coefficients;
use super::cost::{Cost, Seconds};
use super::exchange::ring_speed;
use super::hardware::Hardware;
use super::layers::{ChunkNominal, LayerTimes, Software};
use super::passes::{launched, wide};
use super::pipeline::{ChunkTime, Replay, pipeline};
use super::placement::{GroupKind, group};
use crate::config::job::Module;
use crate::memory::bucket::Bucket;
use crate::model::sizes::Sizes;
use crate::units::Bytes;

/// The part of the exchange of gradients and parameters that no overlap hides.
const DATA_EXPOSED: f64 = 0.15;
/// The part of a micro batch's passes that the exchange of gradients and parameters hides behind.
const DATA_HIDING: f64 = 0.5;

/// What a step spends its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumCount, EnumIter, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Part {
    /// Matrix products, and all that only reads and writes memory.
    Compute,
    /// Core attention.
    Attention,
    /// Exchanges between tensor-parallel ranks.
    TensorParallel,
    /// Tokens on their way to experts and back.
    ExpertParallel,
    /// Exchanges between context-parallel ranks.
    ContextParallel,
    /// Waiting for other pipeline stages, and messages between them.
    Pipeline,
    /// Gradients and parameters between data-parallel ranks.
    DataParallel,
    /// The optimizer.
    Optimizer,
    /// Waiting for the host to launch kernels.
    Host,
}

impl Part {
    /// Whether it is the work of the model itself, and no waiting for other ranks, the optimizer or the host.
    #[must_use]
    pub const fn computes(self) -> bool {
        match self {
            Self::Compute | Self::Attention => true,
            Self::TensorParallel
            | Self::ExpertParallel
            | Self::ContextParallel
            | Self::Pipeline
            | Self::DataParallel
            | Self::Optimizer
            | Self::Host => false,
        }
    }

    /// A name without spaces, such as `tensor_parallel`.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The part in words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Attention => "attention",
            Self::TensorParallel => "TP exchanges",
            Self::ExpertParallel => "expert all-to-all",
            Self::ContextParallel => "CP exchanges",
            Self::Pipeline => "pipeline waiting",
            Self::DataParallel => "gradients and parameters",
            Self::Optimizer => "optimizer",
            Self::Host => "kernel launches",
        }
    }
}

impl Cost {
    /// The part of a step that it belongs to.
    const fn part(self) -> Part {
        match self {
            Self::Products
            | Self::ProductStarts
            | Self::ExpertProducts
            | Self::ExpertBytes
            | Self::ExpertStarts
            | Self::Elementwise
            | Self::KernelStarts => Part::Compute,
            Self::Attention => Part::Attention,
            Self::TensorNear | Self::TensorFar | Self::Collectives => Part::TensorParallel,
            Self::ExpertNear | Self::ExpertFar => Part::ExpertParallel,
            Self::Context => Part::ContextParallel,
        }
    }
}

/// Seconds by part.
pub type Parts = [f64; Part::COUNT];

/// The nominal times of a module's step, from which any coefficients make a time.
#[derive(Clone, Debug)]
pub struct Nominal {
    /// The chunks of each pipeline rank.
    chunks: Vec<Vec<ChunkNominal>>,
    /// Messages between pipeline stages.
    messages: f64,
    /// Gradients and parameters between data-parallel ranks.
    data: f64,
    optimizer: f64,
    /// Whether gradients are reduced while the backward pass runs.
    overlaps: bool,
    /// The part of the host's work that takes time.
    host: f64,
    /// Floating-point operations of the model for one step, over all ranks.
    flops: f64,
}

impl Nominal {
    /// The nominal times of a step of a module whose fullest stage has this memory by bucket.
    #[must_use]
    pub fn new(m: &Module, fullest: &[Bytes; Bucket::COUNT], on: &Hardware, software: Software) -> Self {
        Self::of(m, &LayerTimes::new(m, on, software), fullest, on)
    }

    pub(super) fn of(m: &Module, layers: &LayerTimes, fullest: &[Bytes; Bucket::COUNT], on: &Hardware) -> Self {
        let rank = |pp_rank: u32| {
            m.stages
                .rank(pp_rank)
                .iter()
                .map(|chunk| layers.chunk(m, chunk))
                .collect()
        };
        let chunks: Vec<Vec<ChunkNominal>> = (0..m.stages.pp()).map(rank).collect();
        let of_replica: f64 = chunks.iter().flatten().map(|chunk| chunk.flops).sum();
        let bytes = |bucket: Bucket| fullest.get(bucket as usize).map_or(0.0, |bytes| wide(bytes.0));
        Self {
            messages: messages(m, on),
            data: data(m, bytes, on),
            optimizer: optimizer(bytes, on),
            overlaps: m.args.overlap_grad_reduce,
            host: launched(m),
            // Forward, input gradient and weight gradient take as many operations each.
            flops: 3.0 * of_replica * wide(m.tp) * wide(m.sequence_parts()) * wide(m.dp) * wide(m.num_microbatches),
            chunks,
        }
    }

    /// Floating-point operations of the model for one step, over all ranks: those of matrix products and of attention
    /// under its mask, without what is recomputed.
    #[must_use]
    pub fn flops(&self) -> f64 {
        self.flops
    }

    /// Seconds of a step by part, with these coefficients.
    #[must_use]
    pub fn parts(&self, m: &Module, with: &Coefficients, replay: Replay) -> Parts {
        let longer = if m.pp > 1 { 1.0 + with.pipeline } else { 1.0 };
        let time = |chunk: &ChunkNominal| {
            let host = chunk.layers * with.host * self.host;
            let pass = |seconds: &Seconds, host: f64| longer * either(seconds.total(with), host);
            ChunkTime {
                forward: pass(&chunk.forward, host / 3.0),
                backward: pass(&chunk.backward, host * 2.0 / 3.0),
            }
        };
        let ranks: Vec<Vec<ChunkTime>> = self.chunks.iter().map(|rank| rank.iter().map(time).collect()).collect();
        let of_rank = ranks
            .iter()
            .map(|rank| rank.iter().map(|chunk| chunk.both()).sum::<f64>());
        let slowest = of_rank
            .enumerate()
            .fold((0, 0.0), |slowest, of| if of.1 > slowest.1 { of } else { slowest });
        let passes = slowest.1 * wide(m.num_microbatches.max(1));

        let mut parts = Parts::default();
        let mut add = |part: Part, seconds: f64| {
            if let Some(slot) = parts.get_mut(part as usize) {
                *slot += seconds;
            }
        };
        let of_slowest = self.chunks.get(slowest.0).map_or(&[][..], Vec::as_slice);
        let nominal = of_slowest
            .iter()
            .fold(Seconds::default(), |sum, chunk| sum + chunk.forward + chunk.backward);
        let mut gpu = 0.0;
        for cost in Cost::iter() {
            let seconds = nominal.in_practice(cost, with) * longer * wide(m.num_microbatches.max(1));
            add(cost.part(), seconds);
            gpu += seconds;
        }
        add(Part::Host, passes - gpu);
        add(
            Part::Pipeline,
            pipeline(m, &ranks, replay) - passes + self.messages * with.messages,
        );
        let data = self.data * with.data;
        let exposed = if self.overlaps {
            (DATA_EXPOSED * data).max(data - DATA_HIDING * slowest.1)
        } else {
            data
        };
        add(Part::DataParallel, exposed);
        add(Part::Optimizer, self.optimizer * with.optimizer);
        parts
    }

    /// Seconds of a step, with these coefficients.
    #[must_use]
    pub fn seconds(&self, m: &Module, with: &Coefficients, replay: Replay) -> f64 {
        self.parts(m, with, replay).into_iter().sum()
    }
}

/// The longer of two times that mostly hide each other.
fn either(one: f64, other: f64) -> f64 {
    let fourth = |x: f64| (x * x) * (x * x);
    (fourth(one) + fourth(other)).sqrt().sqrt()
}

/// Every stage sends its output to the next one and gets the gradient back, for each micro batch and chunk.
fn messages(m: &Module, on: &Hardware) -> f64 {
    if m.pp < 2 {
        return 0.0;
    }
    let sizes = Sizes::new(m);
    let bytes = wide(sizes.residual().elements()) * wide(sizes.stream_width());
    let speed = if group(m, GroupKind::Pipeline).crosses() {
        on.far
    } else {
        on.near
    };
    let chunks = wide(u64::from(m.stages.chunks_per_rank()));
    2.0 * (wide(m.num_microbatches) * chunks + wide(m.pp)) * bytes / speed
}

/// Gradients are reduced and parameters gathered once a step.
fn data(m: &Module, bytes: impl Fn(Bucket) -> f64, on: &Hardware) -> f64 {
    let of = |grads, weights, kind| {
        let group = group(m, kind);
        let after = if m.args.use_distributed_optimizer {
            bytes(weights)
        } else {
            bytes(grads)
        };
        let n = group.size.max(1);
        (bytes(grads) + after) * wide(n - 1) / wide(n) / ring_speed(group, on)
    };
    of(Bucket::MainGradsDense, Bucket::WeightsDense, GroupKind::Data)
        + of(Bucket::MainGradsExpert, Bucket::WeightsExpert, GroupKind::ExpertData)
}

/// The optimizer reads its states, main parameters and gradients and writes them; parameters are written from the main
/// ones, and gradients are set to zero.
fn optimizer(bytes: impl Fn(Bucket) -> f64, on: &Hardware) -> f64 {
    use Bucket as B;
    let states = [
        B::MainParamsDense,
        B::MainParamsExpert,
        B::ExpAvgDense,
        B::ExpAvgExpert,
        B::ExpAvgSqDense,
        B::ExpAvgSqExpert,
    ];
    let held = [B::WeightsDense, B::WeightsExpert, B::MainGradsDense, B::MainGradsExpert];
    let sum = |buckets: &[Bucket]| buckets.iter().map(|bucket| bytes(*bucket)).sum::<f64>();
    (2.5 * sum(&states) + 1.2 * sum(&held)) / on.memory
}
