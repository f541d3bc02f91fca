//! Soft caps on logits, as Gemma 2 has them on the scores of attention and on what the output layer puts out.

use super::linear::shape_of;
use super::tape::{AutogradTape, TensorId, Work};

/// `scale * torch.tanh(logits / scale)`: the tangent is saved. Python holds the logits until the function returns.
/// Returns the capped logits.
pub(crate) fn cap(tape: &mut AutogradTape, logits: TensorId, width: u64) -> TensorId {
    let shape = shape_of(tape, logits);
    let divided = tape.tensor("logits over their cap", shape, width);
    let tangent = tape.tensor("hyperbolic tangent of logits", shape, width);
    let capped = tape.tensor("capped logits", shape, width);
    tape.op("div", Work::MemoryBound, &[logits], &[divided]);
    tape.op("tanh", Work::MemoryBound, &[divided], &[tangent])
        .saves(&[tangent])
        .holds(&[logits]);
    tape.op("mul", Work::MemoryBound, &[tangent], &[capped])
        .holds(&[logits]);
    capped
}
