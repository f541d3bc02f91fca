//! The floating-point operations of sparse attention and of its indexer: each kernel computes products for the pairs of
//! tokens that it looks at, two operations for a number of a query and of a key.

use super::{Widths, choices};
use crate::model::sizes::Sizes;
use crate::model::tape::{Product, SparseOperations, Work};
use crate::model::tensor::{Factor, Shape};
use crate::units::multiply;

/// What attention computes for so many pairs of a head's query and a token, when its backward pass makes the scores again,
/// as fused kernels do. With `twice` it makes the output again too.
pub(super) fn fused(sizes: &Sizes<'_>, widths: &Widths, pairs: u64, twice: bool) -> Work {
    let (scores, outputs) = (of(pairs, widths.absorbed), of(pairs, widths.latent));
    let again = if twice { scores + outputs } else { 0 };
    // The scores again, and of scores and outputs the gradients of both operands.
    let backward = again + 3 * scores + 2 * outputs;
    work(scores + outputs, backward, counted(sizes, widths))
}

/// The scores of so many pairs by a product of PyTorch's, whose operands each get a gradient by one more. They stand for
/// what Megatron counts of core attention.
pub(super) fn scores(sizes: &Sizes<'_>, widths: &Widths, pairs: u64) -> Work {
    let scores = of(pairs, widths.absorbed);
    work(scores, 2 * scores, counted(sizes, widths))
}

/// The outputs of so many pairs by a product of PyTorch's.
pub(super) fn outputs(widths: &Widths, pairs: u64) -> Work {
    let outputs = of(pairs, widths.latent);
    work(outputs, 2 * outputs, 0)
}

/// Products that only the indexer needs, which Megatron does not count.
pub(super) fn of_indexer(forward: u64, backward: u64) -> Work {
    work(forward, backward, 0)
}

/// The products of queries and keys of this width for so many pairs.
pub(super) fn of(pairs: u64, width: Factor) -> u64 {
    multiply(2, multiply(pairs, width.value))
}

/// The pairs of a query of these heads, of which a rank has such a shape, and a token that was picked for it.
pub(super) fn picked(sizes: &Sizes<'_>, heads: Shape) -> u64 {
    let tokens = sizes.tokens(&[]).elements().max(1);
    multiply(heads.elements(), choices(sizes.m).elements() / tokens)
}

/// The product of every head's vectors with a matrix of its own, from vectors of width `from` to vectors of width `to`: a
/// half of the up projection of keys and values.
pub(super) fn by_head(sizes: &Sizes<'_>, heads: Factor, (from, to): (u64, Factor)) -> Work {
    Work::Product(Product {
        rows: sizes.columns(&[heads]).elements(),
        inner: from,
        columns: to.value,
        experts: None,
        quantized: false,
        trained: !sizes.m.is_frozen(),
        normed: false,
    })
}

/// Core attention as Megatron counts it (`num_floating_point_operations`): each query meets every earlier token, with
/// heads as wide as they are outside of the latent space.
fn counted(sizes: &Sizes<'_>, widths: &Widths) -> u64 {
    let queries = sizes.columns(&[widths.heads, widths.query]).elements();
    let values = sizes.columns(&[widths.heads, widths.value]).elements();
    multiply(sizes.m.attention_length(), queries + values)
}

fn work(forward: u64, backward: u64, counted: u64) -> Work {
    Work::SparseAttention(SparseOperations {
        forward,
        backward,
        counted,
    })
}
