//! The indexer of sparse attention (`DSAIndexer`): a small attention of its own that scores every earlier token, picks
//! those with the best scores, and is trained by how far its scores are from those of the real attention.

use super::kernels::Backend;
use super::{Inputs, all_tokens, choices, operations, pairs};
use crate::config::adapters::LinearModules;
use crate::model::adapter;
use crate::model::attention::rope_tables;
use crate::model::hidden;
use crate::model::linear::{Linear, plain};
use crate::model::sizes::Sizes;
use crate::model::tape::{ActivationTensor, AutogradTape, Family, Gradient, TensorId, Work};
use crate::model::tensor::{Component, Factor, ParamTensor, Shape, factor};
use crate::model::tp;
use crate::model::weights::Weights;
use crate::source::Source;

/// Rows of scores that the `TileLang` kernels make at once (`fused_indexer_block_size`).
const BLOCK_ROWS: u64 = 8192;

/// The gradients that a loss gives back: those of the indexer's queries, weights and keys, and none of the queries and keys
/// of attention, which the loss takes as they are.
const OF_INDEXER_LOSS: [Gradient; 5] = [
    Gradient::New,
    Gradient::New,
    Gradient::New,
    Gradient::None,
    Gradient::None,
];

/// The tensors that an indexer hands to attention.
#[derive(Default)]
pub(super) struct Picked {
    /// The tokens that were picked.
    pub(super) indices: Option<TensorId>,
    /// The indexer's loss.
    pub(super) loss: Option<TensorId>,
}

/// How the loss of the indexer is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// There is none.
    None,
    /// By PyTorch operations over all pairs of tokens (`FusedDSAIndexerLoss`).
    Reference,
    /// By `TileLang` kernels over the picked tokens.
    TileLang,
    /// By kernels of cuDNN, which compute the gradients in the forward pass.
    Cudnn,
}

impl Loss {
    fn of(sizes: &Sizes<'_>, backend: Backend) -> Self {
        let a = &sizes.m.args;
        let sparse = a.dsa_indexer_use_sparse_loss;
        // Without shared indices and context parallelism, one kernel does indexer, loss and attention.
        let in_one = a.dsa_indexer_topk_freq == 1 && sizes.m.sequence_parts() == 1;
        if a.dsa_indexer_loss_coeff.is_none_or(|weight| weight.0 == 0) {
            return Self::None;
        }
        match backend {
            Backend::TileLang { .. } if sparse => Self::TileLang,
            Backend::Cudnn { attention: true } if sparse || in_one => Self::Cudnn,
            _ => Self::Reference,
        }
    }
}

/// Whether the picked tokens come from PyTorch, whose indices have 8 bytes.
pub(super) fn has_long_indices(sizes: &Sizes<'_>) -> bool {
    let backend = Backend::of(sizes.m);
    backend == Backend::None || Loss::of(sizes, backend) == Loss::Reference
}

/// Widths of the indexer. Every tensor-parallel rank has all of it.
struct Widths {
    heads: Factor,
    head: Factor,
    query: Factor,
    /// Queries and keys of attention in the latent space.
    attention: Factor,
}

impl Widths {
    fn shapes(&self, sizes: &Sizes<'_>) -> [Shape; 3] {
        [
            sizes.tokens(&[self.heads, self.head]),
            sizes.tokens(&[self.head]),
            sizes.tokens(&[self.heads]),
        ]
    }
}

