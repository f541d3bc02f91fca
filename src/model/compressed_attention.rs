//! Compressed attention of DeepSeek-V4 (`DSv4HybridSelfAttention` of Megatron-LM's dev branch): queries of many heads over
//! one head of keys, which are the values too. Each token attends to the tokens of a window, and by the layer's compress
//! ratio to nothing else, to the groups of four tokens that an indexer picks, or to all groups of 128 tokens. The output
//! is projected in groups of heads, and then back to the residual stream.

mod compressor;
mod core;
mod indexer;

use self::core::Operands;
use super::attention::heads::Heads;
use super::hidden;
use super::linear::{self, Linear, column, plain, row};
use super::norm::{self, KEY_VALUE, NormNames, QUERY, residual_norm, token_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, Product, TensorId, Work};
use super::tensor::{Component, Factor, ParamTensor, Shape, factor};
use super::weights::Weights;
use crate::config::choices::{OffloadModule, RecomputeModule};
use crate::config::compress_ratios::CompressRatio;
use crate::config::job::Module;
use crate::source::Source;

/// Widths of queries, keys and values.
struct Widths {
    /// Heads.
    heads: Factor,
    /// A head: of queries, of the one key and value, and of the output.
    head: Factor,
    /// A compressed query.
    query_rank: Factor,
    /// Groups of heads that the output is projected in.
    groups: Factor,
    /// Width of the projection of a group.
    group: Factor,
}

impl Widths {
    fn of(m: &Module) -> Self {
        let a = &m.args;
        Self {
            heads: factor("n_q", a.num_attention_heads),
            head: factor("d_v", a.v_head_dim),
            query_rank: factor("r_q", a.q_lora_rank.unwrap_or(a.hidden_size)),
            groups: factor("g_o", a.o_groups),
            group: factor("r_o", a.o_lora_rank),
        }
    }
}

/// One block of compressed attention from the residual stream to the output of `linear_proj`.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, ratio: CompressRatio, input: TensorId) -> TensorId {
    let m = sizes.m;
    let widths = Widths::of(m);
    tape.at(Family::Residual, Source::Dsv4Attention);
    let start = tape.here();
    let normed = residual_norm(sizes, tape, &norm::input(m), input);
    tape.offload(OffloadModule::AttnNorm, start);
    tape.at(Family::Attention, Source::Dsv4Attention);
    let compressed = compress_queries(sizes, tape, &widths, normed);
    let again = tape.here();
    let query = project_queries(sizes, tape, &widths, compressed);
    let key = project_keys(sizes, tape, &widths, normed);
    let last = tape.here();
    let operands = Operands {
        query,
        key,
        normed,
        compressed,
    };
    let first = tape.here();
    let context = core::build(sizes, tape, &widths, ratio, &operands);
    tape.offload(OffloadModule::CoreAttn, first);
    tape.discarding_section(
        RecomputeModule::MlaUpProj,
        again..last,
        &[compressed, normed],
        &[query, key],
    );
    let output = project_output(sizes, tape, &widths, context);
    tape.discarding_section(RecomputeModule::Layernorm, start..start + 1, &[input], &[normed]);
    output
}

/// `linear_q_down_proj` and the norm behind it.
fn compress_queries(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, normed: TensorId) -> TensorId {
    let m = sizes.m;
    let weights = Weights::of(m, Component::MlaDownProj, Source::Dsv4Attention);
    let rank = widths.query_rank;
    let output = tape.tensor("compressed queries", sizes.tokens(&[rank]), sizes.width());
    let linear = Linear {
        name: "linear_q_down_proj",
        input: normed,
        width: hidden(m),
        output,
        weight: weights.whole("self_attention.linear_q_down_proj.weight", &[rank, hidden(m)], 2),
        bias: None,
    };
    plain(&sizes.sharing_with(RecomputeModule::Layernorm), tape, &linear);
    apart(sizes, tape, (QUERY, "self_attention.q_layernorm"), output, rank)
}

