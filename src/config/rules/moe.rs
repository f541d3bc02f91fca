//! Experts, their layers and what Megatron does not support around them.

use super::rule::FixValue::{Default, Name, Number, Off, On};
use super::rule::{Alternatives, Rule, Violation, rule, warning};
use crate::config::choices::{FlexBackend, RouterScore, TokenDispatcher, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::job::Activation;
use crate::config::nearby::{near_divisors, or_list};
use crate::config::pattern::LayerPattern;
use crate::value::Value;

pub(super) const RULES: &[Rule] = &[
    rule("ep_needs_experts", ep_needs_experts),
    rule("expert_width_needs_experts", expert_width_needs_experts),
    rule("latent_needs_experts", latent_needs_experts),
    rule("experts_by_ep", experts_by_ep),
    rule("expert_bias", expert_bias),
    rule("topk", topk),
    rule("expert_width_by_etp", expert_width_by_etp),
    rule("layer_freq_length", layer_freq_length),
    rule("expert_bias_needs_etp_1", expert_bias_needs_etp_1),
    rule("shared_experts_have_no_bias", shared_experts_have_no_bias),
    warning("shared_experts_zero", shared_experts_zero),
    rule("shared_width_by_tp", shared_width_by_tp),
    rule("shared_overlap_dispatcher", shared_overlap_dispatcher),
    warning("flex_dispatcher", flex_dispatcher),
    rule("moe_needs_sequence_parallel", moe_needs_sequence_parallel),
    rule("capacity_padding", capacity_padding),
    warning("expert_bias_fusion", expert_bias_fusion),
    rule("clamped_activation", clamped_activation),
];

fn ep_needs_experts(d: &Draft<'_>) -> Option<Violation> {
    (!d.has_experts() && d.ep > 1).then(|| {
        let message = format!(
            "expert_model_parallel_size {} needs num_experts: the model is dense",
            d.ep
        );
        let ep = F::expert_model_parallel_size;
        Violation::error(&[ep, F::num_experts], message).fix(ep, Number(1))
    })
}

/// With layers that are dense anyway, the width is the experts' own affair and Megatron leaves it out.
fn expert_width_needs_experts(d: &Draft<'_>) -> Option<Violation> {
    let width = F::moe_ffn_hidden_size;
    let given = d.args.moe_ffn_hidden_size.is_some();
    (given && !d.has_experts() && d.args.moe_layer_freq.is_everywhere()).then(|| {
        let message = "moe_ffn_hidden_size needs num_experts: the model is dense";
        Violation::error(&[width, F::num_experts], message).fix(width, Default)
    })
}

fn latent_needs_experts(d: &Draft<'_>) -> Option<Violation> {
    (d.args.moe_latent_size.is_some() && !d.has_experts()).then(|| {
        Violation::error(
            &[F::moe_latent_size, F::num_experts],
            "moe_latent_size applies only to MoE models: give num_experts",
        )
        .fix(F::moe_latent_size, Default)
    })
}

fn experts_by_ep(d: &Draft<'_>) -> Option<Violation> {
    let experts = d.args.num_experts?;
    if experts.is_multiple_of(d.ep) {
        return None;
    }
    let near = near_divisors(experts, d.ep, 4);
    let message = format!(
        "num_experts {experts} must be a multiple of expert_model_parallel_size {}; EP {} would work",
        d.ep,
        or_list(&near)
    );
    let fields = [F::expert_model_parallel_size, F::num_experts];
    Some(Violation::error(&fields, message).fix_each(F::expert_model_parallel_size, &near))
}

fn expert_bias(d: &Draft<'_>) -> Option<Violation> {
    let softmax = d.args.moe_router_score_function == RouterScore::Softmax;
    (d.args.moe_router_enable_expert_bias && softmax).then(|| {
        let (bias, score) = (F::moe_router_enable_expert_bias, F::moe_router_score_function);
        let message = "moe_router_enable_expert_bias needs moe_router_score_function sigmoid or sqrtsoftplus";
        Violation::error(&[bias, score], message)
            .fix(score, Name("sigmoid"))
            .fix(bias, Off)
    })
}

fn topk(d: &Draft<'_>) -> Option<Violation> {
    let (experts, topk) = (d.args.num_experts?, d.args.moe_router_topk);
    (topk > experts).then(|| {
        let message = format!("moe_router_topk {topk} is more than num_experts {experts}");
        Violation::error(&[F::moe_router_topk, F::num_experts], message).fix(F::moe_router_topk, Number(experts))
    })
}

fn expert_width_by_etp(d: &Draft<'_>) -> Option<Violation> {
    let width = d.args.moe_ffn_hidden_size.unwrap_or(d.ffn_hidden_size);
    if !d.has_experts() || width.is_multiple_of(d.etp) {
        return None;
    }
    let near = near_divisors(width, d.etp, 3);
    let message = format!(
        "moe_ffn_hidden_size {width} must be a multiple of expert_tensor_parallel_size {}; ETP {} would work",
        d.etp,
        or_list(&near)
    );
    let fields = [F::moe_ffn_hidden_size, F::expert_tensor_parallel_size];
    Some(Violation::error(&fields, message).fix_each(F::expert_tensor_parallel_size, &near))
}

fn layer_freq_length(d: &Draft<'_>) -> Option<Violation> {
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
    Some(Violation::error(&[F::moe_layer_freq, F::num_layers], message).fix(F::moe_layer_freq, Value::Text(pattern)))
}

fn expert_bias_needs_etp_1(d: &Draft<'_>) -> Option<Violation> {
    (d.has_experts() && d.args.add_bias_linear && d.etp > 1).then(|| {
        let message = format!(
            "biases in MoE layers are only supported with expert_tensor_parallel_size 1, not {}",
            d.etp
        );
        Violation::error(&[F::add_bias_linear, F::expert_tensor_parallel_size], message)
            .fix(F::add_bias_linear, Off)
            .fix(F::expert_tensor_parallel_size, Number(1))
    })
}

/// The width of the shared experts of a MoE model, where one is given.
fn shared_width(d: &Draft<'_>) -> Option<u64> {
    d.args.moe_shared_expert_intermediate_size.filter(|_| d.has_experts())
}

fn shared_experts_have_no_bias(d: &Draft<'_>) -> Option<Violation> {
    let width = shared_width(d)?;
    (d.args.add_bias_linear && width > 0).then(|| {
        let fields = [F::add_bias_linear, F::moe_shared_expert_intermediate_size];
        Violation::error(&fields, "shared experts do not support add_bias_linear").fix(F::add_bias_linear, Off)
    })
}

fn shared_experts_zero(d: &Draft<'_>) -> Option<Violation> {
    (shared_width(d) == Some(0)).then(|| {
        let field = F::moe_shared_expert_intermediate_size;
        let message = "moe_shared_expert_intermediate_size 0 is refused by Megatron; it is read as no shared experts";
        Violation::warning(&[field], message).fix(field, Default)
    })
}

fn shared_width_by_tp(d: &Draft<'_>) -> Option<Violation> {
    let width = shared_width(d)?;
    if width.is_multiple_of(d.tp) {
        return None;
    }
    let field = F::moe_shared_expert_intermediate_size;
    let message = format!(
        "moe_shared_expert_intermediate_size {width} must be a multiple of tensor_model_parallel_size {}",
        d.tp
    );
    let fields = [field, F::tensor_model_parallel_size];
    Some(Alternatives::tp(d, field, width, d.tp).offer(&fields, &message))
}

fn shared_overlap_dispatcher(d: &Draft<'_>) -> Option<Violation> {
    let gathers = d.args.moe_token_dispatcher_type == TokenDispatcher::AllGather;
    (shared_width(d).is_some() && d.args.moe_shared_expert_overlap && gathers).then(|| {
        Violation::error(
            &[F::moe_shared_expert_overlap, F::moe_token_dispatcher_type],
            "moe_shared_expert_overlap only works with the alltoall or flex token dispatcher",
        )
        .fix(F::moe_token_dispatcher_type, Name("alltoall"))
        .fix(F::moe_shared_expert_overlap, Off)
    })
}

/// `MoEFlexTokenDispatcher.__init__` and `TransformerConfig.__post_init__` refuse both with `DeepEP`; `HybridEP` does
/// both.
fn flex_dispatcher(d: &Draft<'_>) -> Option<Violation> {
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
        Violation::warning(&[F::moe_token_dispatcher_type], message).fix(F::moe_token_dispatcher_type, Name("alltoall"))
    })
}