/// The indexer of one layer. What it reads is cut off from autograd: only its loss trains it, and trains nothing else.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, inputs: &Inputs, key: TensorId) -> Picked {
    let m = sizes.m;
    let a = &m.args;
    let widths = Widths {
        heads: factor("n_i", a.dsa_indexer_n_heads.unwrap_or(1)),
        head: factor("d_i", a.dsa_indexer_head_dim.unwrap_or(1)),
        query: inputs.compressed.1,
        attention: factor("(r_kv + d_r)", a.kv_lora_rank + a.qk_pos_emb_head_dim),
    };
    let backend = Backend::of(m);
    let loss = Loss::of(sizes, backend);
    tape.at(Family::Attention, Source::DsaIndexer);
    let parameters = parameters(sizes, &widths);
    if loss == Loss::None {
        tape.declare(parameters);
        return without_loss(sizes, tape, &widths, inputs);
    }
    let projected = project(sizes, tape, &widths, inputs, parameters);
    let reads = (inputs.query, key);
    match loss {
        Loss::TileLang => tilelang(sizes, tape, &widths, &projected),
        Loss::Cudnn => cudnn(sizes, tape, &widths, &projected, reads),
        Loss::None | Loss::Reference => reference(sizes, tape, &widths, &projected, reads),
    }
}

/// `linear_wq_b`, `linear_wk`, `linear_weights_proj` and `k_norm`, which is a `LayerNorm` whatever the model's norms
/// are.
fn parameters(sizes: &Sizes<'_>, widths: &Widths) -> [ParamTensor; 4] {
    let of = Weights::of(sizes.m, Component::DsaIndexer, Source::DsaIndexer);
    let width = hidden(sizes.m);
    [
        of.whole(
            "self_attention.core_attention.indexer.linear_wq_b.weight",
            &[widths.heads, widths.head, widths.query],
            2,
        ),
        of.whole(
            "self_attention.core_attention.indexer.linear_wk.weight",
            &[widths.head, width],
            2,
        ),
        of.whole(
            "self_attention.core_attention.indexer.linear_weights_proj.weight",
            &[widths.heads, width],
            2,
        ),
        of.whole(
            "self_attention.core_attention.indexer.k_norm",
            &[factor("(weight + bias)", 2), widths.head],
            1,
        ),
    ]
}

/// The tokens that were picked: PyTorch's indices have 8 bytes, those of fused kernels 4.
fn indices(sizes: &Sizes<'_>, tape: &mut AutogradTape, bytes: u64) -> TensorId {
    tape.tensor("picked tokens", choices(sizes.m), bytes)
}

/// Without a loss nothing is kept. All it makes is gone once the tokens are picked.
fn without_loss(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, inputs: &Inputs) -> Picked {
    let (m, bytes) = (sizes.m, sizes.width());
    let [of_queries, ..] = widths.shapes(sizes);
    let mut transients = vec![
        tape.tensor("queries of the indexer", of_queries, bytes),
        tape.tensor("rotated queries of the indexer", of_queries, bytes),
    ];
    if m.sequence_parallel {
        transients.push(tape.tensor("gathered norm output", sizes.gathered(), bytes));
        let queries = sizes.tokens(&[widths.query]);
        transients.push(tape.tensor("gathered compressed queries", queries, bytes));
    }
    let picked = if has_long_indices(sizes) {
        transients.extend(index_scores(sizes, tape, widths));
        indices(sizes, tape, 8)
    } else {
        transients.push(block_of_scores(sizes, tape));
        indices(sizes, tape, 4)
    };
    let reads = [inputs.normed, inputs.compressed.0];
    let all = of_all_pairs(sizes, widths);
    let scores = if has_long_indices(sizes) { all } else { all / 2 };
    let work = operations::of_indexer(of_projections(sizes, widths) + scores, 0);
    tape.op("indexer", work, &reads, &[picked])
        .forward(&transients)
        .gradients(&[Gradient::None, Gradient::None]);
    keep_for_other_layers(sizes, tape, picked);
    Picked {
        indices: Some(picked),
        loss: None,
    }
}

/// The products of the indexer's projections.
fn of_projections(sizes: &Sizes<'_>, widths: &Widths) -> u64 {
    let [queries, keys, weights] = widths.shapes(sizes).map(|shape| shape.elements());
    operations::of(queries, widths.query) + operations::of(keys + weights, hidden(sizes.m))
}

