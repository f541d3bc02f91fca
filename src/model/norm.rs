//! Norms around and after the layers.

pub(crate) mod ops;

use super::hidden;
use super::layer_spec::LayerSpec;
use super::list::ParamList;
use super::tensor::Component;
use crate::config::job::Module;
use crate::source::{FINAL_NORM, LAYER_NORMS, LAYER_SCALING};

/// The norms before attention and before the MLP. Transformer Engine fuses them into the linear
/// layer that follows; they keep their parameters.
pub(crate) fn layer_norms(m: &Module, spec: LayerSpec, out: &mut ParamList<'_>) {
    out.at(Component::Layernorm, LAYER_NORMS);
    if spec.mixer.is_some() {
        out.norm("input_layernorm", hidden(m));
    }
    if spec.mlp.is_some() {
        out.norm("pre_mlp_layernorm", hidden(m));
    }
}

/// Learned factors on what attention and MLP add to the residual stream.
pub(crate) fn layer_scaling(m: &Module, out: &mut ParamList<'_>) {
    if m.args.layer_scaling {
        out.at(Component::LayerScaling, LAYER_SCALING);
        for name in ["ls1", "ls2"] {
            out.whole(name, &[hidden(m)], 1);
        }
    }
}

/// The norm after the last layer.
pub(crate) fn final_norm(m: &Module, out: &mut ParamList<'_>) {
    out.at(Component::FinalLayernorm, FINAL_NORM);
    out.norm("final_layernorm", hidden(m));
}
