//! A compressor (`Compressor`): it makes one key of a group of tokens, their sum with weights that are learned. Of groups
//! of four tokens each is made of two groups, so that they overlap.

use super::{groups, rotate};
use crate::config::compress_ratios::CompressRatio;
use crate::model::hidden;
use crate::model::linear::{Linear, plain};
use crate::model::norm::{NormNames, token_norm_of};
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, TensorId, Work};
use crate::model::tensor::{Component, Factor, factor};
use crate::model::weights::Weights;
use crate::source::Source;

/// The names of a compressor's parameters.
pub(super) struct Names {
    pub(super) component: Component,
    pub(super) wkv: &'static str,
    pub(super) wgate: &'static str,
    pub(super) ape: &'static str,
    pub(super) norm: &'static str,
}

/// The compressor of the keys of attention.
pub(super) const OF_KEYS: Names = Names {
    component: Component::CsaCompressor,
    wkv: "self_attention.core_attention.compressor.linear_wkv.weight",
    wgate: "self_attention.core_attention.compressor.linear_wgate.weight",
    ape: "self_attention.core_attention.compressor.ape",
    norm: "self_attention.core_attention.compressor.norm",
};
/// The compressor of the keys of an indexer.
pub(super) const OF_INDEXER: Names = Names {
    component: Component::DsaIndexer,
    wkv: "self_attention.core_attention.indexer.compressor.linear_wkv.weight",
    wgate: "self_attention.core_attention.indexer.compressor.linear_wgate.weight",
    ape: "self_attention.core_attention.indexer.compressor.ape",
    norm: "self_attention.core_attention.indexer.compressor.norm",
};

const NORM: NormNames = NormNames {
    op: "compressor.norm",
    output: "normed compressed keys",
    statistics: "statistics of the norm on compressed keys",
};

/// The compressed keys, so wide, of what the input norm puts out. `detached` says that only the compressor is trained by
/// them.
pub(super) fn build(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    names: &Names,
    (ratio, head): (CompressRatio, Factor),
    (normed, detached): (TensorId, bool),
) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let copies = if ratio.overlaps() { 2 } else { 1 };
    let width = match ratio {
        CompressRatio::Sparse => factor("2·d", 2 * head.value),
        CompressRatio::Window | CompressRatio::Heavy => head,
    };
    // Its products run in the precision of training also in fp8.
    let plain_sizes = Sizes { fp8: None, ..*sizes };
    let weights = Weights::of(m, names.component, Source::Csa);
    let mut project = |what: &'static str, name: &'static str, weight: &'static str| {
        let output = tape.tensor(what, sizes.tokens(&[width]), bytes);
        let linear = Linear {
            name,
            input: normed,
            width: hidden(m),
            output,
            weight: weights.whole(weight, &[width, hidden(m)], 2),
            bias: None,
        };
        let first = tape.here();
        plain(&plain_sizes, tape, &linear);
        if detached {
            (first..tape.here()).for_each(|op| tape.detach_inputs(op));
        }
        output
    };
    let keys = project("keys before they are compressed", "linear_wkv", names.wkv);
    let scores = project("scores within groups", "linear_wgate", names.wgate);
    let tokens = factor("r_c", ratio.tokens());
    tape.declare([weights.whole(names.ape, &[tokens, width], 2).kept_in_fp32()]);
    // What is added to the scores is in fp32, and so is the sum.
    let with_positions = tape.tensor("scores with positions in fp32", sizes.tokens(&[width]), 4);
    tape.op("add ape", Work::MemoryBound, &[scores], &[with_positions]);
    let of_groups = groups(sizes, ratio.tokens(), [factor("r_c", copies * ratio.tokens()), head]);
    let (keys, scores) = if ratio.overlaps() {
        let doubled = tape.tensor("keys of overlapping groups", of_groups, bytes);
        tape.op("_overlap_transform", Work::MemoryBound, &[keys], &[doubled]);
        let scores = tape.tensor("scores of overlapping groups in fp32", of_groups, 4);
        tape.op("_overlap_transform", Work::MemoryBound, &[with_positions], &[scores]);
        (doubled, scores)
    } else {
        (keys, with_positions)
    };
    let weights_in_fp32 = tape.tensor("weights within groups in fp32", of_groups, 4);
    tape.op("softmax", Work::MemoryBound, &[scores], &[weights_in_fp32])
        .saves(&[weights_in_fp32]);
    let weights_of_keys = tape.tensor("weights within groups", of_groups, bytes);
    tape.op("to", Work::MemoryBound, &[weights_in_fp32], &[weights_of_keys]);
    let weighted = tape.tensor("weighted keys", of_groups, bytes);
    tape.op("mul", Work::MemoryBound, &[keys, weights_of_keys], &[weighted])
        .saves(&[keys, weights_of_keys]);
    let rows = |width: Factor| groups(sizes, ratio.tokens(), [width, Factor::NONE]);
    let pooled = tape.tensor("compressed keys", rows(head), bytes);
    tape.op("sum", Work::MemoryBound, &[weighted], &[pooled]);
    // Its norm is `RMSNorm`, whatever the norms of the model are.
    let norm = weights.whole(names.norm, &[head], 1);
    let normed = token_norm_of(sizes, tape, (NORM, norm), pooled, head, &rows);
    let what = "compressed keys after rotary embedding";
    rotate(sizes, tape, normed, what, (rows(head), ratio.tokens()))
}
