//! The tensors of a stage that stay: parameters, buffers of parameters and gradients, and the optimizer's states, in the
//! order in which Megatron makes them.

use super::passes::COMPUTE;
use super::storages::{StorageId, Storages};
use crate::config::field::Decimal;
use crate::config::job::Module;
use crate::memory::allocator::Stream;
use crate::memory::bucket::State;
use crate::memory::parameters::{Count, one_tensor};
use crate::memory::peak::Stages;
use crate::memory::state_rule::StateRule;
use crate::memory::states::made_by_first_step;
use crate::model::tensor::ParamTensor;
use crate::model::{PartKind, trained};
use crate::parallel::groups::View;
use crate::parallel::stages::Chunk;
use crate::units::{Bytes, multiply};

/// The stream on which `DistributedDataParallel` is made (`wrap_model`).
const SETUP: Stream = Stream(1);
/// Elements that a parameter's start in a buffer is a multiple of.
const ALIGNMENT: u64 = 64;
/// Elements that a bucket has at least, unless it is the last (`DistributedDataParallelConfig.bucket_size`).
const LEAST_BUCKET: u64 = 40_000_000;
/// Elements that a bucket has at least for each rank that shares it.
const LEAST_OF_RANK: u64 = 1_000_000;

/// A parameter of a chunk.
#[derive(Clone, Copy, Debug)]
struct Parameter {
    /// How many it counts as of what has a state.
    count: Count,
    view: View,
    trained: bool,
    /// Whether weight decay applies to it: to matrices.
    decayed: bool,
}

/// The part of a parameter that a rank has optimizer states of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shard {
    count: Count,
    view: View,
    /// Whether the states that the optimizer may keep on the host are on the GPU.
    on_gpu: bool,
}

/// The most parameters of a stage that are listed: no real stage has more than some ten thousand.
const MOST_PARAMETERS: u64 = 1_000_000;

/// The states of a stage.
pub(super) struct StageStates<'a> {
    stages: &'a Stages<'a>,
    chunks: Vec<Vec<Parameter>>,
    /// The parts of parameters whose optimizer states the rank has, in the order in which the optimizer makes them.
    shards: Vec<Shard>,
}

impl<'a> StageStates<'a> {
    /// The states of a rank, by its place among the ranks that share optimizer states of dense parameters; `None` where
    /// there are more parameters than can be listed.
    pub(super) fn new(stages: &'a Stages<'a>, pp_rank: u32, rank: u64) -> Option<Self> {
        let m = stages.m;
        if number_of_parameters(stages, pp_rank) > MOST_PARAMETERS {
            return None;
        }
        let chunks = m.stages.rank(pp_rank).iter();
        let chunks: Vec<Vec<Parameter>> = chunks.map(|chunk| parameters(stages, chunk)).collect();
        let mut shards = Vec::new();
        // The optimizers of dense parameters and of experts follow each other.
        for view in [View::Dense, View::Expert] {
            let first = shards.len();
            for decayed in [true, false] {
                for (index, chunk) in chunks.iter().enumerate() {
                    let of_view: Vec<Parameter> = chunk.iter().copied().filter(|p| p.view == view).collect();
                    // Megatron buckets only the first chunk of the first stage (`get_model`).
                    let bucketed = m.args.overlap_grad_reduce && pp_rank == 0 && index == 0;
                    shards_of(m, (view, rank), &of_view, (decayed, bucketed), &mut shards);
                }
            }
            if m.args.optimizer_cpu_offload {
                offload(
                    m.args.optimizer_offload_fraction,
                    shards.get_mut(first..).unwrap_or_default(),
                );
            }
        }
        Some(Self { stages, chunks, shards })
    }

    /// Bytes of a state of so many parameters that no other rank shares.
    fn bytes(&self, state: State, view: View, count: Count) -> u64 {
        let rule = self.stages.rules.of(state, view);
        let whole = StateRule { shard: 1, ..rule };
        whole.bytes_of(count).0
    }

    /// Bytes of a state of a shard.
    fn bytes_of_shard(&self, state: State, shard: &Shard) -> u64 {
        let rule = self.stages.rules.of(state, shard.view);
        if rule.on_gpu == Decimal::ONE {
            return self.bytes(state, shard.view, shard.count);
        }
        let on_gpu = StateRule {
            shard: 1,
            on_gpu: Decimal::ONE,
            ..rule
        };
        if shard.on_gpu {
            on_gpu.bytes_of(shard.count).0
        } else {
            0
        }
    }

