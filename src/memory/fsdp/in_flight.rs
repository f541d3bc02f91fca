//! The bytes in flight while layers run: parameters that are gathered for them and ahead of them, and gradients that
//! wait to be reduced (`AllGatherPipeline`, `GradReducePipeline`).

use core::ops::Range;
use std::collections::VecDeque;

use super::group::FsdpGroup;
use super::model::FsdpModel;
use super::pools::Pools;
use super::{Fsdp, transposed};
use crate::config::choices::ShardingStrategy;
use crate::config::job::Module;
use crate::model::quantization::Fp8;
use crate::parallel::groups::View;
use crate::parallel::stages::Chunk;
use crate::units::multiply;

/// Bytes in flight while a block of a chunk is at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockInFlight {
    /// Gathered parameters in the forward pass.
    pub(crate) forward: u64,
    /// Gathered parameters in the backward pass.
    pub(crate) backward: u64,
    /// Unreduced gradients in the backward pass.
    pub(crate) gradients: u64,
}

/// The buckets that are communicated together: those of one layer with the same ranks, or one bucket outside of layers.
#[derive(Clone, Copy, Debug)]
struct BucketGroup {
    unit: Option<u32>,
    view: View,
    /// Elements with padding.
    elements: u64,
    /// Elements of what has gradients.
    trained: u64,
    /// Bytes of its gathered parameters, where ranks split them.
    weights: u64,
    /// Bytes of its gradients before their reduction, where ranks split what they are reduced to.
    gradients: u64,
}

/// Elements that may be in flight at least, unless the job says how many
/// (`MegatronFSDP._init_fsdp_param_and_grad_buffer`).
const LEAST_UNIT_SIZE: u64 = 1_000_000_000;

impl FsdpModel<'_> {
    /// The bytes in flight at every block of a chunk: its embedding, if it has one, its layers, and what follows them.
    pub(crate) fn in_flight(&self, chunk: &Chunk) -> Vec<BlockInFlight> {
        let transient = Transient::new(self.m, &self.fsdp, &self.groups(chunk));
        let layers = chunk.num_layers() as usize;
        let units = transient.units.len();
        let waiting = transient.waiting();
        let gradients = |unit: usize| waiting.get(unit).copied().unwrap_or(0);
        let mut out = Vec::with_capacity(layers + 2);
        if chunk.embedding {
            out.push(BlockInFlight {
                forward: transient.after_outside(),
                backward: 0,
                gradients: gradients(0) + transient.late_gradients(self.m),
            });
        }
        for unit in 0..layers.min(units) {
            out.push(BlockInFlight {
                forward: transient.forward(unit),
                backward: transient.backward(unit),
                gradients: gradients(unit),
            });
        }
        // Modules outside of layers gather nothing ahead: since the first backward pass they are taken for recomputed
        // ones. What the loss needs is at its most before any layer of an MTP depth runs backwards, and its own
        // gradients are on the tape.
        out.push(BlockInFlight::default());
        out
    }

    /// Bytes of the gradients outside of layers that the output layer begins to make.
    pub(crate) fn output_gradients(&self) -> u64 {
        let mut chunks = self.m.stages.chunks().iter();
        chunks.find(|chunk| chunk.output).map_or(0, |chunk| {
            Transient::new(self.m, &self.fsdp, &self.groups(chunk)).early_gradients(self.m)
        })
    }
}

/// The buckets of a chunk with the rules for how many of them are in flight.
struct Transient {
    buckets: Vec<BucketGroup>,
    /// The buckets of each layer.
    units: Vec<Range<usize>>,
    /// Elements that are gathered ahead.
    prefetch: u64,
    /// Elements of gradients that may wait.
    capacity: u64,
    pools: Pools,
    /// With double buffers, never more than two layers are gathered.
    double_buffer: bool,
}

