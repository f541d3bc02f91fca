//! The bytes between and behind tensors: padding in buffers of states, and tails of the allocator's blocks.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::BufferRules;
use super::shared_segments::{EqualTensors, rests};
use super::site::Site;
use crate::config::job::Module;
use crate::memory::bucket::{Bucket, Padding, State};
use crate::memory::caching_allocator::unsplit;
use crate::memory::fsdp;
use crate::memory::parameters::{Count, one_tensor};
use crate::memory::state_rule::AppliesTo;
use crate::memory::states::gradient_copy_bytes;
use crate::memory::torch_fsdp2;
use crate::model::tape::block;
use crate::model::tensor::{Component, ParamTensor};
use crate::model::{PartCounts, trained};
use crate::parallel::groups::View;
use crate::units::{Bytes, add_times, multiply};

/// The sizes of one part's tensors with and without alignment.
#[derive(Clone, Default)]
pub(super) struct PartPadding {
    dense: Aligned,
    expert: Aligned,
    /// The embedding or output layer that another stage shares, which has a bucket of its own.
    shared: u64,
    /// The trained tensors, for those that share segments.
    trained: Vec<EqualTensors>,
}

#[derive(Clone, Copy, Default)]
struct Aligned {
    elements: u64,
    /// Elements with every tensor's start at a multiple of 64.
    in_buffer: u64,
    /// The same of parameters that stay in fp32, which have buffers of their own.
    elements_in_fp32: u64,
    in_buffer_in_fp32: u64,
    /// Bytes that rounding every tensor to whole blocks adds to weights, to main parameters, and to each other state in
    /// fp32.
    weights: u64,
    main_params: u64,
    fp32: u64,
    /// Bytes that rounding to whole blocks adds to weights that are not trained: they are in no buffer.
    frozen: u64,
    /// Bytes of the tails that the allocator does not split off behind tensors of 1, 2 and 4 bytes an element that have
    /// segments of their own.
    unsplit: [u64; 3],
}

/// The bytes between and behind the tensors of a stage's model states.
#[derive(Clone, Copy, Default)]
pub(crate) struct PaddingBytes {
    /// Bytes of padding in the buffers of states.
    pub(super) in_buffers: u64,
    /// Bytes of the tails that the allocator does not split off; none with expandable segments.
    pub(super) unsplit: u64,
}

/// Elements that a tensor's start in a buffer is a multiple of.
const ALIGNMENT: u64 = 64;

impl BufferRules {
    /// The bytes between and behind the tensors of a stage's states, which do not depend on micro batches.
    pub(crate) fn padding_bytes(&self, site: &Site<'_>) -> PaddingBytes {
        let mut bytes = PaddingBytes::default();
        self.each_padding(site, &mut |term| {
            bytes.in_buffers = bytes.in_buffers.saturating_add(term.bytes);
        });
        if !site.sizes.m.args.expandable_segments {
            self.each_unsplit(site, &mut |term| {
                bytes.unsplit = bytes.unsplit.saturating_add(term.bytes);
            });
        }
        bytes
    }

    /// Calls `add` with the padding in every bucket of states of every chunk.
    pub(crate) fn each_padding(&self, site: &Site<'_>, add: &mut dyn FnMut(Padding)) {
        if let Some(stage) = &site.fsdp {
            return fsdp::padding(stage, site.rules, add);
        }
        if let Some(stage) = &site.torch_fsdp2 {
            return torch_fsdp2::padding(stage, site.rules, add);
        }
        for counts in &site.parts {
            let mut dense = Aligned::default();
            let mut expert = Aligned::default();
            let mut shared = Vec::new();
            let parts = self.padding.iter().zip(counts);
            for (part, times) in parts.filter(|(_, times)| **times > 0) {
                dense.add(part.dense, *times);
                expert.add(part.expert, *times);
                if part.shared > 0 {
                    shared.push(part.shared);
                }
            }
            added(site, dense, &shared, View::Dense, add);
            added(site, expert, &[], View::Expert, add);
        }
    }

