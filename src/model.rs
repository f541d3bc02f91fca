//! A model as a list of parts, each with its parameters under Megatron's own names.

pub(crate) mod adapter;
pub mod architecture;
pub mod attention;
pub mod embedding;
mod factors;
pub mod front_end;
pub mod gated_delta_net;
pub mod gated_delta_product;
pub mod kernels;
pub(crate) mod labels;
pub mod layer_spec;
pub(crate) mod linear;
pub mod loss;
pub mod mamba;
pub mod mla;
pub mod mlp;
pub mod moe;
pub mod mtp;
pub mod norm;
mod parallel_layer;
pub mod projector;
pub mod quantization;
pub mod shared_expert;
pub mod sizes;
pub(crate) mod softcap;
pub mod sparse_attention;
pub mod tape;
pub mod tensor;
mod weights;

use crate::config::job::Module;
use crate::config::mixer::Gates;
use crate::source::LAYER_SCALING;
pub use architecture::{Architecture, Part, PartCounts, PartKind};
pub(crate) use factors::{hidden, tp};
pub use layer_spec::{Experts, LayerPrecision, LayerSpec, Mixer, Mlp, MlpKind};
use sizes::Sizes;
use tape::{AutogradTape, Capture, Family, Point, TensorId};
use tensor::Component;
use weights::Weights;

/// Whether the optimizer trains a component of this module.
#[must_use]
pub fn trained(m: &Module, component: Component) -> bool {
    match component {
        Component::FixedPositions => false,
        Component::Projector => !m.args.projector_frozen,
        Component::Adapters => true,
        _ => !m.is_frozen(),
    }
}

/// What one layer does, from the residual stream to the residual stream. Its parameters are listed by component,
/// biases after weights.
pub(crate) fn build_layer(sizes: &Sizes<'_>, tape: &mut AutogradTape, spec: LayerSpec, x: TensorId) -> TensorId {
    let adapters = spec.adapters.map(|adapters| adapters.modules);
    let sizes = &sizes.with_adapters(adapters.unwrap_or_default());
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
    let mixed = spec.mixer.map(|mixer| match mixer {
        Mixer::Attention => attention::build(sizes, tape, x),
        Mixer::MultiLatentAttention => mla::build(sizes, tape, x),
        Mixer::SparseAttention { indexer } => sparse_attention::build(sizes, tape, indexer, x),
        Mixer::GatedDeltaNet => gated_delta_net::build(sizes, tape, Gates::OfHeads, x),
        Mixer::GatedDeltaNet2 => gated_delta_net::build(sizes, tape, Gates::OfChannels, x),
        Mixer::Mamba => mamba::build(sizes, tape, x),
        Mixer::GatedDeltaProduct => gated_delta_product::build(sizes, tape, x),
    });
    let middle = residual_add(sizes, tape, ("self_attn_bda", "ls1"), mixed, x);
    tape.reaches(Point::Attention);
    let mlp = spec.mlp.map(|mlp| match mlp {
        Mlp::Dense => mlp::build(sizes, tape, middle),
        Mlp::Moe(experts) => moe::build(sizes, tape, experts, middle),
    });
    let output = residual_add(sizes, tape, ("mlp_bda", "ls2"), mlp, middle);
    tape.reaches(Point::Layer);
    output
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
        let weights = Weights::of(sizes.m, Component::LayerScaling, LAYER_SCALING);
        tape.declare([weights.whole(scaling, &[hidden(sizes.m)], 1)]);
    }
    tape.at(Family::Residual, crate::source::BIAS_DROPOUT);
    linear::bias_dropout_add(sizes, tape, name, branch, residual)
}

/// The tape of one decoder layer.
#[must_use]
pub fn layer_tape(sizes: &Sizes<'_>, spec: LayerSpec) -> AutogradTape {
    let mut sizes = *sizes;
    match spec.precision {
        LayerPrecision::Module => {}
        LayerPrecision::Bf16 => sizes.fp8 = None,
    }
    let sizes = &sizes;
    let mut tape = AutogradTape::new(Family::Residual, crate::source::BIAS_DROPOUT);
    let x = tape.tensor("layer input", sizes.residual(), sizes.width());
    tape.input = Some(x);
    tape.output = Some(build_layer(sizes, &mut tape, spec, x));
    tape.computes_weight_gradients(0);
    if detached(sizes.m) {
        tape.detach();
    }
    if let Some(adapters) = spec.adapters {
        tape.without_gradients(adapters.input_has_gradient);
    }
    tape
}

/// Whether nothing in a module is trained before its projector, so that autograd has no part in it.
fn detached(m: &Module) -> bool {
    m.args.frozen && m.adapters.is_none() && !m.io.is_language()
}

/// The tape of the embedding or of an encoder's front end.
#[must_use]
pub fn embedding_tape(sizes: &Sizes<'_>) -> AutogradTape {
    let mut tape = AutogradTape::new(Family::Output, crate::source::EMBEDDING);
    if sizes.m.io.is_language() {
        embedding::build(sizes, &mut tape);
    } else {
        front_end::build(sizes, &mut tape);
    }
    if detached(sizes.m) {
        tape.detach();
    }
    if sizes.m.adapters().is_some() {
        tape.without_gradients(sizes.m.boundary.received > 0);
    }
    tape
}

/// The tape of what follows the decoder layers of a chunk: MTP depths, and the output layer with its loss. The weight
/// gradient of the output layer takes `gradient_bucket` bytes of a bucket that holds it until it is reduced.
#[must_use]
pub fn head_tape(sizes: &Sizes<'_>, depths: u64, output: bool, gradient_bucket: u64) -> AutogradTape {
    let mut tape = AutogradTape::new(Family::Residual, crate::source::FINAL_NORM);
    let x = tape.tensor("output of the last layer", sizes.residual(), sizes.width());
    if sizes.m.io.is_language() {
        let last = output.then_some(gradient_bucket);
        loss::build(sizes, &mut tape, x, depths, last);
    } else {
        projector::build(sizes, &mut tape, x);
    }
    if sizes.m.adapters().is_some() {
        tape.without_gradients(gradient_reaches_head(sizes.m));
    }
    tape
}

/// Whether the output of the last layer has a gradient: it comes from another stage, or some layer has adapters.
fn gradient_reaches_head(m: &Module) -> bool {
    let with_adapters = |spec: &LayerSpec| {
        let adapters = spec.adapters;
        adapters.is_none_or(|adapters| adapters.input_has_gradient || !adapters.modules.is_empty())
    };
    m.embedding_has_gradient() || m.stages().chunks().len() > 1 || LayerSpec::all(m).last().is_some_and(with_adapters)
}