/// The products of the indexer's queries with the keys of all tokens. Fused kernels leave out the later half.
fn of_all_pairs(sizes: &Sizes<'_>, widths: &Widths) -> u64 {
    operations::of(pairs(sizes.m, widths.heads).elements(), widths.head)
}

/// The products of the indexer's queries with the keys of picked tokens.
fn of_picked(sizes: &Sizes<'_>, widths: &Widths) -> u64 {
    operations::of(operations::picked(sizes, sizes.tokens(&[widths.heads])), widths.head)
}

/// Layers without an indexer read the tokens that were picked before them, in their forward passes.
fn keep_for_other_layers(sizes: &Sizes<'_>, tape: &mut AutogradTape, picked: TensorId) {
    if sizes.m.args.dsa_indexer_topk_freq > 1 {
        tape.saves(&[picked]);
    }
}

/// PyTorch's scores of all pairs of tokens in fp32: before and after the product with the heads' weights, and their
/// sum.
fn index_scores(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths) -> [TensorId; 2] {
    let of_heads = pairs(sizes.m, widths.heads);
    let sum = pairs(sizes.m, Factor::NONE);
    [
        tape.tensor("scores of the indexer's heads in fp32, twice", of_heads, 8),
        tape.tensor("scores of the indexer in fp32", sum, 4),
    ]
}

/// The scores that a fused kernel makes at once.
fn block_of_scores(sizes: &Sizes<'_>, tape: &mut AutogradTape) -> TensorId {
    let m = sizes.m;
    let rows = m.args.seq_length / m.sequence_parts().max(1);
    let shape = Shape::of(&[
        factor("min(s, 8192)", rows.min(BLOCK_ROWS)),
        factor("s", m.args.seq_length),
    ]);
    tape.tensor("scores of the indexer in fp32", shape, 4)
}

/// Queries, keys and heads' weights of the indexer.
struct Projected {
    query: TensorId,
    key: TensorId,
    weights: TensorId,
}

impl Projected {
    fn all(&self) -> [TensorId; 3] {
        [self.query, self.weights, self.key]
    }
}

/// The projections of the indexer with what its backward pass needs.
fn project(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    inputs: &Inputs,
    [wq_b, wk, weights_proj, k_norm]: [ParamTensor; 4],
) -> Projected {
    let (m, bytes) = (sizes.m, sizes.width());
    let [of_queries, of_keys, of_weights] = widths.shapes(sizes);
    let (mut normed, mut compressed) = (inputs.normed, inputs.compressed.0);
    if m.sequence_parallel {
        let whole = tape.tensor("gathered norm output", sizes.gathered(), bytes);
        let queries = sizes.tokens(&[widths.query]);
        let queries = tape.tensor("gathered compressed queries", queries, bytes);
        tape.op(
            "gather_from_sequence_parallel_region",
            Work::MemoryBound,
            &[normed, compressed],
            &[whole, queries],
        )
        .gradients(&[Gradient::None, Gradient::None]);
        (normed, compressed) = (whole, queries);
    }
    let mut linear = |name, input, width, weight, what, shape| {
        let output = tape.tensor(what, shape, bytes);
        let linear = Linear {
            name,
            input,
            width,
            output,
            weight,
            bias: None,
        };
        // Adapters of the indexer count with their parameters alone: what they keep is small beside attention.
        plain(&sizes.with_adapters(LinearModules::default()), tape, &linear);
        tape.detach_inputs(tape.here() - 1);
        tape.leave_uncounted(tape.here() - 1);
        adapter::declare(sizes, tape, &linear);
        output
    };
    let q = linear(
        "linear_wq_b",
        compressed,
        widths.query,
        wq_b,
        "queries of the indexer",
        of_queries,
    );
    let k = linear("linear_wk", normed, hidden(m), wk, "keys of the indexer", of_keys);
    let weights = linear(
        "linear_weights_proj",
        normed,
        hidden(m),
        weights_proj,
        "weights of the indexer's heads",
        of_weights,
    );
    tape.declare([k_norm]);
    let k_normed = tape.tensor("normed keys of the indexer", of_keys, bytes);
    tape.op("k_norm", Work::MemoryBound, &[k], &[k_normed])
        .saves(&[k])
        .keeps(
            "statistics of the norm on the indexer's keys",
            sizes.tokens(&[factor("(mean + rstd)", 2)]),
            4,
        );
    let query = tape.tensor("rotated queries of the indexer", of_queries, bytes);
    let key = tape.tensor("rotated keys of the indexer", of_keys, bytes);
    let before = tape.tensor("queries of the indexer after rotary embedding", of_queries, bytes);
    let tables = rope_tables(sizes, tape, factor("d_r", m.args.qk_pos_emb_head_dim));
    tape.op(
        "apply_rotary_pos_emb, rotate_activation",
        Work::MemoryBound,
        &[q, k_normed],
        &[query, key],
    )
    .saves(&[tables])
    .forward(&[before]);
    Projected {
        query,
        key: gather_keys(sizes, tape, widths, key),
        weights,
    }
}