/// A norm of its own, where the model has norms on queries and keys.
fn apart(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (names, parameter): (NormNames, &'static str),
    input: TensorId,
    width: Factor,
) -> TensorId {
    if !sizes.m.args.qk_layernorm {
        return input;
    }
    let weights = Weights::of(sizes.m, Component::MlaLayernorm, Source::Dsv4Attention);
    token_norm(sizes, tape, (names, weights.norm(parameter, width)), input, width)
}

/// Queries of all heads, normed without a weight, with the rotary part turned.
fn project_queries(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, compressed: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let weights = Weights::of(m, Component::Attention, Source::Dsv4Attention);
    let heads = Heads::queries(m).tokens(sizes, widths.head);
    let projected = tape.tensor("queries", heads, bytes);
    let name = "self_attention.linear_q_up_proj.weight";
    let linear = Linear {
        name: "linear_q_up_proj",
        input: compressed,
        width: widths.query_rank,
        output: projected,
        weight: weights.column_parallel(name, &[widths.heads, widths.head, widths.query_rank], 2),
        bias: None,
    };
    column(sizes, tape, &linear);
    let normed = tape.tensor("normed queries", heads, bytes);
    let lengths = Heads::queries(m).tokens(sizes, Factor::NONE);
    let reciprocal = tape.tensor("reciprocal lengths of queries", lengths, bytes);
    // `_q_rms_norm` is compiled: it keeps its input and one number a head in the precision of training.
    tape.op("_q_rms_norm", Work::MemoryBound, &[projected], &[normed])
        .saves(&[projected, reciprocal]);
    rotate(sizes, tape, normed, "queries after rotary embedding", (heads, 1))
}

/// Keys, which are the values too: one head for all query heads.
fn project_keys(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, normed: TensorId) -> TensorId {
    let m = sizes.m;
    let weights = Weights::of(m, Component::MlaDownProj, Source::Dsv4Attention);
    let shape = sizes.tokens(&[widths.head]);
    let output = tape.tensor("keys", shape, sizes.width());
    let linear = Linear {
        name: "linear_kv_proj",
        input: normed,
        width: hidden(m),
        output,
        weight: weights.column_parallel("self_attention.linear_kv_proj.weight", &[widths.head, hidden(m)], 2),
        bias: None,
    };
    column(&sizes.sharing_with(RecomputeModule::Layernorm), tape, &linear);
    let keys = apart(
        sizes,
        tape,
        (KEY_VALUE, "self_attention.kv_layernorm"),
        output,
        widths.head,
    );
    rotate(sizes, tape, keys, "keys after rotary embedding", (shape, 1))
}

/// Turns the last part of each row. One fused kernel does so in place; else a copy is made, and cosines and sines are kept
/// for each of the `of` tokens that make a position.
fn rotate(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    input: TensorId,
    what: &'static str,
    (shape, of): (Shape, u64),
) -> TensorId {
    if sizes.kernels.rope_fused {
        return input;
    }
    let a = &sizes.m.args;
    let output = tape.tensor(what, shape, sizes.width());
    let rotary = factor("d_r", a.qk_pos_emb_head_dim);
    let positions = if of > 1 {
        factor("s/r_c", a.seq_length / of)
    } else {
        factor("s", a.seq_length)
    };
    let table = Shape::of(&[factor("(cos and sin)", 2), positions, rotary]);
    let table = tape.tensor("rotary cosines and sines", table, sizes.width());
    tape.op("apply_rotary_pos_emb", Work::MemoryBound, &[input], &[output])
        .saves(&[table]);
    output
}

/// The output: turned back, projected in groups of heads, and projected to the residual stream.
fn project_output(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, context: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::Dsv4Attention);
    let heads = Heads::queries(m).tokens(sizes, widths.head);
    // The fused kernel makes a tensor of its own here, since attention keeps its output as it is.
    let turned = if sizes.kernels.rope_fused {
        let turned = tape.tensor("attention output turned back", heads, bytes);
        tape.op("fused_mla_rope_out_of_place", Work::MemoryBound, &[context], &[turned]);
        turned
    } else {
        rotate(sizes, tape, context, "attention output turned back", (heads, 1))
    };
    let grouped = sizes.tokens(&[widths.groups, widths.group]);
    let output = tape.tensor("attention output in groups", grouped, bytes);
    let by_group = tape.tensor("attention output in groups, group by group", grouped, bytes);
    let weights = Weights::of(m, Component::Attention, Source::Dsv4Attention);
    let width = widths.heads.value.saturating_mul(widths.head.value) / widths.groups.value.max(1);
    let width = factor("n_q·d_v/g_o", width);
    let name = "self_attention.linear_o_group_proj";
    let weight = weights.whole(name, &[widths.groups, widths.group, width], 2);
    product_in_groups(sizes, tape, &weight, (turned, output, by_group));

    tape.at(Family::Attention, Source::TeLinear);
    let start = tape.here();
    let branch = tape.tensor("attention branch", sizes.residual(), bytes);
    let biases = Weights::of(m, Component::AttentionBias, Source::Dsv4Attention);
    let weights = Weights::of(m, Component::Attention, Source::Dsv4Attention);
    let linear = Linear {
        name: "linear_proj",
        input: output,
        width: widths.group,
        output: branch,
        weight: weights.row_parallel(
            "self_attention.linear_proj.weight",
            &[widths.groups, widths.group, hidden(m)],
            hidden(m),
        ),
        bias: (m.args.add_bias_linear).then(|| biases.whole("self_attention.linear_proj.bias", &[hidden(m)], 1)),
    };
    row(&sizes.sharing(), tape, &linear);
    tape.offload(OffloadModule::AttnProj, start);
    branch
}

