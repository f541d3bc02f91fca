//! One optimizer step: the passes of its micro batches, its gradients, its optimizer.

use strum::{EnumCount, EnumIter, IntoEnumIterator};

use super::coefficients::Coefficients;
use super::contents::PipelineContents;
use super::cost::{Cost, Seconds};
use super::exchange::ring_speed;
use super::hardware::Hardware;
use super::layers::{BlockTapes, Blocks, ChunkTimes, LayerTimes, Software};
use super::passes::{launched, wide};
use super::pipeline::{ChunkTime, Pipeline, Replay};
use super::placement::{GroupKind, group};
use crate::config::job::Module;
use crate::memory::ModuleEstimate;
use crate::memory::bucket::{Bucket, ByBucket};
use crate::model::sizes::Sizes;

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
    /// Waiting for the host to launch kernels and collectives.
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
            | Self::ElementwiseFromHopper
            | Self::KernelStarts => Part::Compute,
            Self::Attention => Part::Attention,
            Self::TensorNear | Self::TensorNearFromHopper | Self::TensorFar => Part::TensorParallel,
            Self::ExpertNear | Self::ExpertFar => Part::ExpertParallel,
            Self::Context => Part::ContextParallel,
            Self::Collectives => Part::Host,
        }
    }
}

/// Seconds by part.
pub type Parts = [f64; Part::COUNT];

/// The nominal times of a module's step, from which any coefficients make a time.
#[derive(Clone, Debug)]
pub struct Nominal {
    contents: PipelineContents,
    /// The times of each kind of chunk.
    chunks: Vec<ChunkTimes<Seconds>>,
    beside: Beside,
    /// Floating-point operations of the model for one step, over all ranks.
    flops: f64,
}

impl Nominal {
    /// The nominal times of a step of a module with this estimate.
    #[must_use]
    pub fn new(m: &Module, estimate: &ModuleEstimate, on: &Hardware, software: Software) -> Self {
        let architecture = &estimate.architecture;
        let places = architecture.places();
        let tapes = BlockTapes::of(m, architecture);
        let blocks = Blocks::new(m, (tapes, places), (on, software), |seconds| seconds);
        let layers = LayerTimes::new(m, &blocks);
        let contents = PipelineContents::new(m, places, architecture.specs().len());
        let chunks: Vec<ChunkTimes<Seconds>> = contents.chunks.iter().map(|chunk| layers.chunk(chunk)).collect();
        let flops = |kind: &usize| chunks.get(*kind).map_or(0.0, |chunk| chunk.flops);
        let of_replica: f64 = contents.ranks.iter().flatten().map(flops).sum();
        Self {
            beside: Beside::new(m, estimate.stages.iter().map(|stage| stage.memory), on),
            // Forward, input gradient and weight gradient take as many operations each.
            flops: 3.0 * of_replica * wide(m.tp) * wide(m.sequence_parts()) * wide(m.dp) * wide(m.num_microbatches),
            contents,
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
        let chunks = self.chunks.iter().map(|chunk| ChunkTimes {
            forward: chunk.forward.total(with),
            backward: chunk.backward.total(with),
            layers: chunk.layers,
            flops: chunk.flops,
        });
        let pipeline = Pipeline {
            contents: &self.contents,
            chunks: chunks.map(|chunk| self.beside.chunk_time(m, &chunk, with)).collect(),
        };
        let slowest = pipeline.slowest();
        let passes = slowest.1 * wide(m.num_microbatches.max(1));

        let mut parts = Parts::default();
        let mut add = |part: Part, seconds: f64| {
            if let Some(slot) = parts.get_mut(part as usize) {
                *slot += seconds;
            }
        };
        let of_slowest = self.contents.ranks.get(slowest.0).map_or(&[][..], Vec::as_slice);
        let nominal = of_slowest
            .iter()
            .filter_map(|kind| self.chunks.get(*kind))
            .fold(Seconds::default(), |sum, chunk| sum + chunk.forward + chunk.backward);
        let longer = in_pipeline(m, with);
        let mut gpu = 0.0;
        for cost in Cost::iter() {
            let seconds = nominal.in_practice(cost, with) * longer * wide(m.num_microbatches.max(1));
            add(cost.part(), seconds);
            gpu += seconds;
        }
        add(Part::Host, passes - gpu);
        add(
            Part::Pipeline,
            pipeline.seconds(m, replay) - passes + self.beside.messages * with.messages,
        );
        add(Part::DataParallel, self.beside.data_exposed(slowest.1, with));
        add(Part::Optimizer, self.beside.optimizer * with.optimizer);
        parts
    }

    /// Seconds of a step, with these coefficients.
    #[must_use]
    pub fn seconds(&self, m: &Module, with: &Coefficients, replay: Replay) -> f64 {
        self.parts(m, with, replay).into_iter().sum()
    }
}

/// What a step takes beside the work of its chunks, in nominal seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// Messages between pipeline stages.
    messages: f64,
    /// Gradients and parameters between data-parallel ranks, on the stage that takes longest.
    data: f64,
    /// The optimizer, on the stage that takes longest. It begins once all stages have reduced their gradients, whose norm
    /// is that of the whole model.
    optimizer: f64,
    /// Whether gradients are reduced while the backward pass runs.
    overlaps: bool,
    /// The part of the host's work that takes time.
    host: f64,
}