fn moe_needs_sequence_parallel(d: &Draft<'_>) -> Option<Violation> {
    (d.has_experts() && d.tp > 1 && !d.args.sequence_parallel).then(|| {
        Violation::error(
            &[F::sequence_parallel, F::tensor_model_parallel_size],
            "a MoE model with TP trains only with sequence_parallel",
        )
        .fix(F::sequence_parallel, On)
    })
}

fn capacity_padding(d: &Draft<'_>) -> Option<Violation> {
    let pads = d.args.moe_pad_expert_input_to_capacity;
    let (padding, factor) = (F::moe_pad_expert_input_to_capacity, F::moe_expert_capacity_factor);
    (d.has_experts() && pads && d.args.moe_expert_capacity_factor.is_none()).then(|| {
        let message = "moe_pad_expert_input_to_capacity needs moe_expert_capacity_factor";
        Violation::error(&[padding, factor], message)
            .fix(factor, Number(1))
            .fix(padding, Off)
    })
}

/// Such models can be built, and published ones have these biases.
fn expert_bias_fusion(d: &Draft<'_>) -> Option<Violation> {
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
        Violation::warning(&[F::add_bias_linear], message).fix(F::add_bias_linear, Off)
    })
}

fn clamped_activation(d: &Draft<'_>) -> Option<Violation> {
    let (field, experts) = (F::activation_func_clamp_value, F::num_experts);
    d.args.activation_func_clamp_value?;
    if d.activation == Activation::SwiGlu && !d.has_experts() {
        let message = "activation_func_clamp_value with swiglu needs num_experts";
        return Some(Violation::error(&[field, experts], message).fix(field, Default));
    }
    (!d.activation.gated()).then(|| {
        let message = "activation_func_clamp_value has no effect on an activation that is not gated";
        Violation::warning(&[field], message).fix(field, Default)
    })
}
