//! The bytes that a rank of tensor or context parallelism sends for a part of a layer and one micro batch, by pass.
//!
//! Of a tensor of `S` bytes a rank of a group of `n` sends `S · (n - 1) / n` for an all-gather, a reduce-scatter or an
//! all-to-all, and twice as much for an all-reduce ([`Source::Collectives`]).

use crate::config::fields::Args;
use crate::config::job::Module;
use crate::config::layers::{CoreAttention, Mixer};
use crate::model::sizes::Sizes;
use crate::model::tensor::factor;
#[allow(unused_imports, reason = "links of the documentation")]
use crate::source::Source;

/// Bytes that a rank sends in each pass, times `ranks`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// In the forward pass.
    pub(crate) forward: u128,
    /// In the backward pass, without what is gathered again.
    pub(crate) backward: u128,
    /// In the backward pass, the input that is gathered once more for the weight gradient.
    pub(crate) gathered_again: u128,
    /// The divisor of the bytes: a remainder is not lost before they are added up.
    pub(crate) ranks: u64,
}

impl Sent {
    /// Bytes in both passes, where the forward pass runs `forwards` times.
    pub(crate) fn in_passes(self, forwards: u128) -> u128 {
        (self.forward * forwards + self.backward + self.gathered_again) / u128::from(self.ranks.max(1))
    }
}

/// Bytes of this many columns for every token of a context-parallel rank.
fn bytes(m: &Module, columns: u64) -> u128 {
    let sizes = Sizes::new(m);
    let elements = sizes.tokens(&[factor("n", columns)]).elements();
    u128::from(elements) * u128::from(sizes.width())
}

/// Bytes that a rank of tensor parallelism sends for a mixer ([`Source::TpCollectives`]).
pub(crate) fn for_mixer(m: &Module, mixer: Mixer) -> Sent {
    let a = &m.args;
    let input = if mixer.gathers_stream() {
        a.hidden_size
    } else {
        projected_input(a, mixer.core_attention())
    };
    let pairs = u128::from(mixer.parallel_pairs());
    between_tensor_ranks(m, pairs * bytes(m, input), pairs * bytes(m, a.hidden_size))
}

/// Columns of what the split projections of a mixer read.
fn projected_input(a: &Args, core: CoreAttention) -> u64 {
    match core {
        // The compressed queries, keys and values, whose up projections are split.
        CoreAttention::Latent | CoreAttention::Sparse => {
            a.q_lora_rank.unwrap_or(a.hidden_size) + a.kv_lora_rank + a.qk_pos_emb_head_dim
        }
        // Their projections of one input are split over no ranks: there is one rank of tensor parallelism.
        CoreAttention::Compressed | CoreAttention::Heads | CoreAttention::None => a.hidden_size,
    }
}

/// Bytes that a rank of tensor parallelism sends for a dense MLP, or for shared experts.
pub(crate) fn for_mlp(m: &Module) -> Sent {
    let hidden = bytes(m, m.args.hidden_size);
    between_tensor_ranks(m, hidden, hidden)
}

/// Bytes that a rank of tensor parallelism sends behind the embedding: its output is scattered, or reduced.
pub(crate) fn for_embedding(m: &Module) -> Sent {
    between_tensor_ranks(m, 0, bytes(m, m.args.hidden_size))
}

/// Bytes that a rank of tensor parallelism sends for the output layer: its input is gathered.
pub(crate) fn for_output_layer(m: &Module) -> Sent {
    between_tensor_ranks(m, bytes(m, m.args.hidden_size), 0)
}

/// One gathered input and one reduced output of these bytes.
fn between_tensor_ranks(m: &Module, input: u128, output: u128) -> Sent {
    let others = u128::from(m.tp.saturating_sub(1));
    let (forward, backward, gathered_again) = if m.sequence_parallel {
        // Backward: the output's gradient is gathered, and the input's scattered.
        (input + output, output + input, input)
    } else {
        (2 * output, 2 * input, 0)
    };
    Sent {
        forward: forward * others,
        backward: backward * others,
        gathered_again: gathered_again * others,
        ranks: m.tp,
    }
}

/// Bytes that a rank of context parallelism sends for a layer's attention: keys and values on their way around the
/// ring, and in the backward pass their gradients too ([`Source::CpRing`]); with `a2a`, queries, keys, values and outputs
/// that change places in both.
pub(crate) fn for_attention(m: &Module, core: CoreAttention) -> Sent {
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
        // One head of keys, which are the values too.
        CoreAttention::Compressed => (heads * a.v_head_dim, a.v_head_dim, heads * a.v_head_dim),
        CoreAttention::None => return Sent::default(),
    };
    let of_rank = |columns: u64| bytes(m, columns) / u128::from(m.tp.max(1));
    let parts = m.sequence_parts();
    let others = u128::from(parts.saturating_sub(1));
    if a.cp_comm_type.is_all_to_all() {
        let exchanged = of_rank(query + keys_and_values + output) * others;
        Sent {
            forward: exchanged,
            backward: exchanged,
            gathered_again: 0,
            ranks: parts,
        }
    } else {
        let round = of_rank(keys_and_values) * others;
        Sent {
            forward: round,
            backward: 2 * round,
            gathered_again: 0,
            ranks: 1,
        }
    }
}
