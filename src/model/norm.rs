//! Norms around and after the layers.

pub(crate) mod ops;

use super::tensor::{Component, Factor, Holding, ParamTensor, Shape, factor};
use crate::config::job::Module;
use crate::source::{FINAL_NORM, LAYER_NORMS, LAYER_SCALING, Prose, Source};

/// A norm over `width`: a weight, and a bias too with `LayerNorm`. Norms are replicated.
pub(crate) fn norm(
    m: &Module,
    component: Component,
    name: &'static str,
    width: Factor,
    source: Source,
) -> ParamTensor {
    let shape = match m.norm_parts() {
        1 => Shape::of(&[width]),
        parts => Shape::of(&[factor("(weight + bias)", parts), width]),
    };
    ParamTensor {
        component,
        name,
        shape,
        holding: Holding::Replicated,
        dimensions: 1,
        source: Prose::new(source),
    }
}

/// The norms before attention and before the MLP. Transformer Engine fuses them into the linear
/// layer that follows; they keep their parameters.
pub(crate) fn layer_norms(m: &Module, out: &mut Vec<ParamTensor>) {
    let hidden = super::hidden(m);
    out.push(norm(
        m,
        Component::Layernorm,
        "input_layernorm",
        hidden,
        LAYER_NORMS,
    ));
    out.push(norm(
        m,
        Component::Layernorm,
        "pre_mlp_layernorm",
        hidden,
        LAYER_NORMS,
    ));
}

/// Learned factors on what attention and MLP add to the residual stream.
pub(crate) fn layer_scaling(m: &Module, out: &mut Vec<ParamTensor>) {
    if m.args.layer_scaling {
        for name in ["ls1", "ls2"] {
            out.push(ParamTensor {
                component: Component::LayerScaling,
                name,
                shape: Shape::of(&[super::hidden(m)]),
                holding: Holding::Replicated,
                dimensions: 1,
                source: Prose::new(LAYER_SCALING),
            });
        }
    }
}

/// The norm after the last layer.
pub(crate) fn final_norm(m: &Module, out: &mut Vec<ParamTensor>) {
    out.push(norm(
        m,
        Component::FinalLayernorm,
        "final_layernorm",
        super::hidden(m),
        FINAL_NORM,
    ));
}
