//! Sparse attention (`AbsorbedMLASelfAttention` with `DSAttention`): multi-latent attention in which each token attends
//! to the tokens that an indexer picks. Queries are projected into the latent space of keys and values, so that all
//! heads share one key, and the output is projected back out of it.

mod indexer;
mod kernels;
mod operations;

use super::adapter;
use super::attention::rope_tables;
use super::linear::{Linear, column, row};
use super::mla;
use super::norm::{self, residual_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, Factor, Shape, factor};
use super::weights::Weights;
use super::{hidden, tp};
use crate::config::choices::{OffloadModule, RecomputeModule};
use crate::config::job::Module;
use crate::source::Source;

/// Widths of queries, keys and values.
struct Widths {
    /// Heads: `n_q`.
    heads: Factor,
    /// A query as its projection makes it.
    query: Factor,
    /// A key without its rotary part, and a value: what the up projection would make of a latent vector.
    key_value: Factor,
    /// A latent vector.
    latent: Factor,
    /// A latent vector with the rotary part: keys, and queries in the latent space.
    absorbed: Factor,
    /// A value.
    value: Factor,
}

impl Widths {
    fn of(m: &Module) -> Self {
        let a = &m.args;
        Self {
            heads: factor("n_q", a.num_attention_heads),
            query: factor("(d_qk + d_r)", a.qk_head_dim + a.qk_pos_emb_head_dim),
            key_value: factor("(d_qk + d_v)", a.qk_head_dim + a.v_head_dim),
            latent: factor("r_kv", a.kv_lora_rank),
            absorbed: factor("(r_kv + d_r)", a.kv_lora_rank + a.qk_pos_emb_head_dim),
            value: factor("d_v", a.v_head_dim),
        }
    }

    /// Gradients of the up projection's weight. Its halves are used as they are, outside of any linear layer, so that
    /// each half's gradient is first a tensor of its own and then a part of a whole one.
    fn weight_gradients(&self, sizes: &Sizes<'_>, tape: &mut AutogradTape) -> Vec<TensorId> {
        if sizes.m.is_frozen() {
            return Vec::new();
        }
        let whole = [self.heads, self.key_value, self.latent];
        let whole = Shape::of(&whole).over(tp(sizes.m));
        let names = [
            "weight gradient of a half of linear_kv_up_proj",
            "weight gradient of linear_kv_up_proj",
        ];
        names.map(|what| tape.tensor(what, whole, sizes.width())).to_vec()
    }
}

/// The operands of core attention.
struct Inputs {
    /// Queries in the latent space.
    query: TensorId,
    /// The keys of all tokens, which are the values too.
    key: TensorId,
    /// The output of the input norm.
    normed: TensorId,
    /// Compressed queries and their width; without query compression the output of the input norm.
    compressed: (TensorId, Factor),
}

/// One block of sparse attention from the residual stream to the output of `linear_proj`.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, has_indexer: bool, input: TensorId) -> TensorId {
    let m = sizes.m;
    let widths = Widths::of(m);
    tape.at(Family::Residual, Source::AbsorbedMla);
    let start = tape.here();
    let normed = residual_norm(sizes, tape, &norm::input(m), input);
    tape.offload(OffloadModule::AttnNorm, start);
    let down = mla::compress(sizes, tape, normed);
    let down = mla::norm_apart(sizes, tape, down);
    tape.at(Family::Attention, Source::AbsorbedMla);
    let latents = gather(sizes, tape, &widths, down.keys_values);
    let again = tape.here();
    let compressed = down.queries.unwrap_or((normed, hidden(m)));
    let q = project(sizes, tape, &widths, compressed, down.queries.is_some());
    let (query, key) = absorb(sizes, tape, &widths, q, &latents);
    let last = tape.here();
    let inputs = Inputs {
        query,
        key,
        normed,
        compressed,
    };
    let context = attend(sizes, tape, &widths, &inputs, has_indexer);
    let mut keeps = latents;
    keeps.push(compressed.0);
    tape.discarding_section(RecomputeModule::MlaUpProj, again..last, &keeps, &[query, key]);

    tape.at(Family::Attention, Source::TeLinear);
    let output = tape.tensor("attention branch", sizes.residual(), sizes.width());
    let weights = Weights::of(m, Component::Attention, Source::AbsorbedMla);
    let linear = Linear {
        name: "linear_proj",
        input: context,
        width: widths.value,
        output,
        weight: weights.row_parallel(
            "self_attention.linear_proj.weight",
            &[widths.heads, widths.value, hidden(m)],
            hidden(m),
        ),
        bias: None,
    };
    row(&sizes.sharing(), tape, &linear);
    tape.discarding_section(RecomputeModule::Layernorm, start..start + 1, &[input], &[normed]);
    output
}

/// The latent vectors of all tokens and the rotary parts of their keys, which sequence parallelism gathers.
fn gather(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, keys_values: TensorId) -> Vec<TensorId> {
    if !sizes.m.sequence_parallel {
        return vec![keys_values];
    }
    let rotary = factor("d_r", sizes.m.args.qk_pos_emb_head_dim);
    let gathered = [
        ("latent vectors of all tokens", widths.latent),
        ("rotary parts of all tokens' keys", rotary),
    ];
    let gathered = gathered
        .map(|(what, width)| tape.tensor(what, sizes.tokens(&[width]), sizes.width()))
        .to_vec();
    tape.op(
        "gather_from_sequence_parallel_region",
        Work::MemoryBound,
        &[keys_values],
        &gathered,
    );
    gathered
}

