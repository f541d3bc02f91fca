//! One layer: a mixer and an MLP around the residual stream, or both beside each other.

use super::layer_spec::{LayerSpec, Mixer, Mlp};
use super::sizes::Sizes;
use super::tape::{AutogradTape, Capture, Family, Point, TensorId, Work};
use super::tensor::Component;
use super::weights::Weights;
use super::{
    attention, compressed_attention, gated_delta_net, gated_delta_product, hidden, hyper_connections, kimi, linear,
    mamba, mamba_beside_attention, mla, mlp, moe, parallel_layer, per_layer_embedding, sparse_attention,
};
use crate::config::mixer::Gates;
use crate::source::Source;

/// Records the operations of one layer, from the residual stream to the residual stream. Its parameters are listed by
/// component, biases after weights.
pub(super) fn build_layer(sizes: &Sizes<'_>, tape: &mut AutogradTape, spec: LayerSpec, x: TensorId) -> TensorId {
    let adapters = spec.adapters.map(|adapters| adapters.modules);
    let sizes = sizes.with_adapters(adapters.unwrap_or_default());
    let of_layer = sizes.m.of_layer(spec.sizes);
    let sizes = if spec.sizes.is_of_module() {
        &sizes
    } else {
        &sizes.of(&of_layer)
    };
    let first = tape.parameters.len();
    let output = if sizes.m.args.parallel_attention {
        parallel_layer::build(sizes, tape, x)
    } else {
        build_halves(sizes, tape, spec, x)
    };
    if let Some(parameters) = tape.parameters.get_mut(first..) {
        parameters.sort_by_key(|p| (p.component, p.is_named("bias")));
    }
    output
}

/// A mixer and an MLP, each of which reads the residual stream and is added to it.
fn build_halves(sizes: &Sizes<'_>, tape: &mut AutogradTape, spec: LayerSpec, x: TensorId) -> TensorId {
    tape.capture = Capture::of(sizes.m, spec);
    tape.reaches(Point::Start);
    let mix = |tape: &mut AutogradTape, mixer, x| match mixer {
        Mixer::Attention => attention::build(sizes, tape, x),
        Mixer::MultiLatentAttention => mla::build(sizes, tape, x),
        Mixer::SparseAttention { indexer } => sparse_attention::build(sizes, tape, indexer, x),
        Mixer::CompressedAttention { ratio } => compressed_attention::build(sizes, tape, ratio, x),
        Mixer::GatedDeltaNet => gated_delta_net::build(sizes, tape, Gates::OfHeads, x),
        Mixer::GatedDeltaNet2 => gated_delta_net::build(sizes, tape, Gates::OfChannels, x),
        Mixer::Mamba => mamba::build(sizes, tape, x),
        Mixer::GatedDeltaProduct => gated_delta_product::build(sizes, tape, x),
        Mixer::MambaBesideAttention => mamba_beside_attention::build(sizes, tape, x),
        Mixer::KimiDeltaAttention => kimi::delta_attention::build(sizes, tape, x),
        Mixer::KimiLatentAttention => kimi::latent_attention::build(sizes, tape, x),
    };
    let think = |tape: &mut AutogradTape, mlp, x| match mlp {
        Mlp::Dense => mlp::build(sizes, tape, x),
        Mlp::Moe(experts) => moe::build(sizes, tape, experts, x),
    };
    if let (Some(residuals), Some(mixer), Some(mlp)) = (spec.residuals, spec.mixer, spec.mlp) {
        let mix = |tape: &mut AutogradTape, x| mix(tape, mixer, x);
        let think = |tape: &mut AutogradTape, x| think(tape, mlp, x);
        return kimi::residuals::build(sizes, tape, residuals, x, mix, think);
    }
    if hyper_connections::has(sizes.m) {
        return build_between_streams(sizes, tape, spec, x, (mix, think));
    }
    let residual = spec.mixer.map_or(x, |_| in_stream_precision(sizes, tape, x));
    let mixed = spec.mixer.map(|mixer| mix(tape, mixer, x));
    let middle = residual_add(sizes, tape, ("self_attn_bda", "ls1"), mixed, residual);
    tape.reaches(Point::Attention);
    let residual = spec.mlp.map_or(middle, |_| in_stream_precision(sizes, tape, middle));
    let mlp = spec.mlp.map(|mlp| think(tape, mlp, middle));
    let mut output = residual_add(sizes, tape, ("mlp_bda", "ls2"), mlp, residual);
    if sizes.m.args.layer_norms_in_fp32 {
        output = per_layer_embedding::into_layer(sizes, tape, output);
    }
    tape.reaches(Point::Layer);
    output
}

/// The same between the residual streams of hyper-connections.
fn build_between_streams(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    spec: LayerSpec,
    x: TensorId,
    (mix, think): (
        impl Fn(&mut AutogradTape, Mixer, TensorId) -> TensorId,
        impl Fn(&mut AutogradTape, Mlp, TensorId) -> TensorId,
    ),
) -> TensorId {
    let mut stream = x;
    let mut discarded = Vec::new();
    if let Some(mixer) = spec.mixer {
        let names = &hyper_connections::SELF_ATTENTION;
        let (output, parts) = hyper_connections::around(sizes, tape, names, stream, |tape, x| mix(tape, mixer, x));
        stream = output;
        discarded.extend(parts);
    }
    tape.reaches(Point::Attention);
    if let Some(mlp) = spec.mlp {
        let names = &hyper_connections::MLP;
        let (output, parts) = hyper_connections::around(sizes, tape, names, stream, |tape, x| think(tape, mlp, x));
        stream = output;
        discarded.extend(parts);
    }
    // The next layer keeps the streams that come out of the last half.
    discarded.pop();
    for part in discarded {
        part.at_the_end(tape);
    }
    tape.reaches(Point::Layer);
    stream
}

/// These values as wide as the residual stream: with `fp32_residual_connection` a copy in fp32 of what is narrower, as
/// the word embedding and the output of MTP's projection are.
pub(super) fn in_stream_precision(sizes: &Sizes<'_>, tape: &mut AutogradTape, x: TensorId) -> TensorId {
    let width = sizes.stream_width();
    if tape.get(x).is_none_or(|tensor| tensor.width >= width) {
        return x;
    }
    let copy = tape.tensor("residual stream in fp32", sizes.residual(), width);
    tape.op("float", Work::MemoryBound, &[x], &[copy]);
    copy
}

/// Adds the output of half a layer to the residual stream, perhaps times a learned factor for each column; without that
/// half, the stream passes unchanged.
fn residual_add(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    (name, scaling): (&'static str, &'static str),
    branch: Option<TensorId>,
    residual: TensorId,
) -> TensorId {
    let Some(branch) = branch else {
        return residual;
    };
    if sizes.m.args.layer_scaling {
        let weights = Weights::of(sizes.m, Component::LayerScaling, Source::LayerScaling);
        tape.declare([weights.whole(scaling, &[hidden(sizes.m)], 1)]);
    }
    tape.at(Family::Residual, Source::BiasDropout);
    linear::bias_dropout_add(sizes, tape, name, branch, residual)
}
