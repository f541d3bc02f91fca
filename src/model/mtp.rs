//! Multi-token prediction: one depth with its layers and final norm.

use super::layer::{build_layer, in_stream_precision};
use super::layer_spec::LayerSpec;
use super::linear::{Linear, column};
use super::norm::{ENORM, HNORM, MTP_FINAL, after_layers, residual_norm};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, Gradient, Section, TensorId, Work};
use super::tensor::{Component, Factor, ParamTensor, Row, Shape, factor};
use super::weights::Weights;
use super::{embedding, hidden, hyper_connections, linear, norm};
use crate::config::choices::RecomputeModule;
use crate::source::Source;

/// The outputs of an MTP depth.
pub(crate) struct Depth {
    /// What the next depth reads.
    pub(crate) states: TensorId,
    /// What the output layer reads: the same, normed.
    pub(crate) normed: TensorId,
}

/// One MTP depth from the hidden states of the depth before to its own. It shares the word embedding, which is a part of
/// its own where the first stage is elsewhere.
pub(crate) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, states: TensorId) -> Depth {
    let m = sizes.m;
    tape.at(Family::Output, Source::Mtp);
    let embedded = embedding::lookup(sizes, tape, "MTP embedding", "MTP: embedded tokens");
    let embedded = in_stream_precision(sizes, tape, embedded);
    let start = tape.here();
    let norms = Weights::of(m, Component::EnormHnorm, Source::Mtp);
    let weight = norms.norm("enorm", hidden(m));
    let enorm = residual_norm(sizes, tape, &(ENORM, weight), embedded);
    let input = if hyper_connections::has(m) {
        project_streams(sizes, tape, enorm, states)
    } else {
        project_joined(sizes, tape, enorm, states)
    };
    let first = tape.sections.len();
    let layers = LayerSpec::of_mtp(m).into_iter();
    let output = layers.fold(input, |x, spec| build_layer(sizes, tape, spec, x));
    // `TransformerBlock.forward` alone has a manager for what recompute module mhc discards.
    let of_mtp = tape.sections.split_off(first);
    let is_run = |section: &Section| section.module != Some(RecomputeModule::Mhc);
    tape.sections.extend(of_mtp.into_iter().filter(is_run));
    tape.computes_weight_gradients(start);
    // Full recompute with method uniform runs projection and layer again from their two inputs.
    tape.section(None, start, &[embedded, states]);
    tape.at(Family::Output, Source::Mtp);
    let normed = hyper_connections::contract(sizes, tape, &after_layers(m, MTP_FINAL), output);
    let states = if hyper_connections::has(m) { output } else { normed };
    Depth { states, normed }
}

/// One projection of embedded tokens and hidden states side by side.
fn project_joined(sizes: &Sizes<'_>, tape: &mut AutogradTape, enorm: TensorId, states: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    let norms = Weights::of(m, Component::EnormHnorm, Source::Mtp);
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
            ..Weights::of(m, Component::EhProj, Source::Mtp).column_parallel("eh_proj.weight", &[both, hidden(m)], 2)
        },
        bias: None,
    };
    column(sizes, tape, &linear);
    gather(sizes, tape, projected, sizes.residual(), sizes.gathered())
}

/// The output of a projection on this rank's tokens, whole rows of which ranks gather.
fn gather(sizes: &Sizes<'_>, tape: &mut AutogradTape, projected: TensorId, own: Shape, all: Shape) -> TensorId {
    let input = tape.tensor("MTP: input of its layer", own, sizes.width());
    let whole = tape.tensor_if(
        sizes.m.tp > 1,
        "output of eh_proj gathered over ranks",
        all,
        sizes.width(),
    );
    tape.op("MTP gather", Work::MemoryBound, &[projected], &[input])
        .forward(whole.as_slice())
        .backward(whole.as_slice());
    input
}

/// With hyper-connections a projection of the embedded tokens, which is added to one of each residual stream
/// (`MultiTokenPredictionLayer._concat_embeddings`).
fn project_streams(sizes: &Sizes<'_>, tape: &mut AutogradTape, enorm: TensorId, states: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Output, Source::HyperConnectionMtp);
    let n = hyper_connections::streams(m);
    let norms = Weights::of(m, Component::EnormHnorm, Source::Mtp);
    let rows = |width: Factor| sizes.own_tokens(&[n, width]);
    let hnorm = norm::token_norm_of(
        sizes,
        tape,
        (HNORM, norms.norm("hnorm", hidden(m))),
        states,
        hidden(m),
        &rows,
    );
    let weights = Weights::of(m, Component::EhProj, Source::HyperConnectionMtp);
    let mut project = |name: &'static str, weight: &'static str, input: TensorId, widths: &[Factor; 2]| {
        let output = tape.tensor("MTP: output of a projection", sizes.columns(widths), bytes);
        let linear = Linear {
            name,
            input,
            width: hidden(m),
            output,
            weight: weights.column_parallel(weight, &[hidden(m), hidden(m)], 2),
            bias: None,
        };
        let of_streams = sizes.tokens(widths);
        linear::column_of(sizes, tape, &linear, of_streams);
        output
    };
    let embedded = project("e_proj", "e_proj.weight", enorm, &[hidden(m), Factor::NONE]);
    let streams = project("h_proj", "h_proj.weight", hnorm, &[n, hidden(m)]);
    let sum = tape.tensor("MTP: sum of both projections", sizes.columns(&[n, hidden(m)]), bytes);
    tape.op("MTP add", Work::MemoryBound, &[embedded, streams], &[sum])
        .gradients(&[Gradient::New, Gradient::Shared]);
    if m.tp < 2 {
        return sum;
    }
    gather(sizes, tape, sum, sizes.streams(), sizes.tokens(&[n, hidden(m)]))
}
