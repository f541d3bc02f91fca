//! The nominal seconds of the exchanges of a layer between the ranks of its groups, for one micro batch.
//!
//! Of a tensor of `S` bytes a rank of a group of `n` sends `S · (n - 1) / n` for an all-gather, a reduce-scatter or an
//! all-to-all, and twice as much for an all-reduce. Within a node or `NVLink` domain it sends at that speed; a group that
//! leaves it sends at the speed of the network, which its members in the domain share.

use super::cost::{Cost, Seconds};
use super::hardware::Hardware;
use super::passes::wide;
use super::placement::{Group, GroupKind, group};
use crate::config::choices::TokenDispatcher;
use crate::config::job::Module;
use crate::config::layers::{CoreAttention, Layer, MlpKind};
use crate::model::sizes::Sizes;
use crate::model::tensor::factor;

/// Seconds from the start of a collective to its first byte.
const START: f64 = 15e-6;
/// The part of the ring of context parallelism that attention does not hide.
const RING_EXPOSED: f64 = 0.3;
/// The part of tensor-parallel exchanges that is left with `tp_comm_overlap`.
const TP_OVERLAPPED: f64 = 0.6;
/// The part of the exchanges of experts that is left with `overlap_moe_expert_parallel_comm`.
const EP_OVERLAPPED: f64 = 0.35;

/// The exchanges of a layer in its two passes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exchanges {
    pub(super) forward: Seconds,
    pub(super) backward: Seconds,
    /// Of the forward pass, those of the routed experts.
    pub(super) experts: Seconds,
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
    let mut out = Exchanges::default();
    let hidden = bytes(m, m.args.hidden_size);
    if let Some(mixer) = layer.mixer {
        let input = match mixer.core_attention() {
            CoreAttention::Latent | CoreAttention::Sparse => latent(m),
            CoreAttention::Heads | CoreAttention::None => hidden,
        };
        tensor(m, (input, hidden), on, &mut out);
        context(m, mixer.core_attention(), on, &mut out);
    }
    match layer.mlp {
        Some(MlpKind::Dense) => tensor(m, (hidden, hidden), on, &mut out),
        Some(MlpKind::Moe) => {
            if m.moe.as_ref().is_some_and(|moe| moe.shared > 0) && !m.args.moe_shared_expert_overlap {
                tensor(m, (hidden, hidden), on, &mut out);
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
    tensor(m, (bytes(m, m.args.hidden_size), 0.0), on, &mut out);
    out
}

/// Bytes of this many columns for every token of a context-parallel rank.
fn bytes(m: &Module, columns: u64) -> f64 {
    let sizes = Sizes::new(m);
    wide(sizes.tokens(&[factor("n", columns)]).elements()) * wide(sizes.width())
}

/// Bytes of the compressed queries, keys and values of multi-latent attention, whose up projections TP splits.
fn latent(m: &Module) -> f64 {
    let a = &m.args;
    bytes(
        m,
        a.q_lora_rank.unwrap_or(a.hidden_size) + a.kv_lora_rank + a.qk_pos_emb_head_dim,
    )
}

/// One gathered input and one reduced output.
fn tensor(m: &Module, (input, output): (f64, f64), on: &Hardware, out: &mut Exchanges) {
    if m.tp < 2 {
        return;
    }
    let of = group(m, GroupKind::Tensor);
    let cost = if of.crosses() {
        Cost::TensorFar
    } else {
        Cost::TensorNear
    };
    let exposed = if m.args.tp_comm_overlap { TP_OVERLAPPED } else { 1.0 };
    let seconds = |bytes: f64| exposed * share(m.tp) * bytes / ring_speed(of, on);
    let (forward, backward) = if m.sequence_parallel {
        // The input is gathered once more for the weight gradient, half of it behind the product before.
        (input + output, output + input + 0.5 * input)
    } else {
        (2.0 * output, 2.0 * input)
    };
    out.forward.spend(cost, seconds(forward));
    out.backward.spend(cost, seconds(backward));
    out.forward.spend(Cost::Collectives, 2.0 * START);
    out.backward.spend(Cost::Collectives, 2.0 * START);
}

/// Keys and values on their way around the ring, or queries, keys, values and outputs that change places.
fn context(m: &Module, core: CoreAttention, on: &Hardware, out: &mut Exchanges) {
    let parts = m.sequence_parts();
    if parts < 2 {
        return;
    }
    let a = &m.args;
    let heads = a.num_attention_heads;
    let (query, keys_and_values, output) = match core {
        CoreAttention::Heads => (
            heads * m.kv_channels,
            2 * m.num_query_groups.max(m.tp) * m.kv_channels,
            heads * m.kv_channels,
        ),
        CoreAttention::Latent | CoreAttention::Sparse => {
            let width = a.qk_head_dim + a.qk_pos_emb_head_dim;
            (heads * width, heads * (width + a.v_head_dim), heads * a.v_head_dim)
        }
        CoreAttention::None => return,
    };
    let of = group(m, GroupKind::Context);
    let of_rank = |columns: u64| bytes(m, columns) / wide(m.tp.max(1));
    let (forward, backward) = if a.cp_comm_type.is_all_to_all() {
        let exchanged = of_rank(query + keys_and_values + output) * share(parts);
        (exchanged, exchanged)
    } else {
        let round = of_rank(keys_and_values) * wide(parts - 1) * RING_EXPOSED;
        (round, 2.0 * round)
    };
    out.forward.spend(Cost::Context, forward / ring_speed(of, on));
    out.backward.spend(Cost::Context, backward / ring_speed(of, on));
    out.forward.spend(Cost::Collectives, START);
    out.backward.spend(Cost::Collectives, START);
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
        seconds.spend(Cost::Collectives, 2.0 * START);
    }
    if m.etp > 1 {
        let of = group(m, GroupKind::ExpertTensor);
        let gathered = own * wide(moe.topk) * wide(m.etp - 1);
        let cost = if of.crosses() {
            Cost::TensorFar
        } else {
            Cost::TensorNear
        };
        seconds.spend(cost, 2.0 * gathered / ring_speed(of, on));
        seconds.spend(Cost::Collectives, 2.0 * START);
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