    /// Makes parameters, buffers and main parameters.
    pub(super) fn set_up(&self, storages: &mut Storages) {
        let m = self.stages.m;
        let fsdp = m.args.use_megatron_fsdp || m.args.use_torch_fsdp2;
        let mut models = Vec::new();
        for chunk in &self.chunks {
            let weights = chunk.iter().map(|p| {
                let ranks = if fsdp {
                    self.stages.rules.of(State::Weights, p.view).shard.max(1)
                } else {
                    1
                };
                storages.allocate(self.bytes(State::Weights, p.view, p.count) / ranks, COMPUTE)
            });
            let weights: Vec<Option<StorageId>> = weights.collect();
            models.push(weights);
        }
        for (chunk, weights) in self.chunks.iter().zip(models) {
            for view in [View::Dense, View::Expert] {
                self.buffers(chunk, view, &weights, storages, fsdp);
            }
        }
        if !made_by_first_step(m, State::MainParams) {
            for shard in &self.shards {
                self.main_parameter(shard, storages);
            }
        }
    }

    /// The buffers of one view of a chunk (`_ParamAndGradBuffer`). With the distributed optimizer parameters move into
    /// one, the last one first.
    fn buffers(
        &self,
        chunk: &[Parameter],
        view: View,
        weights: &[Option<StorageId>],
        storages: &mut Storages,
        fsdp: bool,
    ) {
        let m = self.stages.m;
        let of_view = || chunk.iter().zip(weights).filter(|(p, _)| p.view == view && p.trained);
        let sum = |state: State| {
            let each = of_view().map(|(p, _)| {
                let rule = self.stages.rules.of(state, view);
                let elements = multiply(p.count.elements.div_ceil(ALIGNMENT), ALIGNMENT);
                let bytes = self.bytes(state, view, Count { elements, ..p.count });
                if fsdp { bytes / rule.shard.max(1) } else { bytes }
            });
            each.fold(0, u64::saturating_add)
        };
        let moves = m.args.use_distributed_optimizer && !fsdp;
        if moves {
            storages.allocate(sum(State::Weights), SETUP);
        }
        storages.allocate(sum(State::MainGrads), SETUP);
        if moves {
            for (_, storage) in of_view().rev() {
                storages.release(*storage);
            }
        }
    }

    /// The main parameter of a shard: a copy in the dtype of training, of which a copy in fp32 is made
    /// (`_build_model_and_main_param_groups`).
    fn main_parameter(&self, shard: &Shard, storages: &mut Storages) {
        let main = self.bytes_of_shard(State::MainParams, shard);
        if main == 0 {
            return;
        }
        let width = self.stages.m.precision.bytes();
        let copy = storages.allocate(multiply(shard.count.elements, width), COMPUTE);
        storages.allocate(main, COMPUTE);
        storages.release(copy);
    }

    /// Makes the states that the optimizer's first step makes, shard by shard.
    pub(super) fn first_step(&self, storages: &mut Storages) {
        let m = self.stages.m;
        for shard in &self.shards {
            for state in [State::ExpAvg, State::ExpAvgSq, State::MainParams] {
                if made_by_first_step(m, state) {
                    storages.allocate(self.bytes_of_shard(state, shard), COMPUTE);
                }
            }
        }
    }

    /// One tensor for each shard, which take so many bytes together.
    pub(super) fn copies(&self, Bytes(bytes): Bytes, storages: &mut Storages) -> Vec<Option<StorageId>> {
        let all: u128 = self.shards.iter().map(|s| u128::from(s.count.elements)).sum();
        let share = |shard: &Shard| {
            let share = u128::from(bytes) * u128::from(shard.count.elements);
            u64::try_from(share.checked_div(all).unwrap_or(0)).unwrap_or(u64::MAX)
        };
        let shards = self.shards.iter().filter(|_| bytes > 0);
        shards.map(|shard| storages.allocate(share(shard), COMPUTE)).collect()
    }
}

/// The number of parameters of a stage.
fn number_of_parameters(stages: &Stages<'_>, pp_rank: u32) -> u64 {
    let (m, architecture) = (stages.m, stages.architecture());
    let parts = architecture.parts().iter().map(|part| {
        let copies = part.parameters.iter().map(|tensor| one_tensor(m, tensor).1);
        copies.fold(0, u64::saturating_add)
    });
    let parts: Vec<u64> = parts.collect();
    let chunks = m.stages.rank(pp_rank).iter();
    let counts = chunks.flat_map(|chunk| {
        let counts = architecture.chunk_parts(m, chunk).into_iter();
        counts.zip(&parts).map(|(count, each)| multiply(count, *each))
    });
    counts.fold(0, u64::saturating_add)
}