impl Transient {
    fn new(m: &Module, fsdp: &Fsdp, groups: &[FsdpGroup]) -> Self {
        let size = m.args.suggested_communication_unit_size;
        let size = size.unwrap_or_else(|| default_unit_size(fsdp, groups));
        let buckets = bucket_groups(m, fsdp, groups);
        let mut units: Vec<Range<usize>> = Vec::new();
        for (index, bucket) in buckets.iter().enumerate() {
            let Some(unit) = bucket.unit else { continue };
            match units.get_mut(unit as usize) {
                Some(own) => own.end = index + 1,
                None => units.push(index..index + 1),
            }
        }
        Self {
            buckets,
            units,
            prefetch: size / 2,
            capacity: size,
            pools: Pools::new(m, fsdp, groups),
            double_buffer: m.args.fsdp_double_buffer,
        }
    }

    /// Bytes gathered while a layer runs forwards: its own and those after it.
    fn forward(&self, unit: usize) -> u64 {
        let own = self.own(unit);
        let ahead = self.ahead(&own, own.end..self.buckets.len());
        self.gathered(own.start..own.end + ahead)
    }

    /// Bytes gathered while a layer runs backwards: its own and those before it.
    fn backward(&self, unit: usize) -> u64 {
        let own = self.own(unit);
        let ahead = self.ahead(&own, (0..own.start).rev());
        self.gathered(own.start.saturating_sub(ahead)..own.end)
    }

    /// Bytes gathered with the first bucket outside of layers, as at the start of an iteration: those of the layers
    /// after it. With double buffers nothing is gathered ahead then.
    fn after_outside(&self) -> u64 {
        let outside = |bucket: &BucketGroup| bucket.unit.is_none();
        let Some(first) = self.buckets.iter().position(outside) else {
            return 0;
        };
        if self.double_buffer {
            return 0;
        }
        let own = first..first + 1;
        let ahead = self.ahead(&own, own.end..self.buckets.len());
        self.gathered(own.end..own.end + ahead)
    }

    /// For every layer, bytes of gradients while it runs backwards: its own and those that wait. Where more elements
    /// wait than may, the oldest are waited for.
    fn waiting(&self) -> Vec<u64> {
        let mut out = vec![0; self.units.len()];
        let mut queue: VecDeque<&BucketGroup> = VecDeque::new();
        let (mut elements, mut bytes) = (0u64, 0u64);
        // The bucket with the embedding's gradient is complete last; the others outside of layers are complete with the
        // output layer's.
        let unfinished = self.outside().next().filter(|_| self.alone());
        let unfinished = unfinished.map_or(0, |bucket| self.unreduced(bucket));
        for bucket in self.outside().skip(1) {
            queue.push_back(bucket);
            elements += bucket.trained;
            bytes += self.unreduced(bucket);
        }
        for (unit, waiting) in out.iter_mut().enumerate().rev() {
            let own = self.buckets.get(self.own(unit)).unwrap_or_default();
            let new: u64 = own.iter().map(|bucket| self.unreduced(bucket)).sum();
            *waiting = unfinished + bytes + new;
            for bucket in own.iter().rev() {
                while elements > self.capacity
                    && let Some(oldest) = queue.pop_front()
                {
                    elements -= oldest.trained;
                    bytes -= self.unreduced(oldest);
                }
                queue.push_back(bucket);
                elements += bucket.trained;
                bytes += self.unreduced(bucket);
            }
        }
        out
    }

    /// The buckets outside of layers; the first has the embedding.
    fn outside(&self) -> impl Iterator<Item = &BucketGroup> {
        self.buckets.iter().filter(|bucket| bucket.unit.is_none())
    }

    /// Whether one bucket holds all parameters outside of layers.
    fn alone(&self) -> bool {
        self.outside().nth(1).is_none()
    }

    /// Bytes of the gradients outside of layers that the output layer begins to make.
    fn early_gradients(&self, m: &Module) -> u64 {
        let tied = !m.args.untie_embeddings_and_output_weights;
        let first = usize::from(!self.alone() && !tied);
        self.outside().skip(first).map(|bucket| self.unreduced(bucket)).sum()
    }

    /// Bytes of those that only the embedding makes.
    fn late_gradients(&self, m: &Module) -> u64 {
        let all: u64 = self.outside().map(|bucket| self.unreduced(bucket)).sum();
        all - self.early_gradients(m)
    }

