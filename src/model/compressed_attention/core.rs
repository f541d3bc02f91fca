//! Core attention over a window and compressed keys (`CompressedSparseAttention`): by PyTorch operations, which gather the
//! keys of every token, or by fused kernels.

use super::compressor::{self, OF_KEYS};
use super::indexer::{self, Projected};
use super::{Widths, choices, groups, sinks};
use crate::config::choices::{AttentionBackend, DsaKernelBackend};
use crate::config::compress_ratios::CompressRatio;
use crate::config::job::Module;
use crate::model::attention::heads::Heads;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId, Work};
use crate::model::tensor::{Factor, Shape, factor};
use crate::source::Source;

/// The operands of core attention.
pub(super) struct Operands {
    /// Queries of all heads.
    pub(super) query: TensorId,
    /// Keys of all tokens, which are the values too.
    pub(super) key: TensorId,
    /// The output of the input norm.
    pub(super) normed: TensorId,
    /// Compressed queries.
    pub(super) compressed: TensorId,
}

/// Whether kernels of `FlashMLA` and cuDNN compute it (`use_fused_dsa_kernels`).
pub(super) fn is_fused(m: &Module) -> bool {
    let a = &m.args;
    a.dsa_kernel_backend == DsaKernelBackend::Cudnn && a.attention_backend != AttentionBackend::Unfused
}

/// Core attention; returns its output.
pub(super) fn build(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    ratio: CompressRatio,
    operands: &Operands,
) -> TensorId {
    let m = sizes.m;
    tape.at(Family::Attention, Source::Csa);
    tape.declare([sinks(m, widths)]);
    let mut keys = operands.key;
    let mut loss = None;
    let mut projected = None;
    if ratio != CompressRatio::Window {
        let of = (ratio, widths.head);
        let compressed = compressor::build(sizes, tape, &OF_KEYS, of, (operands.normed, false));
        keys = tape.tensor(
            "keys and compressed keys",
            all_keys(sizes, widths, ratio),
            sizes.width(),
        );
        tape.op("cat", Work::MemoryBound, &[operands.key, compressed], &[keys]);
        if ratio == CompressRatio::Sparse && !m.args.csa_dense_mode {
            let indexed = indexer::project(sizes, tape, widths, operands);
            if is_fused(m) {
                projected = Some(indexed);
            } else {
                loss = Some(indexer::pick(
                    sizes,
                    tape,
                    widths,
                    &indexed,
                    (operands.query, compressed),
                ));
            }
        }
    }
    let reads = (operands.query, keys);
    if is_fused(m) {
        fused(sizes, tape, widths, (ratio, projected.as_ref()), reads)
    } else {
        gathered(sizes, tape, widths, ratio, (reads, loss))
    }
}

/// A row for each token, and one for each group of tokens.
fn all_keys(sizes: &Sizes<'_>, widths: &Widths, ratio: CompressRatio) -> Shape {
    let a = &sizes.m.args;
    let rows = a.seq_length.saturating_add(a.seq_length / ratio.tokens().max(1));
    if ratio == CompressRatio::Window {
        return sizes.tokens(&[widths.head]);
    }
    if sizes.m.packing.is_some() {
        Shape::of(&[factor("(T + T/r_c)", rows), widths.head])
    } else {
        let batch = factor("b", a.micro_batch_size);
        Shape::of(&[factor("(s + s/r_c)", rows), batch, widths.head])
    }
}

