//! The bytes that a GPU sends in one step, by process group and by whether they stay in the node or `NVLink` domain.
//!
//! Sizes are those of the tensors of the estimate: the shapes of [`Sizes`] for activations, and the buckets of weights
//! and main gradients for parameters. Of a tensor of `S` bytes a rank of a group of `n` sends `S · (n - 1) / n` for an
//! all-gather, a reduce-scatter or an all-to-all, and twice as much for an all-reduce (see [`Source::Collectives`]). What
//! each layer exchanges:
//!
//! - TP: one gathered input and one reduced output for attention, and for a dense MLP or shared experts
//!   ([`Source::TpCollectives`]). With sequence parallelism the forward pass gathers and scatters, and the backward pass
//!   does both again and gathers the input once more for the weight gradient; without, both passes reduce all.
//! - CP: keys and values go around the ring in the forward pass, they and their gradients in the backward pass
//!   ([`Source::CpRing`]); with `a2a`, queries, keys, values and outputs change places in both.
//! - EP: tokens go to their `top k` experts and back, in both passes ([`Source::EpDispatch`]); with `flex`, once to each
//!   node that has experts of theirs; with `allgather`, every rank gets all tokens. ETP: the tokens that arrive are
//!   gathered, and their results reduced.
//! - PP: a stage sends its output forward and the gradient of its input backward, for every chunk and micro batch.
//! - DP: gradients are reduced and parameters gathered once a step ([`Source::DpCollectives`]); with Megatron FSDP
//!   parameters are gathered for both passes of every micro batch, and gradients scattered after each.
//!
//! A forward pass that runs again sends again. Not counted: exchanges of linear attention over CP, fp8 in place of 16
//! bits, and the embedding's gradients between first and last stage.

use core::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::placement::{Group, GroupKind, group};
use super::rank_layers::{Again, RankLayers};
use crate::config::choices::TokenDispatcher;
use crate::config::job::Module;
use crate::config::layers::{Layer, MlpKind};
use crate::memory::StageEstimate;
use crate::memory::bucket::{Bucket, ByBucket};
use crate::memory::savings::Choice;
use crate::model::sizes::Sizes;
use crate::model::tensor::factor;
#[allow(unused_imports, reason = "links of the documentation")]
use crate::source::Source;
use crate::time::sent;
use crate::units::Bytes;

/// Bytes that a GPU sends in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// To GPUs of its node or `NVLink` domain.
    pub near: Bytes,
    /// To other GPUs, over the network.
    pub far: Bytes,
}

/// Operations that a GPU could do while it sends a byte within a node: 40 % of the 989 dense bf16 TFLOP/s of an H100,
/// at the 450 GB/s of its `NVLink` in one direction ([`Source::H100`]). Both grow together from one generation to the
/// next.
const OPERATIONS_PER_NEAR_BYTE: u128 = 880;
/// Operations that a GPU could do while it sends a byte over a network of 400 Gbit/s for each GPU.
const OPERATIONS_PER_FAR_BYTE: u128 = 7_900;

impl Traffic {
    /// Operations that a GPU could do while it sends all this, for a comparison with the work of a step. What hides
    /// behind computation is not known and counts too.
    #[must_use]
    pub fn operations(self) -> u128 {
        u128::from(self.near.0) * OPERATIONS_PER_NEAR_BYTE + u128::from(self.far.0) * OPERATIONS_PER_FAR_BYTE
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.near += other.near;
        self.far += other.far;
    }
}

/// The traffic of one process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTraffic {
    /// The group.
    pub kind: GroupKind,
    /// Its ranks.
    pub group: Group,
    /// Bytes that a GPU sends in it.
    pub traffic: Traffic,
}

/// How the ranks of a group pass a tensor on.
#[derive(Clone, Copy)]
enum Pattern {
    /// From neighbour to neighbour: all-gather, reduce-scatter, pipelines.
    Ring,
    /// From each to each.
    AllToAll,
}