/// The parameters of a chunk in the order of the model.
fn parameters(stages: &Stages<'_>, chunk: &Chunk) -> Vec<Parameter> {
    let (m, architecture) = (stages.m, stages.architecture());
    let counts = architecture.chunk_parts(m, chunk);
    let mut out = Vec::new();
    let mut add = |kind: PartKind, tensors: &[ParamTensor]| {
        for tensor in tensors {
            let (elements, copies) = one_tensor(m, tensor);
            let parameter = Parameter {
                count: Count::of(kind, tensor, elements),
                view: tensor.sharding.view(),
                trained: trained(m, tensor.component),
                decayed: tensor.dimensions > 1,
            };
            out.extend((0..copies).map(|_| parameter));
        }
    };
    let mut layers = false;
    for (part, count) in architecture.parts().iter().zip(&counts) {
        if part.kind.layer().is_none() {
            for _ in 0..*count {
                add(part.kind, &part.parameters);
            }
        } else if !core::mem::replace(&mut layers, true) {
            // All layers in their order, where the parts list the distinct ones.
            for place in chunk.layers.clone().filter_map(|layer| architecture.place(layer)) {
                if let Some(part) = architecture.parts().get(1 + place) {
                    add(part.kind, &part.parameters);
                }
            }
        }
    }
    out
}

/// Moves states of whole shards to the host, in their order, until they are this part of all elements or more
/// (`HybridDeviceOptimizer._get_sub_optimizer_param_groups`).
fn offload(part: Decimal, shards: &mut [Shard]) {
    let elements = |shard: &Shard| u128::from(shard.count.elements);
    let all: u128 = shards.iter().map(elements).sum();
    let least = all * u128::from(part.0);
    let mut moved = 0;
    for shard in shards {
        if moved * u128::from(Decimal::ONE.0) >= least {
            break;
        }
        moved += elements(shard);
        shard.on_gpu = false;
    }
}

/// Adds what a rank has states of among parameters of a chunk and a view, the last one first.
fn shards_of(
    m: &Module,
    (view, rank): (View, u64),
    parameters: &[Parameter],
    (decayed, bucketed): (bool, bool),
    out: &mut Vec<Shard>,
) {
    let (ranks, rank) = match view {
        View::Dense => (m.dense_shard().max(1), rank),
        View::Expert => (
            m.expert_shard().max(1),
            multiply(rank, m.tp) / multiply(m.etp, m.ep).max(1),
        ),
    };
    let rank = rank % ranks;
    let a = &m.args;
    let part = |p: &Parameter, elements: u64| {
        let share = |n: u64| {
            let share = u128::from(n) * u128::from(elements) / u128::from(p.count.elements.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        Shard {
            count: Count {
                elements,
                matrices: share(p.count.matrices),
                quantized: share(p.count.quantized),
                in_fp32: share(p.count.in_fp32),
            },
            view,
            on_gpu: true,
        }
    };
    // FSDP splits every parameter; without the distributed optimizer ranks have all states, or whole matrices.
    if a.use_megatron_fsdp || a.use_torch_fsdp2 || !a.use_distributed_optimizer {
        let chosen = parameters.iter().filter(|p| p.trained && p.decayed == decayed);
        out.extend(chosen.map(|p| part(p, p.count.elements.div_ceil(ranks))));
        return;
    }
    let least = a
        .ddp_bucket_size
        .unwrap_or_else(|| LEAST_BUCKET.max(multiply(LEAST_OF_RANK, ranks)));
    let least = if bucketed { least } else { u64::MAX };
    let mut bucket: Vec<(u64, Parameter)> = Vec::new();
    let mut end = 0u64;
    let mut close = |bucket: &mut Vec<(u64, Parameter)>, end: &mut u64| {
        // The rank's part of the bucket.
        let each = multiply(end.div_ceil(ranks).div_ceil(128), 128);
        let own = multiply(rank, each)..multiply(rank + 1, each);
        for (start, parameter) in bucket.drain(..) {
            let stop = start.saturating_add(parameter.count.elements).min(own.end);
            let elements = stop.saturating_sub(start.max(own.start));
            if elements > 0 && parameter.decayed == decayed {
                out.push(part(&parameter, elements));
            }
        }
        *end = 0;
    };
    for parameter in parameters.iter().rev().filter(|p| p.trained) {
        bucket.push((end, *parameter));
        let size = multiply(parameter.count.elements.div_ceil(ALIGNMENT), ALIGNMENT);
        end = end.saturating_add(size);
        if end >= least {
            close(&mut bucket, &mut end);
        }
    }
    close(&mut bucket, &mut end);
}
