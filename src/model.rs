//! A model as a list of parts, each with its parameters under Megatron's own names.

pub(crate) mod adapter;
pub mod architecture;
pub mod attention;
pub mod compressed_attention;
pub mod embedding;
mod factors;
pub mod front_end;
pub mod gated_delta_net;
pub mod gated_delta_product;
mod hyper_connections;
mod items;
pub mod kernels;
mod kimi;
mod labels;
mod layer;
pub mod layer_spec;
pub(crate) mod linear;
pub mod loss;
pub mod mamba;
mod mamba_beside_attention;
pub mod mla;
pub mod mlp;
pub mod moe;
pub mod mtp;
pub mod norm;
pub mod output_layer;
mod parallel_layer;
mod per_layer_embedding;
pub mod projector;
pub mod quantization;
pub mod shared_expert;
pub mod sizes;
pub(crate) mod softcap;
pub mod sparse_attention;
pub mod tape;
pub mod tensor;
mod trained;
mod weights;

use crate::config::job::Module;
use crate::source::Source;
pub(crate) use architecture::built_depths;
pub use architecture::{Architecture, Part, PartCounts, PartKind};
pub(crate) use factors::{hidden, tp};
pub(crate) use kimi::residuals::{received_stream, sent_stream, with_snapshots};
use layer::build_layer;
pub use layer_spec::{Experts, LayerPrecision, LayerSpec, Mixer, Mlp, MlpKind};
use sizes::Sizes;
use tape::{AutogradTape, Family};
use trained::detached;
pub use trained::trained;

/// The tape of one decoder layer.
#[must_use]
pub fn layer_tape(sizes: &Sizes<'_>, spec: LayerSpec) -> AutogradTape {
    let mut sizes = *sizes;
    match spec.precision {
        LayerPrecision::Module => {}
        LayerPrecision::Bf16 => sizes.fp8 = None,
    }
    let sizes = &sizes;
    let mut tape = AutogradTape::new(Family::Residual, Source::BiasDropout);
    let x = tape.tensor("layer input", received_stream(sizes, &spec), sizes.stream_width());
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

/// The tape of the embedding or of an encoder's front end.
#[must_use]
pub fn embedding_tape(sizes: &Sizes<'_>) -> AutogradTape {
    let mut tape = AutogradTape::new(Family::Output, Source::Embedding);
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
    let mut tape = AutogradTape::new(Family::Residual, Source::FinalNorm);
    let x = tape.tensor("output of the last layer", sizes.streams(), sizes.stream_width());
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