impl Beside {
    /// Those of a module whose stages have this memory by bucket. Of stages with the same model states one is enough.
    pub(super) fn new(m: &Module, stages: impl IntoIterator<Item = ByBucket>, on: &Hardware) -> Self {
        let (mut longest_data, mut longest_optimizer) = (0.0_f64, 0.0_f64);
        for memory in stages {
            let bytes = |bucket: Bucket| memory.get(bucket as usize).map_or(0.0, |bytes| wide(bytes.0));
            longest_data = longest_data.max(data(m, bytes, on));
            longest_optimizer = longest_optimizer.max(optimizer(bytes, on));
        }
        Self {
            messages: messages(m, on),
            data: longest_data,
            optimizer: longest_optimizer,
            overlaps: m.args.overlap_grad_reduce,
            host: launched(m),
        }
    }

    /// The passes of a chunk, with the host's launches.
    fn chunk_time(&self, m: &Module, chunk: &ChunkTimes<f64>, with: &Coefficients) -> ChunkTime {
        let host = chunk.layers * with.host * self.host;
        let longer = in_pipeline(m, with);
        ChunkTime {
            forward: longer * either(chunk.forward, host / 3.0),
            backward: longer * either(chunk.backward, host * 2.0 / 3.0),
        }
    }

    /// Seconds of gradients and parameters between data-parallel ranks that the passes do not hide, which take so long
    /// for one micro batch on the slowest rank.
    fn data_exposed(&self, slowest: f64, with: &Coefficients) -> f64 {
        let data = self.data * with.data;
        if self.overlaps {
            (DATA_EXPOSED * data).max(data - DATA_HIDING * slowest)
        } else {
            data
        }
    }

    /// Seconds of a step whose chunks take these times, with the closed form of its pipeline: the sum of its
    /// [parts](Nominal::parts).
    pub(super) fn seconds(
        &self,
        m: &Module,
        (contents, layers): (&PipelineContents, &LayerTimes<f64>),
        with: &Coefficients,
    ) -> f64 {
        let time = |chunk| self.chunk_time(m, &layers.chunk(chunk), with);
        let pipeline = Pipeline {
            contents,
            chunks: contents.chunks.iter().map(time).collect(),
        };
        let (_, slowest) = pipeline.slowest();
        pipeline.seconds(m, Replay::ClosedForm)
            + self.messages * with.messages
            + self.data_exposed(slowest, with)
            + self.optimizer * with.optimizer
    }
}

/// How much longer the passes of a module take because it has a pipeline.
fn in_pipeline(m: &Module, with: &Coefficients) -> f64 {
    if m.pp > 1 { 1.0 + with.pipeline } else { 1.0 }
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
    let bytes = wide(sizes.widest_message().elements()) * wide(sizes.stream_width());
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