    /// The buckets of a layer.
    fn own(&self, unit: usize) -> Range<usize> {
        self.units.get(unit).cloned().unwrap_or_default()
    }

    /// The number of buckets that are gathered ahead of `own`, of those that come next.
    fn ahead(&self, own: &Range<usize>, next: impl Iterator<Item = usize>) -> usize {
        let own = self.buckets.get(own.clone()).unwrap_or_default();
        let pooled = own.iter().filter(|bucket| self.pools.has(bucket.unit));
        let mut units: Vec<Option<u32>> = pooled.map(|bucket| bucket.unit).collect();
        units.dedup();
        let (mut count, mut elements) = (0, 0u64);
        for bucket in next.filter_map(|index| self.buckets.get(index)) {
            if elements >= self.prefetch {
                break;
            }
            if self.double_buffer && !units.contains(&bucket.unit) {
                units.push(bucket.unit);
                if units.len() > 2 {
                    break;
                }
            }
            elements = elements.saturating_add(bucket.elements);
            count += 1;
        }
        count
    }

    /// Bytes of the gathered parameters of these buckets that are allocated for them.
    fn gathered(&self, buckets: Range<usize>) -> u64 {
        let buckets = self.buckets.get(buckets).unwrap_or_default().iter();
        let allocated = buckets.filter(|bucket| self.allocates(bucket));
        allocated.map(|bucket| bucket.weights).sum()
    }

    /// Bytes of a bucket's gradients that are allocated for it.
    fn unreduced(&self, bucket: &BucketGroup) -> u64 {
        if self.pools.has(bucket.unit) || self.pools.keep_all {
            0
        } else {
            bucket.gradients
        }
    }

    /// Whether a bucket is allocated each time it is used. Parameters outside of layers stay.
    fn allocates(&self, bucket: &BucketGroup) -> bool {
        bucket.unit.is_some() && !self.pools.has(bucket.unit) && !self.pools.keep_all
    }
}

/// The buckets of groups that are communicated together.
fn bucket_groups(m: &Module, fsdp: &Fsdp, groups: &[FsdpGroup]) -> Vec<BucketGroup> {
    // Copies by columns are made where a layer needs them, and dropped behind it.
    let copies = match Fp8::of(m) {
        Some(fp8) if !transposed(m) && !m.args.keep_fp8_transpose_cache => fp8.both,
        _ => 1,
    };
    let mut buckets: Vec<BucketGroup> = Vec::new();
    for group in groups {
        let width = fsdp.weight_bytes(group.fp8) * if group.fp8 { copies } else { 1 };
        let trained = if group.trained { group.padded_elements } else { 0 };
        let one = BucketGroup {
            unit: group.unit_index,
            view: group.view,
            elements: group.padded_elements,
            trained,
            weights: if fsdp.weight_ranks(group.view) > 1 {
                multiply(group.padded_elements, width)
            } else {
                0
            },
            gradients: if fsdp.grad_ranks(group.view) > 1 {
                multiply(trained, fsdp.unreduced_bytes(group.fp8))
            } else {
                0
            },
        };
        // The groups of one layer follow each other.
        let layer = buckets.iter_mut().rev();
        let mut layer = layer.take_while(|other| one.unit.is_some() && other.unit == one.unit);
        match layer.find(|other| other.view == one.view) {
            Some(known) => {
                known.elements += one.elements;
                known.trained += one.trained;
                known.weights += one.weights;
                known.gradients += one.gradients;
            }
            None => buckets.push(one),
        }
    }
    buckets
}

/// Elements that may be in flight: twice those of a mean layer, but a billion at least.
fn default_unit_size(fsdp: &Fsdp, groups: &[FsdpGroup]) -> u64 {
    if fsdp.strategy != ShardingStrategy::OptimGradsParams {
        return LEAST_UNIT_SIZE;
    }
    let layers = groups.iter().filter(|group| group.unit.is_some());
    let (mut elements, mut units) = (0u64, 0u64);
    for group in layers {
        elements += group.elements;
        units = units.max(group.unit_index.map_or(0, |index| u64::from(index) + 1));
    }
    multiply(elements / units.max(1), 2).max(LEAST_UNIT_SIZE)
}