/// Bytes that a GPU of a stage sends in one step, by group; groups that send nothing are left out.
#[must_use]
pub fn traffic(m: &Module, stage: &StageEstimate, pp_rank: u32, choice: Choice) -> Vec<GroupTraffic> {
    let all = traffic_of(m, &stage.memory, &RankLayers::of(m, pp_rank, choice));
    all.filter(|of| of.traffic != Traffic::default()).collect()
}

/// Bytes that a GPU of a stage with this memory by bucket and these layers sends in one step, by group.
pub(super) fn traffic_of<'m>(
    m: &'m Module,
    memory: &ByBucket,
    layers: &RankLayers,
) -> impl Iterator<Item = GroupTraffic> + use<'m> {
    let sent = Sent::new(m, memory, layers);
    let of = move |kind: GroupKind| {
        let group = group(m, kind);
        let (bytes, pattern) = sent.of(kind);
        let mut traffic = split(bytes, group, pattern);
        if kind == GroupKind::Expert {
            traffic.far = Bytes(once_to_each_node(m, group, traffic.far.0));
        }
        GroupTraffic { kind, group, traffic }
    };
    GroupKind::ALL.into_iter().map(of)
}

/// Splits what a rank sends. Of a ring, one of the ranks that share a domain sends out of it; of an all-to-all, every
/// rank sends as much to each other one.
fn split(bytes: u128, group: Group, pattern: Pattern) -> Traffic {
    let (size, together) = (u128::from(group.size), u128::from(group.together.max(1)));
    let far = match pattern {
        _ if !group.crosses() => 0,
        Pattern::Ring => bytes / together,
        Pattern::AllToAll => bytes * (size - together) / (size - 1).max(1),
    };
    let narrow = |bytes: u128| Bytes(u64::try_from(bytes).unwrap_or(u64::MAX));
    Traffic {
        near: narrow(bytes - far),
        far: narrow(far),
    }
}

/// The part of the bytes over the network that the `flex` dispatcher sends: a token goes once to each other node or
/// `NVLink` domain, from where its GPUs pass it on.
fn once_to_each_node(m: &Module, group: Group, far: u64) -> u64 {
    let a = m.args();
    let Some(moe) = m
        .moe
        .as_ref()
        .filter(|_| a.moe_token_dispatcher_type == TokenDispatcher::Flex)
    else {
        return far;
    };
    let domains = group.size / group.together.max(1);
    let picked = moe.topk.min(domains);
    let part = u128::from(far) * u128::from(picked) / u128::from(moe.topk.max(1));
    u64::try_from(part).unwrap_or(far)
}

/// Bytes that a rank sends in one step, before they are split.
struct Sent {
    tensor: u128,
    expert_tensor: u128,
    context: (u128, Pattern),
    expert: (u128, Pattern),
    pipeline: u128,
    data: u128,
    expert_data: u128,
}

/// `whole · (n - 1) / n`.
fn others_share(whole: u128, n: u64) -> u128 {
    whole * u128::from(n.saturating_sub(1)) / u128::from(n.max(1))
}

impl Sent {
    fn new(m: &Module, memory: &ByBucket, rank: &RankLayers) -> Self {
        let micro_batches = u128::from(m.num_microbatches);
        let mut each = Layered::default();
        for (layer, again, times) in &rank.layers {
            each.add(m, *layer, *again, *times);
        }
        each.tensor += rank.embeddings * sent::for_embedding(m).in_passes(1);
        each.tensor += rank.outputs * sent::for_output_layer(m).in_passes(1);
        let sizes = Sizes::new(m);
        let boundary = u128::from(sizes.widest_message().elements()) * u128::from(sizes.stream_width());
        let chunks = u128::from(m.stages.chunks_per_rank());
        let passes = match m.pp {
            0 | 1 => 0,
            2 => 2 * chunks - 1,
            _ => 2 * chunks,
        };
        let bytes = |bucket: Bucket| memory.get(bucket as usize).map_or(0, |b| u128::from(b.0));
        let data = |weights, grads, n| data(m, bytes(weights), bytes(grads), n);
        Self {
            tensor: each.tensor * micro_batches,
            expert_tensor: each.expert_tensor * micro_batches,
            context: (each.context * micro_batches, context_pattern(m)),
            expert: (each.expert * micro_batches, expert_pattern(m)),
            pipeline: passes * boundary * micro_batches,
            data: data(Bucket::WeightsDense, Bucket::MainGradsDense, m.dp * m.cp),
            expert_data: data(Bucket::WeightsExpert, Bucket::MainGradsExpert, m.edp),
        }
    }