/// The projection that makes queries, from compressed ones or from the output of the input norm.
fn project(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    (input, width): (TensorId, Factor),
    is_compressed: bool,
) -> TensorId {
    let weights = Weights::of(sizes.m, Component::Attention, Source::AbsorbedMla);
    let shape = sizes.columns(&[widths.heads, widths.query]);
    let output = tape.tensor("queries", shape, sizes.width());
    let (name, weight) = if is_compressed {
        ("linear_q_up_proj", "self_attention.linear_q_up_proj.weight")
    } else {
        ("linear_q_proj", "self_attention.linear_q_proj.weight")
    };
    let linear = Linear {
        name,
        input,
        width,
        output,
        weight: weights.column_parallel(weight, &[widths.heads, widths.query, width], 2),
        bias: None,
    };
    column(sizes, tape, &linear);
    output
}

/// Queries and keys in the latent space, each with its rotary part behind it.
fn absorb(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    q: TensorId,
    latents: &[TensorId],
) -> (TensorId, TensorId) {
    let (m, bytes) = (sizes.m, sizes.width());
    let weights = Weights::of(m, Component::Attention, Source::AbsorbedMla);
    let weight = weights.column_parallel(
        "self_attention.linear_kv_up_proj.weight",
        &[widths.heads, widths.key_value, widths.latent],
        2,
    );
    tape.declare([weight]);
    // Its weight is used with an adapter's product added (`LoRALinear.weight`).
    let linear = Linear {
        name: "linear_kv_up_proj",
        input: q,
        width: widths.latent,
        output: q,
        weight,
        bias: None,
    };
    adapter::declare(sizes, tape, &linear);
    let latent = sizes.columns(&[widths.heads, widths.latent]);
    let by_head = tape.tensor("queries in the latent space by head", latent, bytes);
    let absorbed = tape.tensor("queries in the latent space", latent, bytes);
    let gradients = widths.weight_gradients(sizes, tape);
    let work = operations::by_head(sizes, widths.heads, (m.args.qk_head_dim, widths.latent));
    tape.op("absorb keys", work, &[q], &[absorbed])
        .saves(&[q])
        .forward(&[by_head])
        .backward(&gradients);
    let query = tape.tensor(
        "queries in the latent space after rotary embedding",
        sizes.columns(&[widths.heads, widths.absorbed]),
        bytes,
    );
    let key = tape.tensor("keys that all heads share", sizes.tokens(&[widths.absorbed]), bytes);
    let rotary = factor("d_r", m.args.qk_pos_emb_head_dim);
    let parts = sizes.columns(&[widths.heads, rotary]);
    let parts = tape.tensor("rotary parts of queries", parts, bytes);
    let tables = rope_tables(sizes, tape, rotary);
    let mut reads = vec![absorbed, q];
    reads.extend(latents);
    tape.op("apply_rotary_pos_emb", Work::MemoryBound, &reads, &[query, key])
        .saves(&[tables])
        .forward(&[parts]);
    (query, key)
}

/// Core attention from queries and keys in the latent space to each head's values.
fn attend(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, inputs: &Inputs, has_indexer: bool) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::DsaAttention);
    let start = tape.here();
    let mut key = inputs.key;
    if m.sequence_parts() > 1 {
        // Context-parallel ranks gather all keys and put them into the order of the sequence.
        let whole = all_tokens(m, widths.absorbed);
        let gathered = tape.tensor("keys as they are gathered", whole, bytes);
        key = tape.tensor("keys of the whole sequence", whole, bytes);
        tape.op(
            "gather_from_sequence_parallel_region",
            Work::MemoryBound,
            &[inputs.key],
            &[key],
        )
        .forward(&[gathered]);
    }
    let picked = if has_indexer {
        indexer::build(sizes, tape, inputs, key)
    } else {
        indexer::Picked::default()
    };
    let latent = kernels::build(sizes, tape, widths, (inputs.query, key), &picked);
    tape.at(Family::Attention, Source::DsaAttention);
    let weight = Shape::of(&[widths.heads, widths.value, widths.latent]).over(tp(m));
    let weight = tape.tensor("weight that makes values, by head", weight, bytes);
    let shape = sizes.columns(&[widths.heads, widths.value]);
    let by_head = tape.tensor("attention output by head", shape, bytes);
    let context = tape.tensor("attention output", shape, bytes);
    let gradients = widths.weight_gradients(sizes, tape);
    let work = operations::by_head(sizes, widths.heads, (widths.latent.value, widths.value));
    tape.op("project to values", work, &[latent], &[context])
        .saves(&[latent, weight])
        .forward(&[by_head])
        .backward(&gradients);
    let keeps = [inputs.query, inputs.key, inputs.normed, inputs.compressed.0];
    tape.section(Some(RecomputeModule::CoreAttn), start, &keeps);
    context
}

/// Every token of a sequence, so wide, whatever context-parallel ranks there are.
fn all_tokens(m: &Module, width: Factor) -> Shape {
    Shape::of(&[
        factor("s", m.args.seq_length),
        factor("b", m.args.micro_batch_size),
        width,
    ])
}

/// A number for each pair of a token of this context-parallel rank and any token, of each of these heads.
fn pairs(m: &Module, heads: Factor) -> Shape {
    Shape::of(&[
        factor("b", m.args.micro_batch_size),
        heads,
        factor("s", m.args.seq_length),
        factor("s", m.args.seq_length),
    ])
    .over(factor("CP", m.sequence_parts()))
}

/// A number for each token that a token of this context-parallel rank attends to.
fn choices(m: &Module) -> Shape {
    let a = &m.args;
    let topk = a.dsa_indexer_topk.unwrap_or(a.seq_length);
    Shape::of(&[
        factor("b", a.micro_batch_size),
        factor("s", a.seq_length),
        factor("min(k_i, s)", topk.min(a.seq_length)),
    ])
    .over(factor("CP", m.sequence_parts()))
}
