//! What norms keep.

use crate::config::choices::Normalization;
use crate::model::kernels::NormKernel;
use crate::model::sizes::Sizes;
use crate::model::tape::{Tape, TensorId};
use crate::model::tensor::{Factor, Shape};

/// What a norm over rows of this shape keeps of its input: the input itself with statistics in fp32.
///
/// PyTorch's `RMSNorm` is a chain of operations in fp32 and keeps two fp32 copies of its input instead.
pub(crate) fn saved(
    sizes: &Sizes<'_>,
    tape: &mut Tape,
    input: TensorId,
    rows: impl Fn(&[Factor]) -> Shape,
    width: Factor,
) -> Vec<TensorId> {
    let stats = tape.tensor(
        "norm statistics",
        rows(&[sizes.norm_stats()]),
        sizes.stats_width(),
    );
    if sizes.kernels.norm == NormKernel::Torch
        && sizes.m.args.normalization == Normalization::RmsNorm
    {
        let copies = [
            tape.tensor("norm input in fp32", rows(&[width]), 4),
            tape.tensor("normalized input in fp32", rows(&[width]), 4),
        ];
        return vec![copies[0], copies[1], stats];
    }
    vec![input, stats]
}

/// A norm of its own on the residual stream: `name` reads `input` and makes `what`.
pub(crate) fn residual_norm(
    sizes: &Sizes<'_>,
    tape: &mut Tape,
    name: &'static str,
    what: &'static str,
    input: TensorId,
) -> TensorId {
    let output = tape.tensor(what, sizes.residual(), sizes.width());
    let saved = saved(
        sizes,
        tape,
        input,
        |w| sizes.own_tokens(w),
        super::super::hidden(sizes.m),
    );
    tape.op(name, &[input], &[output]).saves(&saved);
    output
}