    /// Calls `add` with the tails that the allocator does not split off behind buffers and optimizer states.
    pub(crate) fn each_unsplit(&self, site: &Site<'_>, add: &mut dyn FnMut(Padding)) {
        if let Some(stage) = &site.fsdp {
            return fsdp::unsplit(stage, add);
        }
        if let Some(stage) = &site.torch_fsdp2 {
            return torch_fsdp2::unsplit(stage, site.rules, add);
        }
        let m = site.sizes.m;
        let distributed = m.args.use_distributed_optimizer;
        for counts in &site.parts {
            let mut held = [Aligned::default(); 2];
            let parts = self.padding.iter().zip(counts);
            for (part, times) in parts.filter(|(_, times)| **times > 0) {
                for (held, part) in held.iter_mut().zip([part.dense, part.expert]) {
                    held.add(part, *times);
                }
            }
            for bucket in Bucket::ALL {
                let Some((state, view)) = bucket.state() else {
                    continue;
                };
                let [dense, experts] = held;
                let held = match view {
                    View::Dense => dense,
                    View::Expert => experts,
                };
                let rule = site.rules.rule(bucket);
                if rule.applies_to != AppliesTo::All {
                    continue;
                }
                let one = match state {
                    State::MainGrads => true,
                    State::Weights => distributed,
                    _ => false,
                };
                let behind = WIDTHS.iter().zip(held.unsplit);
                let behind = behind.filter(|(width, _)| **width == rule.bytes);
                let bytes = if one {
                    unsplit(multiply(held.in_buffer, rule.bytes))
                } else {
                    let of_own_segments = behind.map(|(_, bytes)| bytes).sum::<u64>();
                    let all = of_own_segments.saturating_add(self.rests_in_shared_segments(counts, view, rule.bytes));
                    let states = if state == State::MainParams {
                        // fp32 copies of gradients are tensors of the same sizes.
                        1 + u64::from(gradient_copy_bytes(m) > 0)
                    } else {
                        1
                    };
                    rule.on_gpu.scale_up(multiply(all, states) / rule.shard.max(1))
                };
                add(Padding {
                    bucket,
                    elements: None,
                    bytes,
                });
            }
        }
    }
}

/// The rests in shared segments that were asked for before, by bytes of an element, view and parts.
pub(super) type KnownRests = RefCell<BTreeMap<(u64, View, PartCounts), u64>>;

impl BufferRules {
    /// Bytes of the rests behind the tensors of a chunk with these parts that share segments. Layouts of one search ask for
    /// few of them often.
    fn rests_in_shared_segments(&self, counts: &PartCounts, view: View, width: u64) -> u64 {
        let mut known = self.known_rests.borrow_mut();
        let rests = known.entry((width, view, counts.clone())).or_insert_with(|| {
            let tensors = self.padding.iter().map(|part| part.trained.as_slice());
            let parts: Vec<_> = tensors.zip(counts.iter().copied()).collect();
            rests(&parts, view, width)
        });
        *rests
    }
}

/// Whether the output layer has the weight of the embedding and is on another stage, which has a copy of it.
pub(crate) fn embedding_on_two_stages(m: &Module) -> bool {
    !m.args.untie_embeddings_and_output_weights && m.pp > 1
}

impl PartPadding {
    pub(super) fn new(m: &Module, tensors: &[ParamTensor]) -> Self {
        let mut out = Self::default();
        let tied = embedding_on_two_stages(m);
        for tensor in tensors {
            let (each, count) = one_tensor(m, tensor);
            let is_trained = trained(m, tensor.component);
            if is_trained && tied && matches!(tensor.component, Component::Embedding | Component::OutputLayer) {
                out.shared = out.shared.saturating_add(multiply(each, count));
                if m.args.use_distributed_optimizer {
                    continue;
                }
            }
            let into = match tensor.sharding.view() {
                View::Dense => &mut out.dense,
                View::Expert => &mut out.expert,
            };
            let width = if tensor.keep_in_fp32 { 4 } else { m.precision.bytes() };
            let rounding = |bytes: u64| block(bytes) - bytes;
            if !is_trained {
                let frozen = rounding(multiply(each, width));
                let aligned = Aligned {
                    frozen,
                    ..Aligned::default()
                };
                into.add(aligned, count);
                continue;
            }
            out.trained.push(EqualTensors {
                view: tensor.sharding.view(),
                elements: each,
                count,
            });
            let in_buffer = multiply(each.div_ceil(ALIGNMENT), ALIGNMENT);
            let of_fp32 = |size: u64| if tensor.keep_in_fp32 { size } else { 0 };
            let fp32 = rounding(multiply(each, 4));
            into.add(
                Aligned {
                    elements: each,
                    in_buffer,
                    elements_in_fp32: of_fp32(each),
                    in_buffer_in_fp32: of_fp32(in_buffer),
                    weights: rounding(multiply(each, width)),
                    main_params: fp32 - of_fp32(fp32),
                    fp32,
                    frozen: 0,
                    unsplit: WIDTHS.map(|width| unsplit(multiply(each, width))),
                },
                count,
            );
        }
        out
    }
}