/// Multiplies the heads of each group by its part of a weight (`torch.einsum`), whose gradient is a tensor of its own.
fn product_in_groups(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    weight: &ParamTensor,
    (input, output, by_group): (TensorId, TensorId, TensorId),
) {
    tape.declare([*weight]);
    let trains = !sizes.m.is_frozen();
    let gradient = tape.tensor_if(trains, "weight gradient", weight.shape, sizes.width());
    let elements = |tape: &AutogradTape, id| linear::shape_of(tape, id).elements();
    let of = (elements(tape, input), elements(tape, output));
    let product = Product {
        trained: trains,
        ..Product::of(of, weight.shape.elements(), None)
    };
    tape.op("linear_o_group_proj", Work::Product(product), &[input], &[output])
        .saves(&[input])
        .forward(&[by_group])
        .backward(&[by_group])
        .backward(gradient.as_slice());
}

/// A row for each group of tokens that a layer of this ratio makes one of, with up to two widths.
fn groups(sizes: &Sizes<'_>, ratio: u64, widths: [Factor; 2]) -> Shape {
    let a = &sizes.m.args;
    let groups = a.seq_length / ratio.max(1);
    let [first, second] = widths;
    if sizes.m.packing.is_some() {
        Shape::of(&[factor("T/r_c", groups), first, second])
    } else {
        let batch = factor("b", a.micro_batch_size);
        Shape::of(&[factor("s/r_c", groups), batch, first, second])
    }
}

/// The tokens and groups of tokens that each token attends to.
fn choices(m: &Module, ratio: CompressRatio) -> Factor {
    let a = &m.args;
    let groups = a.seq_length / ratio.tokens().max(1);
    let (symbol, picked) = match ratio {
        CompressRatio::Window => ("w", 0),
        CompressRatio::Sparse if a.csa_dense_mode => ("(w + s/4)", groups),
        CompressRatio::Sparse => {
            let topk = a.dsa_indexer_topk.unwrap_or(a.seq_length);
            ("(w + min(k_i, s/4))", topk.min(groups))
        }
        CompressRatio::Heavy => ("(w + s/128)", groups),
    };
    factor(symbol, a.csa_window_size.saturating_add(picked))
}

/// One learned logit a head, which stays in fp32.
fn sinks(m: &Module, widths: &Widths) -> ParamTensor {
    let weights = Weights::of(m, Component::AttentionSinks, Source::Csa);
    let name = "self_attention.core_attention.attn_sink";
    weights.whole(name, &[widths.heads], 1).kept_in_fp32()
}
