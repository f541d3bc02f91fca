//! Embeddings per layer of Gemma 4 (`_attach_ple_modules`, `_compute_per_layer_inputs`): a second table has, for every
//! token, an embedding for each layer. It joins a projection of the word embedding, and behind its MLP each layer
//! multiplies its part into the residual stream.

use super::hidden;
use super::linear::{Linear, column, plain};
use super::norm::{NormNames, token_norm, token_norm_of};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId, Work};
use super::tensor::{Component, Factor, Shape, factor};
use super::weights::Weights;
use crate::source::Source;

const OF_ALL_LAYERS: NormNames = NormNames {
    op: "per_layer_proj_norm",
    output: "normed projection for all layers",
    statistics: "statistics of the norm on embeddings per layer",
};
const OF_LAYER: NormNames = NormNames {
    op: "post_per_layer_input_norm",
    output: "normed input of the layer",
    statistics: "statistics of the norm on inputs per layer",
};

/// Width of the embeddings of one layer, where there are any.
fn width(sizes: &Sizes<'_>) -> Option<Factor> {
    sizes.m.args.per_layer_embed_dim.map(|width| factor("p", width))
}

fn layers(sizes: &Sizes<'_>) -> Factor {
    factor("L", sizes.m.args.num_layers)
}

/// The embeddings of all layers, side by side, from the word embedding that goes into the first layer. They are kept
/// until the last layer's backward pass has ended, since every layer reads a part of one tensor.
pub(super) fn build(sizes: &Sizes<'_>, tape: &mut AutogradTape, embedded: TensorId) {
    let Some(p) = width(sizes) else { return };
    let (m, bytes) = (sizes.m, sizes.width());
    let all = factor("L·p", layers(sizes).value.saturating_mul(p.value));
    let about = tape.about();
    tape.at(Family::Output, Source::Gemma4PerLayerInputs);
    let weights = Weights::of(m, Component::PerLayerEmbedding, Source::Gemma4PerLayerInputs);
    let rows = factor("v_p", m.args.per_layer_embed_vocab_size.unwrap_or(m.padded_vocab_size));
    let table = weights.column_parallel("per_layer_embedding.weight", &[rows, all], 2);
    tape.declare([table]);
    let (own, whole) = (sizes.own_tokens(&[all]), sizes.tokens(&[all]));
    let looked_up = tape.tensor("embeddings per layer", own, bytes);
    let of_ranks = tape.tensor("embeddings per layer of whole sequences", whole, bytes);
    let gradient = tape.tensor_if(!m.is_frozen(), "gradient of embeddings per layer", table.shape, bytes);
    tape.op("per_layer_embedding", Work::MemoryBound, &[], &[looked_up])
        .forward(&[of_ranks])
        .backward(gradient.as_slice());

    let parts = tape.tensor("projected word embedding", sizes.columns(&[all]), bytes);
    let linear = Linear {
        name: "per_layer_model_proj",
        input: embedded,
        width: hidden(m),
        output: parts,
        weight: weights.column_parallel("per_layer_model_proj.weight", &[all, hidden(m)], 2),
        bias: None,
    };
    column(sizes, tape, &linear);
    let gathered = tape.tensor("projected word embedding of all columns", whole, bytes);
    let scaled = tape.tensor("scaled projection of the word embedding", own, bytes);
    tape.op("gather_output", Work::MemoryBound, &[parts], &[scaled])
        .forward(&[gathered])
        .backward(&[gathered]);
    let norm = (OF_ALL_LAYERS, weights.norm("per_layer_proj_norm", p));
    let of_layers = |width: Factor| own_layers(sizes, width);
    let normed = token_norm_of(sizes, tape, norm, scaled, p, &of_layers);
    let sum = tape.tensor("sum of both", own, bytes);
    tape.op("add", Work::MemoryBound, &[normed, looked_up], &[sum]);
    let inputs = tape.tensor("inputs of all layers", own, bytes);
    tape.op("scale", Work::MemoryBound, &[sum], &[inputs]).saves(&[inputs]);
    tape.at(about.0, about.1);
}

/// This rank's tokens with so many numbers for each layer.
fn own_layers(sizes: &Sizes<'_>, width: Factor) -> Shape {
    sizes.own_tokens(&[layers(sizes), width])
}

/// What a layer does behind its MLP: multiplies in its embeddings, where there are any, and multiplies all by a number.
pub(super) fn into_layer(sizes: &Sizes<'_>, tape: &mut AutogradTape, mut x: TensorId) -> TensorId {
    let (m, bytes) = (sizes.m, sizes.width());
    tape.at(Family::Residual, Source::Gemma4DenseLayer);
    if let Some(p) = width(sizes) {
        let weights = Weights::of(m, Component::PerLayerInput, Source::Gemma4DenseLayer);
        let shape = sizes.own_tokens(&[p]);
        let gate = tape.tensor("gate of the layer's embedding", shape, bytes);
        let linear = Linear {
            name: "per_layer_input_gate",
            input: x,
            width: hidden(m),
            output: gate,
            weight: weights.whole("per_layer_input_gate.weight", &[p, hidden(m)], 2),
            bias: None,
        };
        plain(sizes, tape, &linear);
        let activated = tape.tensor("activated gate of the layer's embedding", shape, bytes);
        tape.op("gelu", Work::MemoryBound, &[gate], &[activated]).saves(&[gate]);
        let product = tape.tensor("embedding of the layer times its gate", shape, bytes);
        // The gradient of the layer's part is one of the whole tensor, which is added to those of the layers behind it.
        let gradients = ["gradient of the inputs of all layers", "its sum over layers"];
        let gradients = gradients.map(|what| tape.tensor(what, own_layers(sizes, p), bytes));
        tape.op("mul", Work::MemoryBound, &[activated], &[product])
            .saves(&[activated])
            .backward(&gradients);
        let projected = tape.tensor("projected embedding of the layer", sizes.residual(), bytes);
        let linear = Linear {
            name: "per_layer_projection",
            input: product,
            width: p,
            output: projected,
            weight: weights.whole("per_layer_projection.weight", &[hidden(m), p], 2),
            bias: None,
        };
        plain(sizes, tape, &linear);
        let norms = Weights::of(m, Component::Layernorm, Source::Gemma4DenseLayer);
        let norm = (OF_LAYER, norms.norm("post_per_layer_input_norm", hidden(m)));
        let normed = token_norm(sizes, tape, norm, projected, hidden(m));
        let sum = tape.tensor("residual stream with the layer's embedding", sizes.residual(), bytes);
        tape.op("add", Work::MemoryBound, &[x, normed], &[sum]);
        x = sum;
    }
    let output = tape.tensor("output of the layer", sizes.residual(), bytes);
    tape.op("layer_scalar", Work::MemoryBound, &[x], &[output]);
    output
}