    fn of(&self, kind: GroupKind) -> (u128, Pattern) {
        match kind {
            GroupKind::Tensor => (self.tensor, Pattern::Ring),
            GroupKind::ExpertTensor => (self.expert_tensor, Pattern::Ring),
            GroupKind::Context => self.context,
            GroupKind::Expert => self.expert,
            GroupKind::Pipeline => (self.pipeline, Pattern::Ring),
            GroupKind::Data => (self.data, Pattern::Ring),
            GroupKind::ExpertData => (self.expert_data, Pattern::Ring),
        }
    }
}

/// Bytes that a data-parallel rank sends for these bytes of weights and main gradients on one rank.
fn data(m: &Module, weights: u128, grads: u128, n: u64) -> u128 {
    let a = m.args();
    if a.use_megatron_fsdp || a.use_torch_fsdp2 {
        let of_micro_batch = 2 * weights + grads;
        return of_micro_batch * u128::from(n.saturating_sub(1)) * u128::from(m.num_microbatches);
    }
    let after = if a.use_distributed_optimizer { weights } else { grads };
    others_share(grads + after, n)
}

fn context_pattern(m: &Module) -> Pattern {
    if m.args().cp_comm_type.is_all_to_all() {
        Pattern::AllToAll
    } else {
        Pattern::Ring
    }
}

fn expert_pattern(m: &Module) -> Pattern {
    match m.args().moe_token_dispatcher_type {
        TokenDispatcher::AllGather => Pattern::Ring,
        TokenDispatcher::AllToAll | TokenDispatcher::Flex => Pattern::AllToAll,
    }
}

/// Bytes that a rank sends for the layers of a stage and one micro batch.
#[derive(Default)]
struct Layered {
    tensor: u128,
    expert_tensor: u128,
    context: u128,
    expert: u128,
}

impl Layered {
    /// Adds a layer that the stage has so many times.
    fn add(&mut self, m: &Module, layer: Layer, again: Again, times: u128) {
        let m = &m.of_layer(layer.sizes);
        let forwards = |again: bool| 1 + u128::from(again);
        if let Some(mixer) = layer.mixer {
            let forwards = forwards(again.attention);
            self.tensor += times * sent::for_mixer(m, mixer).in_passes(forwards);
            self.context += times * sent::for_attention(m, mixer.core_attention()).in_passes(forwards);
        }
        match layer.mlp {
            Some(MlpKind::Dense) => {
                self.tensor += times * sent::for_mlp(m).in_passes(forwards(again.mlp));
            }
            Some(MlpKind::Moe) => {
                if m.moe.as_ref().is_some_and(|moe| moe.shared > 0) {
                    self.tensor += times * sent::for_mlp(m).in_passes(forwards(again.experts));
                }
                self.dispatch(m, again.experts, times);
            }
            None => {}
        }
    }

    /// Tokens to their experts and back.
    fn dispatch(&mut self, m: &Module, again: bool, times: u128) {
        let Some(moe) = &m.moe else { return };
        let width = m.args().moe_latent_size.unwrap_or(m.args().hidden_size);
        let sizes = Sizes::new(m);
        let own = u128::from(sizes.own_tokens(&[factor("h", width)]).elements()) * u128::from(sizes.width());
        let passes = times * if again { 6 } else { 4 };
        let routed = own * u128::from(moe.topk);
        self.expert += passes
            * match m.args().moe_token_dispatcher_type {
                TokenDispatcher::AllGather => own * u128::from(m.ep.saturating_sub(1)),
                TokenDispatcher::AllToAll | TokenDispatcher::Flex => others_share(routed, m.ep),
            };
        self.expert_tensor += passes * routed * u128::from(m.etp.saturating_sub(1));
    }
}
