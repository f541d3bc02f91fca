//! The indexer (`CSAIndexer`): a small attention of its own that scores groups of four tokens and picks those with the
//! best scores. What it reads is cut off from autograd: only its loss trains it, and it keeps what its backward pass needs
//! whatever the weight of that loss is.

use super::compressor::{self, OF_INDEXER};
use super::core::{Operands, is_fused};
use super::{Widths, groups, rotate};
use crate::config::compress_ratios::CompressRatio;
use crate::model::hidden;
use crate::model::linear::{Linear, plain};
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Gradient, SparseOperations, TensorId, Work};
use crate::model::tensor::{Component, Factor, Shape, factor};
use crate::model::weights::Weights;
use crate::source::Source;
use crate::units::multiply;

/// What the indexer makes before it picks.
pub(super) struct Projected {
    /// Its queries, of all its heads.
    pub(super) queries: TensorId,
    /// Its keys, one a group of tokens.
    pub(super) keys: TensorId,
    /// The weights of its heads.
    pub(super) weights: TensorId,
    /// Widths of these three.
    pub(super) shapes: [Shape; 3],
    heads: Factor,
    /// The width of each of them.
    head: Factor,
}

/// Queries, keys and weights of the indexer.
pub(super) fn project(sizes: &Sizes<'_>, tape: &mut AutogradTape, widths: &Widths, operands: &Operands) -> Projected {
    let (m, bytes) = (sizes.m, sizes.width());
    let a = &m.args;
    let ratio = CompressRatio::Sparse;
    let heads = factor("n_i", a.dsa_indexer_n_heads.unwrap_or(1));
    let head = factor("d_i", a.dsa_indexer_head_dim.unwrap_or(1));
    let of = Weights::of(m, Component::DsaIndexer, Source::Csa);
    let shapes = [
        sizes.tokens(&[heads, head]),
        groups(sizes, ratio.tokens(), [head, Factor::NONE]),
        sizes.tokens(&[heads]),
    ];
    let queries = tape.tensor("queries of the indexer", shapes[0], bytes);
    let first = tape.here();
    let linear = Linear {
        name: "linear_wq_b",
        input: operands.compressed,
        width: widths.query_rank,
        output: queries,
        weight: of.whole(
            "self_attention.core_attention.indexer.linear_wq_b.weight",
            &[heads, head, widths.query_rank],
            2,
        ),
        bias: None,
    };
    plain(sizes, tape, &linear);
    detach(tape, first);
    let turned = rotate(
        sizes,
        tape,
        queries,
        "queries of the indexer after rotary embedding",
        (shapes[0], 1),
    );
    let queries = rotate_activation(tape, "rotated queries of the indexer", turned, shapes[0], bytes);
    let keys = compressor::build(sizes, tape, &OF_INDEXER, (ratio, head), (operands.normed, true));
    let keys = rotate_activation(tape, "rotated keys of the indexer", keys, shapes[1], bytes);
    let raw = tape.tensor("weights of the indexer's heads", shapes[2], bytes);
    let linear = Linear {
        name: "linear_weights_proj",
        input: operands.normed,
        width: hidden(m),
        output: raw,
        weight: of.whole(
            "self_attention.core_attention.indexer.linear_weights_proj.weight",
            &[heads, hidden(m)],
            2,
        ),
        bias: None,
    };
    let first = tape.here();
    plain(&Sizes { fp8: None, ..*sizes }, tape, &linear);
    detach(tape, first);
    let weights = tape.tensor("scaled weights of the indexer's heads", shapes[2], bytes);
    tape.op("mul", Work::MemoryBound, &[raw], &[weights]);
    Projected {
        queries,
        keys,
        weights,
        shapes,
        heads,
        head,
    }
}

/// The operations from `first` on read what is cut off from autograd.
fn detach(tape: &mut AutogradTape, first: usize) {
    (first..tape.here()).for_each(|op| tape.detach_inputs(op));
}

/// A Hadamard transform, which keeps nothing.
fn rotate_activation(
    tape: &mut AutogradTape,
    what: &'static str,
    input: TensorId,
    shape: Shape,
    bytes: u64,
) -> TensorId {
    let output = tape.tensor(what, shape, bytes);
    tape.op("rotate_activation", Work::MemoryBound, &[input], &[output]);
    output
}

/// A number for each pair of a token and a group of tokens, of each of these heads.
fn pairs(sizes: &Sizes<'_>, heads: Factor) -> Shape {
    let a = &sizes.m.args;
    let groups = a.seq_length / CompressRatio::Sparse.tokens();
    sizes.tokens(&[heads, factor("s/4", groups)])
}

/// The groups that were picked and the indexer's loss, by PyTorch operations over all groups (`FusedDSAIndexerLoss`).
/// Without fused kernels it runs whatever the weight of the loss is. Returns the loss, which the output of attention hands
/// on.
pub(super) fn pick(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    projected: &Projected,
    (query, compressed): (TensorId, TensorId),
) -> TensorId {
    debug_assert!(!is_fused(sizes.m), "fused kernels pick within attention");
    let a = &sizes.m.args;
    tape.at(tape.about().0, Source::CsaIndexerLoss);
    let scaled = tape.tensor("weights of the indexer's heads in fp32", projected.shapes[2], 4);
    tape.op("float", Work::MemoryBound, &[projected.weights], &[scaled]);
    let all = a.seq_length / CompressRatio::Sparse.tokens();
    let picked = factor("min(k_i, s/4)", a.dsa_indexer_topk.unwrap_or(all).min(all));
    let indices = tape.tensor("picked groups", sizes.tokens(&[picked]), 8);
    let sums = tape.tensor("log-sum-exp of the window in fp32", sizes.tokens(&[widths.heads]), 4);
    let mask = Shape::of(&[factor("s", a.seq_length), factor("s/4", all)]);
    let mask = tape.tensor("causal mask over groups in fp32", mask, 4);
    let loss = tape.tensor("loss of the indexer", Shape::of(&[]), 4);
    let of_heads = tape.tensor(
        "scores of the indexer's heads in fp32, twice",
        pairs(sizes, projected.heads),
        8,
    );
    let scores = tape.tensor("scores of the indexer in fp32", pairs(sizes, Factor::NONE), 4);
    let of_attention = tape.tensor("scores of attention in fp32, twice", pairs(sizes, widths.heads), 8);
    let reads = [projected.queries, scaled, projected.keys, query, compressed];
    // Both passes make the scores of the indexer and of attention, and the indexer's have gradients.
    let products = |heads, width: Factor| multiply(2, multiply(pairs(sizes, heads).elements(), width.value));
    let of_indexer = products(projected.heads, projected.head);
    let of_target = products(widths.heads, widths.head);
    let work = Work::SparseAttention(SparseOperations {
        forward: of_indexer + of_target,
        backward: 3 * of_indexer + of_target,
        counted: 0,
    });
    tape.op("FusedDSAIndexerLoss", work, &reads, &[loss])
        .saves(&reads)
        .saves(&[indices, sums, mask])
        .forward(&[of_heads, scores, of_attention])
        .backward(&[of_heads, scores, of_attention])
        .gradients(&[
            Gradient::New,
            Gradient::New,
            Gradient::New,
            Gradient::None,
            Gradient::None,
        ]);
    loss
}
