//! The nominal seconds of the exchanges of a layer between the ranks of its groups, for one micro batch.
//!
//! Within a node or `NVLink` domain a rank sends at that speed; a group that leaves it sends at the speed of the network,
//! which its members in the domain share.

use super::cost::{Cost, Seconds};
use super::hardware::Hardware;
use super::passes::{launched, wide};
use super::placement::{Group, GroupKind, group};
use super::sent::{self, Sent};
use crate::config::choices::TokenDispatcher;
use crate::config::job::Module;
use crate::config::layers::{CoreAttention, Layer, MlpKind};
use crate::model::sizes::Sizes;
use crate::model::tensor::factor;

/// Seconds from the start of a collective to its first byte, as NCCL's tables have it for small messages in a node.
const START: f64 = 15e-6;
/// The part of the ring of context parallelism that attention does not hide.
const RING_EXPOSED: f64 = 0.3;
/// The part of an input's second gather that is exposed: the product before hides the rest.
const GATHERED_AGAIN_EXPOSED: f64 = 0.5;
/// The part of tensor-parallel exchanges that is left with `tp_comm_overlap`.
const TP_OVERLAPPED: f64 = 0.6;
/// The part of the exchanges of experts that is left with `overlap_moe_expert_parallel_comm`.
const EP_OVERLAPPED: f64 = 0.35;

/// The exchanges of a layer in its two passes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exchanges<T = Seconds> {
    pub(super) forward: T,
    pub(super) backward: T,
    /// Of the forward pass, those of the routed experts.
    pub(super) experts: T,
}

impl Exchanges {
    /// Times made of these nominal seconds.
    pub(super) fn summed<T>(&self, sum: impl Fn(Seconds) -> T) -> Exchanges<T> {
        Exchanges {
            forward: sum(self.forward),
            backward: sum(self.backward),
            experts: sum(self.experts),
        }
    }
}

/// Bytes a second that a rank of a group sends in a ring.
pub(super) fn ring_speed(of: Group, on: &Hardware) -> f64 {
    if of.crosses() {
        on.near.min(on.far * wide(of.together.max(1)))
    } else {
        on.near
    }
}

fn share(n: u64) -> f64 {
    wide(n.saturating_sub(1)) / wide(n.max(1))
}

/// The exchanges of one layer.
pub(super) fn exchanges(m: &Module, layer: Layer, on: &Hardware) -> Exchanges {
    let m = &m.of_layer(layer.sizes);
    let mut out = Exchanges::default();
    if let Some(mixer) = layer.mixer {
        tensor(m, sent::for_mixer(m, mixer), on, &mut out);
        context(m, mixer.core_attention(), on, &mut out);
    }
    match layer.mlp {
        Some(MlpKind::Dense) => tensor(m, sent::for_mlp(m), on, &mut out),
        Some(MlpKind::Moe) => {
            if m.moe.as_ref().is_some_and(|moe| moe.shared > 0) && !m.args.moe_shared_expert_overlap {
                tensor(m, sent::for_mlp(m), on, &mut out);
            }
            experts(m, on, &mut out);
        }
        None => {}
    }
    out
}

/// The gather before the output layer, or the scatter after the embedding, of this module.
pub(super) fn ends(m: &Module, on: &Hardware) -> Exchanges {
    let mut out = Exchanges::default();
    tensor(m, sent::for_output_layer(m), on, &mut out);
    out
}

/// The seconds that so many bytes take, which are still to be divided by the ranks.
fn seconds(bytes: u128, ranks: u64, speed: f64) -> f64 {
    wide(u64::try_from(bytes).unwrap_or(u64::MAX)) / wide(ranks.max(1)) / speed
}