/// PyTorch operations: every token gathers the keys that it attends to (`unfused_compressed_sparse_attn`). Behind them the
/// loss of the indexer, where there is one, gets its gradient (`DSAIndexerLossAutoScaler`).
fn gathered(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    ratio: CompressRatio,
    ((query, keys), loss): ((TensorId, TensorId), Option<TensorId>),
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Attention, Source::CsaUnfused);
    let chosen = choices(m, ratio);
    let of_keys = sizes.tokens(&[chosen, widths.head]);
    let scores = sizes.tokens(&[widths.heads, chosen]);
    let heads = Heads::queries(m).tokens(sizes, widths.head);
    let row = sizes.tokens(&[widths.heads]);
    // With several samples the keys of one lie behind each other only in a copy.
    let all = all_keys(sizes, widths, ratio);
    let several = m.packing.is_none() && m.args.micro_batch_size > 1;
    let flat = tape.tensor_if(several, "keys, batch first", all, bytes);
    let kept = [
        ("gathered keys in fp32", of_keys, 4),
        ("queries in fp32", heads, 4),
        ("exponentials of the scores in fp32", scores, 4),
        ("attention probabilities in fp32", scores, 4),
        ("maxima, sinks and sums of each row in fp32", row, 12),
        ("places of the maxima", row, 8),
        ("indices of gathered keys", sizes.tokens(&[chosen]), 8),
        ("mask of gathered keys", sizes.tokens(&[chosen]), 1),
    ];
    let kept = kept.map(|(what, shape, width)| tape.tensor(what, shape, width));
    let output = tape.tensor("attention output", heads, bytes);
    let gathered = tape.tensor("gathered keys", of_keys, bytes);
    let raw = tape.tensor("scores in fp32, twice", scores, 8);
    let of_gathered = tape.tensor("gradient of gathered keys in fp32, twice", of_keys, 8);
    // `gather` gives its whole input a gradient, which every token has of its own here until they are added up.
    let rows = all.elements() / widths.head.value.max(1) / several_samples(m).max(1);
    let expanded = sizes.tokens(&[factor("keys of a sample", rows), widths.head]);
    let expanded = tape.tensor("gradient of all keys for each token", expanded, bytes);
    let mut reads = vec![query, keys];
    reads.extend(loss);
    let work = Work::Attention(flops(sizes, widths, chosen));
    tape.op("unfused_compressed_sparse_attn", work, &reads, &[output])
        .saves(&kept)
        .saves(&[flat.unwrap_or(keys)])
        .saves(loss.as_slice())
        .forward(&[gathered, raw])
        .backward(&[raw, of_gathered, expanded]);
    output
}

/// Samples that lie beside each other.
fn several_samples(m: &Module) -> u64 {
    if m.packing.is_some() {
        1
    } else {
        m.args.micro_batch_size
    }
}

/// Floating-point operations of the forward pass: each query meets the keys that its token attends to, and each
/// probability the values.
fn flops(sizes: &Sizes<'_>, widths: &Widths, chosen: Factor) -> u64 {
    let queries = Heads::queries(sizes.m).tokens(sizes, widths.head).elements();
    queries.saturating_mul(chosen.value).saturating_mul(4)
}

/// Fused kernels: they keep queries, keys, the output and one number a row, and the gradients of an indexer, which they
/// compute in the forward pass (`CSASparseAttnFunc`, `FusedCSAIndexerSparseAttnFunc`).
fn fused(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    widths: &Widths,
    (ratio, indexer): (CompressRatio, Option<&Projected>),
    (query, keys): (TensorId, TensorId),
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let a = &m.args;
    tape.at(Family::Attention, Source::CsaFused);
    let heads = Heads::queries(m).tokens(sizes, widths.head);
    let output = tape.tensor("attention output", heads, bytes);
    let sums = tape.tensor("log-sum-exp of each row in fp32", sizes.tokens(&[widths.heads]), 4);
    let of_keys = tape.tensor("gradient of keys in fp32", all_keys(sizes, widths, ratio), 4);
    let Some(indexer) = indexer else {
        let chosen = choices(m, ratio);
        let indices = tape.tensor("indices of keys", sizes.tokens(&[chosen]), 4);
        let work = Work::Attention(flops(sizes, widths, chosen));
        tape.op("csa_sparse_attn", work, &[query, keys], &[output])
            .saves(&[query, keys, indices, output, sums])
            .backward(&[of_keys]);
        return output;
    };
    // The picked groups are filled up to as many as there may be.
    let topk = a.dsa_indexer_topk.unwrap_or(a.seq_length);
    let chosen = factor("(w + k_i)", a.csa_window_size.saturating_add(topk));
    let indices = tape.tensor("indices of keys", sizes.tokens(&[chosen]), 4);
    let lengths = tape.tensor("indices of each token", sizes.tokens(&[]), 4);
    let [queries, of_groups, of_heads] = indexer.shapes;
    let gradients = [
        ("gradient of the indexer's queries", queries),
        ("gradient of the indexer's keys", of_groups),
        ("gradient of the indexer's weights", of_heads),
    ];
    let gradients = gradients.map(|(what, shape)| tape.tensor(what, shape, bytes));
    let pairs = groups(
        sizes,
        CompressRatio::Sparse.tokens(),
        [factor("s", a.seq_length), Factor::NONE],
    );
    let scores = tape.tensor("scores of the indexer in fp32", pairs, 4);
    let reads = [query, keys, indexer.queries, indexer.keys, indexer.weights];
    let work = Work::Attention(flops(sizes, widths, choices(m, ratio)));
    tape.op("fused_csa_indexer_sparse_attn", work, &reads, &[output])
        .saves(&[query, keys, indices, lengths, output, sums])
        .saves(&gradients)
        .forward(&[scores])
        .backward(&[of_keys]);
    output
}
