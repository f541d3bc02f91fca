//! The norm that Kimi K3 has besides those of Transformer Engine (`KimiRMSNorm`): PyTorch's operations in fp32.

use crate::model::norm::NormNames;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, TensorId, Work};
use crate::model::tensor::{Factor, ParamTensor, Shape};

/// A norm over rows of this width. It keeps its input in fp32, a reciprocal of each row, and the normed input in the
/// precision of training, which its weight multiplies. `rows` makes the shape of so wide a tensor.
pub(crate) fn rms_norm(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (names, weight): (NormNames, ParamTensor),
    (input, width): (TensorId, Factor),
    rows: impl Fn(Factor) -> Shape,
) -> TensorId {
    tape.declare([weight]);
    let wide = tape.tensor("norm input in fp32", rows(width), 4);
    let statistics = tape.tensor(names.statistics, rows(Factor::NONE), 4);
    let normed = tape.tensor("normed input before its weight", rows(width), sizes.width());
    let output = tape.tensor(names.output, rows(width), sizes.width());
    tape.op(names.op, Work::MemoryBound, &[input], &[output])
        .saves(&[wide, statistics, normed]);
    output
}
