//! The buffers that Megatron FSDP keeps for the whole run besides model states: padding, gathered parameters outside of
//! layers, and the double buffers.

use super::group::FsdpGroup;
use super::model::FsdpModel;
use super::pools::Pools;
use super::{Fsdp, transposed};
use crate::config::choices::{ShardingStrategy, SoftwareFact};
use crate::config::job::Module;
use crate::memory::bucket::{Bucket, Padding, State};
use crate::memory::caching_allocator::unsplit as rest;
use crate::memory::parameters::Count;
use crate::memory::states::StateRules;
use crate::model::quantization::quantizes_parameters;
use crate::parallel::stages::Chunk;
use crate::units::multiply;

/// The groups of a stage and what is allocated beside them.
#[derive(Clone, Debug)]
pub(crate) struct StageFsdp {
    fsdp: Fsdp,
    groups: Vec<FsdpGroup>,
    pools: Pools,
    /// Elements of the copies by columns of parameters in fp8 that stay, where FSDP decides on them.
    pub(crate) fp8_copies: Option<u64>,
}

/// One buffer: what it is, its elements and bytes.
pub(crate) struct FsdpBuffer {
    pub(crate) what: &'static str,
    pub(crate) elements: u64,
    pub(crate) bytes: u64,
}

impl StageFsdp {
    /// Bytes of the gathered parameters outside of layers, which `buffers` lists, that are released between iterations.
    pub(crate) fn released_between_iterations(&self, m: &Module) -> u64 {
        if SoftwareFact::FsdpReleasesOutsideLayers.holds(&m.args) {
            self.gathered_outside().bytes
        } else {
            0
        }
    }

    /// The gathered parameters outside of layers.
    fn gathered_outside(&self) -> FsdpBuffer {
        let fsdp = &self.fsdp;
        let outside = self.groups.iter().filter(|group| group.unit.is_none());
        let gathered = outside.filter(|group| fsdp.weight_ranks(group.view) > 1);
        let (mut elements, mut bytes) = (0u64, 0u64);
        for group in gathered {
            let copies = if group.fp8 && self.fp8_copies.is_some_and(|copies| copies > 0) {
                2
            } else {
                1
            };
            elements += group.padded_elements * copies;
            bytes += multiply(group.padded_elements * copies, fsdp.weight_bytes(group.fp8));
        }
        FsdpBuffer {
            what: "gathered parameters outside of layers",
            elements,
            bytes,
        }
    }
}

impl FsdpModel<'_> {
    /// The groups of a stage's chunks.
    pub(crate) fn stage(&self, chunks: &[Chunk]) -> StageFsdp {
        let groups: Vec<FsdpGroup> = chunks.iter().flat_map(|chunk| self.groups(chunk)).collect();
        StageFsdp {
            fsdp: self.fsdp,
            pools: Pools::new(self.m, &self.fsdp, &groups),
            fp8_copies: fp8_copies(self.m, &self.fsdp, &groups),
            groups,
        }
    }
}

/// Copies by columns that stay. With split parameters those of mxfp8 are split as well, and others are dropped
/// after every layer unless they are to be kept.
fn fp8_copies(m: &Module, fsdp: &Fsdp, groups: &[FsdpGroup]) -> Option<u64> {
    if !quantizes_parameters(m) || fsdp.strategy != ShardingStrategy::OptimGradsParams {
        return None;
    }
    let columns = transposed(m);
    if !columns && m.args.keep_fp8_transpose_cache {
        return None;
    }
    let groups = groups.iter().filter(|group| columns && group.fp8);
    Some(
        groups
            .map(|group| group.padded_elements / fsdp.weight_ranks(group.view))
            .sum(),
    )
}

/// The buffers beside states, padding aside.
pub(crate) fn buffers(stage: &StageFsdp) -> Vec<FsdpBuffer> {
    let mut out = vec![stage.gathered_outside()];
    let pools = [
        (stage.pools.weights, "double buffers for gathered parameters"),
        (stage.pools.gradients, "double buffers for unreduced gradients"),
    ];
    for (size, what) in pools {
        out.push(FsdpBuffer {
            what,
            elements: size.elements,
            bytes: size.bytes,
        });
    }
    out
}

/// Calls `add` with the padding and gaps in weights, main gradients and main parameters. Moments are tensors of their
/// own.
pub(crate) fn padding(buffers: &StageFsdp, rules: &StateRules, add: &mut dyn FnMut(Padding)) {
    for bucket in Bucket::ALL {
        let Some((state, view)) = bucket.state() else {
            continue;
        };
        let mut held = Count::default();
        let (mut elements, mut padded, mut bytes) = (0u64, 0u64, 0u64);
        for (group, part) in buffers.parts(bucket) {
            held.elements += group.elements;
            if group.fp8 {
                held.quantized += group.elements;
            }
            elements += group.elements;
            padded += group.padded_elements;
            bytes += part;
        }
        let states = rules.of(state, view).bytes_of(held).0;
        add(Padding {
            bucket,
            elements: Some((elements, padded)),
            bytes: bytes.saturating_sub(states),
        });
    }
}

/// Calls `add` with the tails that the allocator does not split off behind the buffers of groups.
pub(crate) fn unsplit(stage: &StageFsdp, add: &mut dyn FnMut(Padding)) {
    for bucket in Bucket::ALL {
        let parts = stage.parts(bucket).map(|(_, bytes)| bytes);
        let bytes = match bucket.state() {
            Some((State::MainGrads, _)) => rest(parts.sum()),
            _ => parts.map(rest).sum(),
        };
        add(Padding {
            bucket,
            elements: None,
            bytes,
        });
    }
}

impl StageFsdp {
    /// The groups that have a state in a flat buffer, each with the bytes of this rank's part.
    fn parts(&self, bucket: Bucket) -> impl Iterator<Item = (&FsdpGroup, u64)> {
        let fsdp = self.fsdp;
        let state = bucket.state();
        self.groups.iter().filter_map(move |group| {
            let (state, view) = state?;
            let (ranks, bytes) = match state {
                // Without sharding, parameters stay what they were.
                State::Weights if fsdp.strategy == ShardingStrategy::NoShard => return None,
                State::Weights => (fsdp.weight_ranks(view), fsdp.weight_bytes(group.fp8)),
                State::MainGrads => (fsdp.grad_ranks(view), fsdp.main_grads_dtype(group.fp8).bytes()),
                State::MainParams => (fsdp.optimizer_ranks(view), fsdp.main_params.bytes()),
                State::ExpAvg | State::ExpAvgSq => return None,
            };
            let has = group.view == view && (group.trained || state == State::Weights);
            has.then(|| (group, multiply(group.padded_elements / ranks, bytes)))
        })
    }
}
