//! What one MTP depth keeps.

use crate::model::linear::{Linear, column};
use crate::model::norm::ops::{ENORM, HNORM, MTP_FINAL, residual_norm};
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, Family, TensorId};
use crate::model::tensor::{Shape, factor};
use crate::model::{LayerSpec, embedding, hidden, layer_ops, tp};
use crate::source::MTP;

/// One MTP depth from the hidden states of the depth before to its own, normed.
pub(crate) fn ops(sizes: &Sizes<'_>, tape: &mut AutogradTape, states: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Output, MTP);
    let embedded = embedding::ops::lookup(sizes, tape, "MTP embedding", "MTP: embedded tokens");
    let start = tape.here();
    let enorm = residual_norm(sizes, tape, ENORM, embedded);
    let hnorm = residual_norm(sizes, tape, HNORM, states);
    let both = factor("2·h", 2 * m.args.hidden_size);
    let joined = tape.tensor(
        "MTP: embedding beside hidden states",
        sizes.own_tokens(&[both]),
        bytes,
    );
    tape.op("MTP concat", &[enorm, hnorm], &[joined]);
    let projected = tape.tensor(
        "MTP: output of eh_proj before it is gathered",
        sizes.columns(&[hidden(m)]),
        bytes,
    );
    let linear = Linear {
        name: "eh_proj",
        input: joined,
        width: both,
        output: projected,
        weight: Shape::of(&[both, hidden(m)]).over(tp(m)),
    };
    column(sizes, tape, linear);
    let input = tape.tensor("MTP: input of its layer", sizes.residual(), bytes);
    let whole = tape.tensor_if(
        m.tp > 1,
        "output of eh_proj gathered over ranks",
        sizes.gathered(),
        bytes,
    );
    tape.op("MTP gather", &[projected], &[input])
        .forward(whole.as_slice())
        .backward(whole.as_slice());
    let output = layer_ops(sizes, tape, LayerSpec::of_mtp(m), input);
    // Full recompute with method uniform runs projection and layer again from their two inputs.
    tape.section(None, start, &[embedded, states]);
    tape.at(Family::Output, MTP);
    residual_norm(sizes, tape, MTP_FINAL, output)
}
