//! Multi-token prediction: one depth with its layers and final norm.

use super::layer::{build_layer, in_stream_precision};
use super::layer_spec::LayerSpec;
use super::linear::{Linear, column};
use super::norm::{ENORM, HNORM, MTP_FINAL, after_layers, residual_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, ParamTensor, Row, factor};
use super::weights::Weights;
use super::{embedding, hidden};
use crate::source::MTP;

/// One MTP depth from the hidden states of the depth before to its own, normed. It shares the word embedding, which is
/// a part of its own where the first stage is elsewhere.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, states: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Output, MTP);
    let embedded = embedding::lookup(sizes, tape, "MTP embedding", "MTP: embedded tokens");
    let embedded = in_stream_precision(sizes, tape, embedded);
    let start = tape.here();
    let norms = Weights::of(m, Component::EnormHnorm, MTP);
    let weight = norms.norm("enorm", hidden(m));
    let enorm = residual_norm(sizes, tape, &(ENORM, weight), embedded);
    let weight = norms.norm("hnorm", hidden(m));
    let hnorm = residual_norm(sizes, tape, &(HNORM, weight), states);
    let both = factor("2·h", 2 * m.args.hidden_size);
    let joined = tape.tensor("MTP: embedding beside hidden states", sizes.own_tokens(&[both]), bytes);
    tape.op("MTP concat", Work::MemoryBound, &[enorm, hnorm], &[joined]);
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
        weight: ParamTensor {
            row: Row::Elements(both.value),
            ..Weights::of(m, Component::EhProj, MTP).column_parallel("eh_proj.weight", &[both, hidden(m)], 2)
        },
        bias: None,
    };
    column(sizes, tape, &linear);
    let input = tape.tensor("MTP: input of its layer", sizes.residual(), bytes);
    let whole = tape.tensor_if(
        m.tp > 1,
        "output of eh_proj gathered over ranks",
        sizes.gathered(),
        bytes,
    );
    tape.op("MTP gather", Work::MemoryBound, &[projected], &[input])
        .forward(whole.as_slice())
        .backward(whole.as_slice());
    let layers = LayerSpec::of_mtp(m).into_iter();
    let output = layers.fold(input, |x, spec| build_layer(sizes, tape, spec, x));
    tape.computes_weight_gradients(start);
    // Full recompute with method uniform runs projection and layer again from their two inputs.
    tape.section(None, start, &[embedded, states]);
    tape.at(Family::Output, MTP);
    residual_norm(sizes, tape, &after_layers(m, MTP_FINAL), output)
}
