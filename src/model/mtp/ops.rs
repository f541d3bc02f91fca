//! What one MTP depth keeps.

use crate::model::linear::weight_gradient;
use crate::model::norm::ops::{ENORM, HNORM, MTP_FINAL, residual_norm};
use crate::model::sizes::Sizes;
use crate::model::tape::{Family, Tape, TensorId};
use crate::model::tensor::{Shape, factor};
use crate::model::{embedding, hidden, layer_ops, tp};
use crate::source::MTP;

/// One MTP depth from the hidden states of the depth before to its own, normed.
pub(crate) fn ops(sizes: &Sizes<'_>, tape: &mut Tape, states: TensorId) -> TensorId {
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
    let parallel = m.sequence_parallel;
    let gathered = tape.tensor_if(parallel, "gathered input", sizes.tokens(&[both]), bytes);
    let again = tape.tensor_if(
        parallel,
        "input gathered again",
        sizes.tokens(&[both]),
        bytes,
    );
    let sum = tape.tensor_if(
        parallel,
        "input gradient before reduce-scatter",
        sizes.tokens(&[both]),
        bytes,
    );
    let weight = Shape::of(&[both, hidden(m)]).over(tp(m));
    let gradient = weight_gradient(sizes, tape, weight);
    tape.op("eh_proj", &[joined], &[projected])
        .saves(&[joined])
        .forward(&gathered)
        .backward(&again)
        .backward(&sum)
        .backward(&gradient);
    let input = tape.tensor("MTP: input of its layer", sizes.residual(), bytes);
    let whole = tape.tensor_if(
        m.tp > 1,
        "output of eh_proj gathered over ranks",
        sizes.gathered(),
        bytes,
    );
    tape.op("MTP gather", &[projected], &[input])
        .forward(&whole)
        .backward(&whole);
    let last = m.args.num_layers.saturating_sub(1);
    let (linear, moe) = (m.is_linear_layer(last), m.is_moe_layer(last));
    let output = layer_ops(sizes, tape, linear, moe, input);
    // Full recompute with method uniform runs projection and layer again from their two inputs.
    tape.section(None, start, &[embedded, states]);
    tape.at(Family::Output, MTP);
    residual_norm(sizes, tape, MTP_FINAL, output)
}
