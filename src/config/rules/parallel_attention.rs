//! Layers whose attention and MLP stand side by side: only those of `NeMo` 1's Falcon are known.

use super::rule::FixValue::{Default, Name, Off};
use super::rule::{Excluded, first_excluded, rules};
use crate::config::choices::{AdapterType, CudaGraphImpl, RecomputeModule};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    error "parallel_attention" by(knows_layers);
}

/// `FalconTransformerLayer` has softmax attention and a dense MLP, and drops the biases of their last linear layers.
fn knows_layers(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    if !a.parallel_attention {
        return None;
    }
    let excluded: [Excluded; 11] = [
        (d.has_experts(), F::num_experts, Default),
        (a.multi_latent_attention, F::multi_latent_attention, Off),
        (
            a.experimental_attention_variant.is_some(),
            F::experimental_attention_variant,
            Default,
        ),
        (d.hybrid.is_some(), F::hybrid_layer_pattern, Default),
        (d.mtp_num_layers > 0, F::mtp_num_layers, Default),
        (a.add_bias_linear, F::add_bias_linear, Off),
        (a.post_layernorm, F::post_layernorm, Off),
        (a.peft_type != AdapterType::None, F::peft_type, Default),
        (
            a.fine_grained_activation_offloading,
            F::fine_grained_activation_offloading,
            Off,
        ),
        (
            a.cuda_graph_impl != CudaGraphImpl::None,
            F::cuda_graph_impl,
            Name("none"),
        ),
        (d.recomputes(RecomputeModule::Layernorm), F::recompute_modules, Default),
    ];
    first_excluded(F::parallel_attention, excluded, |name| {
        format!(
            "parallel_attention is not known with {name}: Falcon's layers have softmax attention beside a dense MLP, without biases"
        )
    })
}