/// One gathered input and one reduced output.
fn tensor(m: &Module, sent: Sent, on: &Hardware, out: &mut Exchanges) {
    if m.tp < 2 {
        return;
    }
    let of = group(m, GroupKind::Tensor);
    let cost = if of.crosses() {
        Cost::TensorFar
    } else {
        on.tensor_near()
    };
    let exposed = if m.args.tp_comm_overlap { TP_OVERLAPPED } else { 1.0 };
    let seconds = |bytes| exposed * seconds(bytes, sent.ranks, ring_speed(of, on));
    out.forward.spend(cost, seconds(sent.forward));
    out.backward.spend(
        cost,
        seconds(sent.backward) + GATHERED_AGAIN_EXPOSED * seconds(sent.gathered_again),
    );
    // With the overlap the products of Transformer Engine pass pieces on themselves, and no collective starts.
    if !m.args.tp_comm_overlap {
        out.forward.spend(Cost::Collectives, 2.0 * START * launched(m));
        out.backward.spend(Cost::Collectives, 2.0 * START * launched(m));
    }
}

/// Keys and values on their way around the ring, or queries, keys, values and outputs that change places.
fn context(m: &Module, core: CoreAttention, on: &Hardware, out: &mut Exchanges) {
    if m.sequence_parts() < 2 || core == CoreAttention::None {
        return;
    }
    let of = group(m, GroupKind::Context);
    let sent = sent::for_attention(m, core);
    let exposed = if m.args.cp_comm_type.is_all_to_all() {
        1.0
    } else {
        RING_EXPOSED
    };
    let seconds = |bytes| exposed * seconds(bytes, sent.ranks, ring_speed(of, on));
    out.forward.spend(Cost::Context, seconds(sent.forward));
    out.backward.spend(Cost::Context, seconds(sent.backward));
    out.forward.spend(Cost::Collectives, START * launched(m));
    out.backward.spend(Cost::Collectives, START * launched(m));
}

/// Tokens to their experts and back, in each pass.
fn experts(m: &Module, on: &Hardware, out: &mut Exchanges) {
    let Some(moe) = &m.moe else { return };
    let a = &m.args;
    let sizes = Sizes::new(m);
    let columns = a.moe_latent_size.unwrap_or(a.hidden_size);
    let own = wide(sizes.own_tokens(&[factor("h", columns)]).elements()) * wide(sizes.width());
    let mut seconds = Seconds::default();
    if m.ep > 1 {
        let of = group(m, GroupKind::Expert);
        let domains = wide(of.size / of.together.max(1));
        let topk = wide(moe.topk);
        let (near, far) = match a.moe_token_dispatcher_type {
            TokenDispatcher::AllGather if of.crosses() => (0.0, own * wide(m.ep - 1) / wide(of.together.max(1))),
            TokenDispatcher::AllGather => (own * wide(m.ep - 1), 0.0),
            TokenDispatcher::AllToAll | TokenDispatcher::Flex if !of.crosses() => (own * topk * share(m.ep), 0.0),
            TokenDispatcher::AllToAll => (own * topk / domains, own * topk * (1.0 - 1.0 / domains)),
            TokenDispatcher::Flex => {
                // A token goes once to each other domain that has experts of it.
                let misses = (0..moe.topk).fold(1.0, |misses, _| misses * (1.0 - 1.0 / domains));
                (own * topk * share(of.together), own * (domains - 1.0) * (1.0 - misses))
            }
        };
        seconds.spend(Cost::ExpertNear, 2.0 * near / on.near);
        seconds.spend(Cost::ExpertFar, 2.0 * far / on.far);
        seconds.spend(Cost::Collectives, 2.0 * START * launched(m));
    }
    if m.etp > 1 {
        let of = group(m, GroupKind::ExpertTensor);
        let gathered = own * wide(moe.topk) * wide(m.etp - 1);
        let cost = if of.crosses() {
            Cost::TensorFar
        } else {
            on.tensor_near()
        };
        seconds.spend(cost, 2.0 * gathered / ring_speed(of, on));
        seconds.spend(Cost::Collectives, 2.0 * START * launched(m));
    }
    let exposed = if a.overlap_moe_expert_parallel_comm {
        EP_OVERLAPPED
    } else {
        1.0
    };
    let seconds = seconds * exposed;
    out.forward += seconds;
    out.backward += seconds;
    out.experts += seconds;
}
