//! Experts, their layers and what Megatron does not support around them.

use super::rule::FixValue::{Default, Name, Number, Off, On};
use super::rule::{Alternatives, rules};
use crate::config::choices::{FlexBackend, RouterScore, TokenDispatcher, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::job::Activation;
use crate::config::nearby::near_divisors;
use crate::config::pattern::LayerPattern;
use crate::config::problem::Problem;
use crate::value::Value;

rules! { |d, a|
    error "ep_needs_experts" if !d.has_experts() && d.ep > 1 => [expert_model_parallel_size, num_experts],
        format!("expert_model_parallel_size {} needs num_experts: the model is dense", d.ep),
        [expert_model_parallel_size = Number(1)];
    // With layers that are dense anyway, the width is the experts' own affair and Megatron leaves it out.
    error "expert_width_needs_experts"
        if a.moe_ffn_hidden_size.is_some() && !d.has_experts() && a.moe_layer_freq.is_everywhere()
        => [moe_ffn_hidden_size, num_experts],
        "moe_ffn_hidden_size needs num_experts: the model is dense", [moe_ffn_hidden_size = Default];
    error "latent_needs_experts" if a.moe_latent_size.is_some() && !d.has_experts() => [moe_latent_size, num_experts],
        "moe_latent_size applies only to MoE models: give num_experts", [moe_latent_size = Default];
    error "experts_by_ep" : a.num_experts => "num_experts {}", d.ep => "expert_model_parallel_size {}",
        [expert_model_parallel_size, num_experts],
        or(|_, experts, ep| Alternatives::of("EP", F::expert_model_parallel_size, near_divisors(experts, ep, 4)));
    error "expert_bias"
        if a.moe_router_enable_expert_bias && a.moe_router_score_function == RouterScore::Softmax
        => [moe_router_enable_expert_bias, moe_router_score_function],
        "moe_router_enable_expert_bias needs moe_router_score_function sigmoid or sqrtsoftplus",
        [moe_router_score_function = Name("sigmoid"), moe_router_enable_expert_bias = Off];
    error "topk"
        let experts = a.num_experts?,
        if a.moe_router_topk > experts => [moe_router_topk, num_experts],
        format!("moe_router_topk {} is more than num_experts {experts}", a.moe_router_topk),
        [moe_router_topk = Number(experts)];
    // `TransformerConfig.__post_init__`.
    error "router_groups" if a.moe_router_group_topk.is_some_and(|n| n > 0) && a.moe_router_num_groups.is_none()
        => [moe_router_group_topk, moe_router_num_groups],
        "moe_router_group_topk needs moe_router_num_groups", [moe_router_group_topk = Default];
    error "router_groups"
        let chosen = a.moe_router_group_topk.filter(|n| *n > 0)?, let groups = a.moe_router_num_groups?,
        if chosen > groups => [moe_router_group_topk, moe_router_num_groups],
        format!("moe_router_group_topk {chosen} is more than moe_router_num_groups {groups}"),
        [moe_router_group_topk = Number(groups)];
    error "router_groups"
        let experts = a.num_experts?, let groups = a.moe_router_num_groups?,
        if a.moe_router_group_topk.is_some_and(|n| n > 0) && !experts.is_multiple_of(groups)
        => [moe_router_num_groups, num_experts],
        format!("num_experts {experts} must be a multiple of moe_router_num_groups {groups}"),
        [moe_router_group_topk = Default];
    error "expert_width_by_etp"
        : d.has_experts().then_some(a.moe_ffn_hidden_size.unwrap_or(d.ffn_hidden_size)) => "moe_ffn_hidden_size {}",
        d.etp => "expert_tensor_parallel_size {}", [moe_ffn_hidden_size, expert_tensor_parallel_size],
        or(|_, width, etp| Alternatives::of("ETP", F::expert_tensor_parallel_size, near_divisors(width, etp, 3)));
    error "layer_freq_length" by(layer_freq_length);
    error "expert_bias_needs_etp_1" if d.has_experts() && a.add_bias_linear && d.etp > 1
        => [add_bias_linear, expert_tensor_parallel_size],
        format!("biases in MoE layers are only supported with expert_tensor_parallel_size 1, not {}", d.etp),
        [add_bias_linear = Off, expert_tensor_parallel_size = Number(1)];
    error "shared_experts_have_no_bias" if a.add_bias_linear && shared_width(d)? > 0
        => [add_bias_linear, moe_shared_expert_intermediate_size],
        "shared experts do not support add_bias_linear", [add_bias_linear = Off];
    warning "shared_experts_zero" if a.moe_shared_expert_intermediate_size? == 0 => [moe_shared_expert_intermediate_size],
        "moe_shared_expert_intermediate_size 0 is refused by Megatron; it is read as no shared experts",
        [moe_shared_expert_intermediate_size = Default];
    error "shared_width_by_tp" : shared_width(d) => "moe_shared_expert_intermediate_size {}",
        d.tp => "tensor_model_parallel_size {}", [moe_shared_expert_intermediate_size, tensor_model_parallel_size],
        or(|d, width, tp| Alternatives::tp(d, F::moe_shared_expert_intermediate_size, width, tp));
    error "shared_overlap_dispatcher"
        if a.moe_shared_expert_intermediate_size.is_some() && a.moe_shared_expert_overlap
            && a.moe_token_dispatcher_type == TokenDispatcher::AllGather
        => [moe_shared_expert_overlap, moe_token_dispatcher_type],
        "moe_shared_expert_overlap only works with the alltoall or flex token dispatcher",
        [moe_token_dispatcher_type = Name("alltoall"), moe_shared_expert_overlap = Off];
    // `TransformerConfig.__post_init__` looks at the backend also where nothing else does.
    error "flex_backend"
        if a.moe_flex_dispatcher_backend == FlexBackend::NcclEp && a.moe_token_dispatcher_type != TokenDispatcher::Flex
        => [moe_flex_dispatcher_backend, moe_token_dispatcher_type],
        "moe_flex_dispatcher_backend ncclep needs moe_token_dispatcher_type flex",
        [moe_token_dispatcher_type = Name("flex"), moe_flex_dispatcher_backend = Default];
    warning "flex_dispatcher" by(flex_dispatcher);
    error "moe_needs_sequence_parallel" if d.has_experts() && d.tp > 1 && !a.sequence_parallel
        => [sequence_parallel, tensor_model_parallel_size],
        "a MoE model with TP trains only with sequence_parallel", [sequence_parallel = On];
    error "capacity_padding"
        if a.moe_pad_expert_input_to_capacity && a.moe_expert_capacity_factor.is_none()
        => [moe_pad_expert_input_to_capacity, moe_expert_capacity_factor],
        "moe_pad_expert_input_to_capacity needs moe_expert_capacity_factor",
        [moe_expert_capacity_factor = Number(1), moe_pad_expert_input_to_capacity = Off];
    warning "expert_bias_fusion" by(expert_bias_fusion);
    error "clamped_activation"
        if a.activation_func_clamp_value.is_some() && d.activation == Activation::SwiGlu && !d.has_experts()
        => [activation_func_clamp_value, num_experts],
        "activation_func_clamp_value with swiglu needs num_experts", [activation_func_clamp_value = Default];
    warning "clamped_activation" if a.activation_func_clamp_value.is_some() && !d.activation.gated()
        => [activation_func_clamp_value],
        "activation_func_clamp_value has no effect on an activation that is not gated",
        [activation_func_clamp_value = Default];
}

fn layer_freq_length(d: &Draft<'_>) -> Option<Problem> {
    let LayerPattern::List(list) = &d.args.moe_layer_freq else {
        return None;
    };
    let layers = d.args.num_layers;
    if !d.has_experts() || list.len() as u64 == layers {
        return None;
    }
    let message = format!("moe_layer_freq lists {} layers, but num_layers is {layers}", list.len());
    // As many dense layers first as the list has, and MoE layers after them.
    let dense = list.iter().take_while(|moe| !**moe).count() as u64;
    let dense = dense.min(layers);
    let pattern = format!("([0]*{dense}+[1]*{})", layers - dense);
    Some(Problem::error(&[F::moe_layer_freq, F::num_layers], message).fix(F::moe_layer_freq, Value::Text(pattern)))
}

/// The width of the shared experts of a MoE model, where one is given.
fn shared_width(d: &Draft<'_>) -> Option<u64> {
    d.args.moe_shared_expert_intermediate_size.filter(|_| d.has_experts())
}

/// `MoEFlexTokenDispatcher.__init__` and `TransformerConfig.__post_init__` refuse both with `DeepEP`; `HybridEP` does
/// both.
fn flex_dispatcher(d: &Draft<'_>) -> Option<Problem> {
    let unsupported = if d.ep == 1 && d.etp == 1 {
        "EP · ETP = 1"
    } else if d.args.moe_pad_expert_input_to_capacity {
        "moe_pad_expert_input_to_capacity"
    } else {
        return None;
    };
    let flex = d.args.moe_token_dispatcher_type == TokenDispatcher::Flex
        && d.args.moe_flex_dispatcher_backend == FlexBackend::DeepEp;
    (d.has_experts() && flex).then(|| {
        let message = format!("DeepEP, the backend of the flex dispatcher, does not support {unsupported}");
        Problem::warning(&[F::moe_token_dispatcher_type], message).fix(F::moe_token_dispatcher_type, Name("alltoall"))
    })
}

/// Such models can be built, and published ones have these biases.
fn expert_bias_fusion(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let engine = a.transformer_impl == TransformerImpl::TransformerEngine;
    let fusion = match d.activation {
        _ if engine && a.moe_grouped_gemm && a.bias_dropout_fusion => "bias_dropout_fusion",
        Activation::SwiGlu if a.bias_swiglu_fusion => "bias_swiglu_fusion",
        Activation::Gelu | Activation::GeGlu if a.bias_gelu_fusion => "bias_gelu_fusion",
        _ => return None,
    };
    (d.has_experts() && a.add_bias_linear).then(|| {
        let message = format!("Megatron does not run biases of experts with {fusion}");
        Problem::warning(&[F::add_bias_linear], message).fix(F::add_bias_linear, Off)
    })
}