/// Context-parallel ranks gather all keys of the indexer and put them into the order of the sequence.
fn gather_keys(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, key: TensorId) -> TensorId {
    if sizes.m.sequence_parts() == 1 {
        return key;
    }
    let whole = all_tokens(sizes.m, widths.head);
    let bytes = sizes.width();
    let gathered = tape.tensor("keys of the indexer as they are gathered", whole, bytes);
    let all = tape.tensor("keys of the indexer of the whole sequence", whole, bytes);
    tape.op(
        "gather_from_sequence_parallel_region",
        Work::MemoryBound,
        &[key],
        &[all],
    )
    .forward(&[gathered]);
    all
}

/// The loss by PyTorch operations. It keeps its inputs, and computes the scores of all pairs of tokens in both passes:
/// those of the indexer's heads, and those of the attention heads of this tensor-parallel rank.
fn reference(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    projected: &Projected,
    (query, key): (TensorId, TensorId),
) -> Picked {
    let m = sizes.m;
    tape.at(Family::Attention, Source::DsaIndexerLoss);
    let picked = indices(sizes, tape, 8);
    let scores = index_scores(sizes, tape, widths);
    let none = [Gradient::None; 5];
    let of_indexer = of_all_pairs(sizes, widths);
    let work = operations::of_indexer(of_indexer, 0);
    tape.op("fused_qk_topk_naive", work, &projected.all(), &[picked])
        .forward(&scores)
        .gradients(&none);
    let loss = tape.tensor("loss of the indexer", Shape::of(&[]), 4);
    let heads = factor("n_q", m.args.num_attention_heads);
    let of_attention = pairs(m, heads).over(tp(m));
    let target = "attention scores in fp32, four times";
    let target = tape.tensor(target, of_attention, 16);
    let of_target = operations::of(of_attention.elements(), widths.attention);
    let own = tape.tensor("scores of the indexer in fp32", pairs(m, Factor::NONE), 4);
    // Three fp32 tensors and the mask of the ReLU.
    let again = "scores of the indexer's heads and their gradients";
    let again = tape.tensor(again, pairs(m, widths.heads), 13);
    let bytes = |id| tape.get(id).map_or(0, ActivationTensor::bytes);
    let larger = if bytes(target) > bytes(again) { target } else { again };
    let [of_query, weights, of_key] = projected.all();
    tape.op(
        "FusedDSAIndexerLoss",
        // Both passes make the scores of the indexer and of attention, and the indexer's have gradients.
        operations::of_indexer(of_indexer + of_target, 3 * of_indexer + of_target),
        &[of_query, weights, of_key, query, key],
        &[loss],
    )
    .saves(&projected.all())
    .saves(&[query, key, picked])
    .forward(&[target, own])
    .backward(&[larger])
    .gradients(&OF_INDEXER_LOSS);
    Picked {
        indices: Some(picked),
        loss: Some(loss),
    }
}