impl Aligned {
    fn add(&mut self, other: Self, times: u64) {
        add_times(&mut self.elements, other.elements, times);
        add_times(&mut self.in_buffer, other.in_buffer, times);
        add_times(&mut self.elements_in_fp32, other.elements_in_fp32, times);
        add_times(&mut self.in_buffer_in_fp32, other.in_buffer_in_fp32, times);
        add_times(&mut self.main_params, other.main_params, times);
        add_times(&mut self.weights, other.weights, times);
        add_times(&mut self.fp32, other.fp32, times);
        add_times(&mut self.frozen, other.frozen, times);
        for (into, from) in self.unsplit.iter_mut().zip(other.unsplit) {
            add_times(into, from, times);
        }
    }
}

/// Bytes that alignment adds to the states of one chunk.
///
/// With the distributed optimizer a bucket ends at a multiple of what all its ranks can share evenly; a tied
/// embedding has a bucket of its own. Without it, every parameter is an allocation of its own, while gradients
/// still share one buffer.
fn added(site: &Site<'_>, held: Aligned, shared: &[u64], view: View, add: &mut dyn FnMut(Padding)) {
    let (m, rules) = (site.sizes.m, site.rules);
    let (weights, ranks) = match view {
        View::Dense => (Bucket::WeightsDense, m.dense_shard()),
        View::Expert => (Bucket::WeightsExpert, m.expert_shard()),
    };
    let mut rounded = |bucket, bytes| {
        add(Padding {
            bucket,
            elements: None,
            bytes,
        });
    };
    rounded(weights, held.frozen);
    if held.elements == 0 && shared.is_empty() {
        return;
    }
    let buckets = Bucket::ALL
        .into_iter()
        .filter_map(|bucket| Some((bucket, bucket.state()?)))
        .filter(|(_, (_, of))| *of == view);
    if !m.args.use_distributed_optimizer {
        for (bucket, (state, _)) in buckets {
            match state {
                State::Weights => rounded(bucket, held.weights),
                State::MainGrads => {}
                State::MainParams if rules.rule(bucket).applies_to == AppliesTo::All => {
                    rounded(bucket, held.main_params);
                }
                _ if rules.rule(bucket).applies_to == AppliesTo::All => rounded(bucket, held.fp32),
                _ => {}
            }
        }
        return;
    }
    let end = least_common_multiple(ranks, 128);
    let up = |n: u64| multiply(n.div_ceil(end), end);
    let plain = held.elements.saturating_add(shared.iter().sum());
    let in_fp32 = up(held.in_buffer_in_fp32);
    let padded = shared
        .iter()
        .fold(up(held.in_buffer - held.in_buffer_in_fp32), |sum, n| {
            sum.saturating_add(up(*n))
        })
        .saturating_add(in_fp32);
    let count = |elements, in_fp32| Count {
        elements,
        in_fp32,
        ..Count::default()
    };
    for (bucket, _) in buckets {
        let rule = rules.rule(bucket);
        let Bytes(bytes) = rule
            .bytes_of(count(padded, in_fp32))
            .saturating_sub(rule.bytes_of(count(plain, held.elements_in_fp32)));
        add(Padding {
            bucket,
            elements: Some((plain, padded)),
            bytes,
        });
    }
}

/// Bytes of elements of optimizer states.
const WIDTHS: [u64; 3] = [1, 2, 4];

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    multiply(a.max(1) / x, b.max(1))
}
