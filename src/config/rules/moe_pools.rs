//! Two pools of experts, for tokens of text and for tokens of images: what they are known with (`ErnieMultiTypeMoE`,
//! `get_ernie45_vl_decoder_block_spec` of Megatron-Bridge).

use super::rule::FixValue::{Default, Name, Off};
use super::rule::{Excluded, any_fsdp, first_excluded, rules};
use crate::config::choices::{AdapterType, CudaGraphImpl, RecomputeModule};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    error "moe_pools" by(knows_pools);
    error "moe_pools_shared"
        if a.moe_vision_ffn_hidden_size.is_some() && d.has_experts()
            && a.moe_shared_expert_intermediate_size.unwrap_or(0) == 0
        => [moe_vision_ffn_hidden_size, moe_shared_expert_intermediate_size],
        "moe_vision_ffn_hidden_size needs moe_shared_expert_intermediate_size: Megatron-Bridge builds two pools of experts beside shared ones only",
        [moe_vision_ffn_hidden_size = Default];
    error "moe_pools_widths"
        let (vision, text) = (a.moe_vision_ffn_hidden_size?, a.moe_ffn_hidden_size.unwrap_or(d.ffn_hidden_size)),
        if d.has_experts() && vision > text => [moe_vision_ffn_hidden_size, moe_ffn_hidden_size],
        format!("moe_vision_ffn_hidden_size {vision} above moe_ffn_hidden_size {text} is not modelled: all tokens are counted as text, in the wider experts"),
        [moe_vision_ffn_hidden_size = Default];
}

/// The first setting of the job with which Megatron-Bridge does not build two pools, or with which they are not modelled.
/// Modules of recompute that `MoELayer` finds in itself pass by the shared experts, which stand outside of both.
fn knows_pools(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    if a.moe_vision_ffn_hidden_size.is_none() || !d.has_experts() {
        return None;
    }
    let others = [
        RecomputeModule::Moe,
        RecomputeModule::SharedExperts,
        RecomputeModule::Layernorm,
    ];
    let recomputes = others.into_iter().any(|module| d.recomputes(module));
    let excluded: [Excluded; 10] = [
        // Its spec of `TEGroupedMLP` names no linear layers, without which the class cannot be built.
        (a.moe_grouped_gemm, F::moe_grouped_gemm, Off),
        (d.mtp_num_layers > 0, F::mtp_num_layers, Default),
        (d.hybrid.is_some(), F::hybrid_layer_pattern, Default),
        (a.moe_latent_size.is_some(), F::moe_latent_size, Default),
        (a.moe_shared_expert_overlap, F::moe_shared_expert_overlap, Off),
        (
            a.overlap_moe_expert_parallel_comm,
            F::overlap_moe_expert_parallel_comm,
            Off,
        ),
        (a.peft_type != AdapterType::None, F::peft_type, Default),
        (recomputes, F::recompute_modules, Default),
        (
            a.cuda_graph_impl != CudaGraphImpl::None,
            F::cuda_graph_impl,
            Name("none"),
        ),
        any_fsdp(d),
    ];
    first_excluded(F::moe_vision_ffn_hidden_size, excluded, |name| {
        format!("moe_vision_ffn_hidden_size is not modelled with {name}")
    })
}