/// The loss by `TileLang` kernels over the picked tokens (`IndexerFunction`, `SparseIndexerKLLoss`).
fn tilelang(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, projected: &Projected) -> Picked {
    let m = sizes.m;
    tape.at(Family::Attention, Source::DsaTilelang);
    let picked = indices(sizes, tape, 4);
    let loss = tape.tensor("loss of the indexer", Shape::of(&[]), 4);
    let block = block_of_scores(sizes, tape);
    let heads = factor("n_i", m.args.dsa_indexer_n_heads.unwrap_or(1));
    let weights = "weights of the indexer's heads in fp32";
    let weights = tape.tensor(weights, sizes.tokens(&[heads]), 4);
    let gradient = "gradient of the picked tokens' scores in fp32";
    let gradient = tape.tensor(gradient, choices(m), 4);
    let of_attention = operations::picked(sizes, sizes.columns(&[factor("n_q", m.args.num_attention_heads)]));
    let of_target = operations::of(of_attention, widths.attention);
    tape.op(
        "lighting_indexer",
        operations::of_indexer(
            of_all_pairs(sizes, widths) / 2 + of_picked(sizes, widths) + of_target,
            3 * of_picked(sizes, widths),
        ),
        &projected.all(),
        &[picked, loss],
    )
    .saves(&[projected.query, projected.key, weights, picked, gradient])
    .forward(&[block]);
    Picked {
        indices: Some(picked),
        loss: Some(loss),
    }
}

/// The loss by kernels of cuDNN, which compute gradients in the forward pass and keep those instead of their inputs.
fn cudnn(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    projected: &Projected,
    (query, key): (TensorId, TensorId),
) -> Picked {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::DsaCudnn);
    let picked = indices(sizes, tape, 4);
    let loss = tape.tensor("loss of the indexer", Shape::of(&[]), 4);
    let [queries, _, weights] = widths.shapes(sizes);
    let gradients = [
        tape.tensor("gradient of the indexer's queries", queries, bytes),
        tape.tensor("gradient of the indexer's keys", all_tokens(m, widths.head), bytes),
        tape.tensor("gradient of the heads' weights", weights, bytes),
    ];
    let heads = factor("n_q", m.args.num_attention_heads);
    let (of_loss, of_attention) = if m.args.dsa_indexer_use_sparse_loss {
        let of_attention = operations::picked(sizes, sizes.columns(&[heads]));
        (of_picked(sizes, widths), of_attention)
    } else {
        let of_attention = pairs(m, heads).over(tp(m)).elements();
        (of_all_pairs(sizes, widths) / 2, of_attention / 2)
    };
    let of_target = operations::of(of_attention, widths.attention);
    let scores = if m.args.dsa_indexer_use_sparse_loss {
        let what = "scores of the picked tokens in fp32, four times";
        tape.tensor(what, choices(m), 16)
    } else {
        let what = "scores of the indexer and of attention in fp32, twice each";
        tape.tensor(what, pairs(m, Factor::NONE), 16)
    };
    let [of_query, weights, of_key] = projected.all();
    tape.op(
        "fused indexer loss",
        // The gradients of queries and keys are made here too.
        operations::of_indexer(of_all_pairs(sizes, widths) / 2 + 3 * of_loss + of_target, 0),
        &[of_query, weights, of_key, query, key],
        &[picked, loss],
    )
    .saves(&gradients)
    .forward(&[scores])
    .gradients(&OF_INDEXER_LOSS);
    keep_for_other_layers(sizes, tape, picked);
    Picked {
        indices: Some(picked),
        loss: Some(loss),
    }
}
