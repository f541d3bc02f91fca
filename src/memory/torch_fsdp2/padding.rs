//! The bytes that padding adds to the states of PyTorch's FSDP2, and those that the allocator does not split off.

use super::StageShards;
use super::group::{ParamGroup, Shards, WIDTHS};
use crate::memory::bucket::{Bucket, Padding, State};
use crate::memory::caching_allocator::unsplit as rest;
use crate::memory::parameters::Count;
use crate::memory::state_rule::{AppliesTo, StateRule};
use crate::memory::states::StateRules;
use crate::model::tape::block;
use crate::parallel::groups::View;
use crate::units::multiply;

/// The states that every parameter has a part of on each rank, with the rule of each.
fn split_states(rules: &StateRules) -> impl Iterator<Item = (Bucket, State, View, StateRule)> {
    let states = Bucket::ALL.into_iter().filter_map(|bucket| {
        let (state, view) = bucket.state()?;
        Some((bucket, state, view, rules.of(state, view)))
    });
    states.filter(|(.., rule)| rule.applies_to == AppliesTo::All)
}

/// What padding the first dimension of every parameter adds to states, and rounding every tensor to whole blocks. The
/// gradients of a layer are one tensor.
pub(crate) fn padding(held: &StageShards, rules: &StateRules, add: &mut dyn FnMut(Padding)) {
    for (bucket, state, view, rule) in split_states(rules) {
        let (mut elements, mut padded, mut bytes) = (0u64, 0u64, 0u64);
        for group in held.groups() {
            let shards = group.of(view, state != State::Weights);
            elements += shards.elements;
            padded += multiply(shards.part, rule.shard);
            bytes += allocated(&shards, state, rule.bytes);
        }
        let count = Count {
            elements,
            ..Count::default()
        };
        add(Padding {
            bucket,
            elements: Some((elements, padded)),
            bytes: rule.on_gpu.scale_up(bytes).saturating_sub(rule.bytes_of(count).0),
        });
    }
}

/// Bytes behind each state's tensors that are too few for the allocator to split off, and so stay with them.
pub(crate) fn unsplit(held: &StageShards, rules: &StateRules, add: &mut dyn FnMut(Padding)) {
    for (bucket, state, view, rule) in split_states(rules) {
        let groups = held.groups();
        let shards = groups.map(|group| group.of(view, state != State::Weights));
        let bytes = shards.map(|shards| match state {
            State::MainGrads => rest(multiply(shards.part, rule.bytes)),
            _ => of_width(shards.unsplit, rule.bytes),
        });
        add(Padding {
            bucket,
            elements: None,
            bytes: rule.on_gpu.scale_up(bytes.sum()),
        });
    }
}

/// Bytes of the tensors of a state of so many bytes an element.
fn allocated(shards: &Shards, state: State, width: u64) -> u64 {
    match state {
        State::MainGrads => block(multiply(shards.part, width)),
        _ => of_width(shards.blocks, width),
    }
}

fn of_width(sums: [u64; 2], width: u64) -> u64 {
    let mut sums = WIDTHS.iter().zip(sums);
    sums.find(|(of, _)| **of == width).map_or(0, |(_, sum)| sum)
}

impl StageShards {
    fn groups(&self) -> impl Iterator<Item = &ParamGroup> {
        self.wrapped.iter().chain([&self.root])
    }
}
