//! Softmax of capped scores, in the attention that `NeMo` 2 has of its own for Gemma 2.

use crate::config::job::Module;
use crate::model::sizes::Sizes;
use crate::model::softcap::cap;
use crate::model::tape::{AutogradTape, Gradient, TensorId, Work};
use crate::model::tensor::{Shape, factor};

/// The longest row that the fused kernel takes (`FusedScaleMaskSoftmax.is_kernel_available`).
const LONGEST_ROW: u64 = 4096;

/// Caps the scores and makes probabilities of them. Returns the capped scores, which Python holds until attention is
/// done.
pub(super) fn softmax(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    raw: TensorId,
    probabilities: TensorId,
    scores: Shape,
) -> TensorId {
    let m = sizes.m;
    let width = sizes.width();
    let capped = cap(tape, raw, width);
    if is_fused(m) {
        // Its backward pass writes over the gradient.
        tape.op("softmax", Work::MemoryBound, &[capped], &[probabilities])
            .saves(&[probabilities])
            .gradients(&[Gradient::Shared]);
        return capped;
    }
    let in_fp32 = m.args.attention_softmax_in_fp32 && width < 4;
    let width = if in_fp32 { 4 } else { width };
    let mut input = capped;
    let mut result = probabilities;
    if in_fp32 {
        input = tape.tensor("capped scores in fp32", scores, 4);
        tape.op("float", Work::MemoryBound, &[capped], &[input]);
        result = tape.tensor("attention probabilities in fp32", scores, 4);
    }
    // Every layer makes the causal mask anew, and fills it in in place.
    let (rows, columns) = (factor("s", m.args.seq_length), factor("s", m.args.seq_length));
    let pairs = Shape::of(&[rows, columns]);
    let mask = tape.tensor("causal mask", pairs, 1);
    let triangles = tape.tensor("ones and their triangle in fp32", pairs, 8);
    let unmasked = tape.tensor("gradient of the scores before they are masked", scores, width);
    tape.op("masked_fill, softmax", Work::MemoryBound, &[input], &[result])
        .saves(&[mask, result])
        .forward(&[triangles])
        .backward(&[unmasked]);
    if in_fp32 {
        tape.op("bfloat16", Work::MemoryBound, &[result], &[probabilities]);
    }
    capped
}

/// Whether Megatron's fused softmax takes the scores (`is_kernel_available`). Blocks of its kernel have four rows of so
/// many columns, and eight of at most 128.
fn is_fused(m: &Module) -> bool {
    let a = &m.args;
    let length = a.seq_length;
    let matrices = a.micro_batch_size * (a.num_attention_heads / m.tensor_parts().max(1));
    let block = if length <= 128 { 8 } else { 4 };
    a.masked_softmax_fusion
        && m.precision.bytes() == 2
        && length > 16
        && length <= LONGEST_ROW
        && length.is_multiple_of(4)
        && matrices.is_multiple_of(block)
}
