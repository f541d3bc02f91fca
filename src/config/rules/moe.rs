//! Experts, their layers and what Megatron does not support around them.

use crate::config::check::Draft;
use crate::config::choices::TokenDispatcher;
use crate::config::fields::FieldId as F;
use crate::config::pattern::LayerPattern;
use crate::config::problem::{Problem, near_divisors, near_matches, or_list};
use crate::value::Value;

pub(super) fn experts(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let Some(experts) = d.a.num_experts else {
        if d.ep > 1 {
            d.error(
                problems,
                "ep_needs_experts",
                &[F::expert_model_parallel_size, F::num_experts],
                format!(
                    "expert_model_parallel_size {} needs num_experts: the model is dense",
                    d.ep
                ),
            )
            .fix(F::expert_model_parallel_size, Value::Int(1));
        }
        if d.a.moe_ffn_hidden_size.is_some() {
            d.error(
                problems,
                "expert_width_needs_experts",
                &[F::moe_ffn_hidden_size, F::num_experts],
                String::from("moe_ffn_hidden_size needs num_experts: the model is dense"),
            )
            .fix(F::moe_ffn_hidden_size, Value::Null);
        }
        if d.a.moe_latent_size.is_some() {
            d.error(
                problems,
                "latent_needs_experts",
                &[F::moe_latent_size, F::num_experts],
                String::from("moe_latent_size applies only to MoE models: give num_experts"),
            )
            .fix(F::moe_latent_size, Value::Null);
        }
        return;
    };
    if !experts.is_multiple_of(d.ep) {
        let near = near_divisors(experts, d.ep, 4);
        d.error(problems,
                "experts_by_ep",
                &[F::expert_model_parallel_size, F::num_experts],
                format!(
                    "num_experts {experts} must be a multiple of expert_model_parallel_size {}; EP {} would work",
                    d.ep,
                    or_list(&near)
                ),
            )
            .fix_each(F::expert_model_parallel_size, &near);
    }
    if d.a.moe_router_topk > experts {
        d.error(
            problems,
            "topk",
            &[F::moe_router_topk, F::num_experts],
            format!(
                "moe_router_topk {} is more than num_experts {experts}",
                d.a.moe_router_topk
            ),
        )
        .fix(F::moe_router_topk, Value::Int(experts.into()));
    }
    let width = d.a.moe_ffn_hidden_size.unwrap_or(d.ffn_hidden_size);
    if !width.is_multiple_of(d.etp) {
        let near = near_divisors(width, d.etp, 3);
        d.error(problems,
                "expert_width_by_etp",
                &[F::moe_ffn_hidden_size, F::expert_tensor_parallel_size],
                format!(
                    "moe_ffn_hidden_size {width} must be a multiple of expert_tensor_parallel_size {}; ETP {} would work",
                    d.etp,
                    or_list(&near)
                ),
            )
            .fix_each(F::expert_tensor_parallel_size, &near);
    }
}

pub(super) fn layer_freq(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let LayerPattern::List(list) = &d.a.moe_layer_freq else {
        return;
    };
    let layers = d.a.num_layers;
    if d.a.num_experts.is_some() && u64::try_from(list.len()) != Ok(layers) {
        let dense = list.iter().take_while(|moe| !**moe).count();
        let dense = u64::try_from(dense).unwrap_or(0).min(layers);
        d.error(
            problems,
            "layer_freq_length",
            &[F::moe_layer_freq, F::num_layers],
            format!(
                "moe_layer_freq lists {} layers, but num_layers is {layers}",
                list.len()
            ),
        )
        .fix(
            F::moe_layer_freq,
            Value::Text(format!("([0]*{dense}+[1]*{})", layers - dense)),
        );
    }
}

pub(super) fn biases(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if d.a.num_experts.is_none() || !d.a.add_bias_linear {
        return;
    }
    if d.etp > 1 {
        d.error(problems,
                "expert_bias_needs_etp_1",
                &[F::add_bias_linear, F::expert_tensor_parallel_size],
                format!("biases in MoE layers are only supported with expert_tensor_parallel_size 1, not {}", d.etp),
            )
            .fix(F::expert_tensor_parallel_size, Value::Int(1))
            .fix(F::add_bias_linear, Value::Bool(false));
    }
    if d.a
        .moe_shared_expert_intermediate_size
        .is_some_and(|size| size > 0)
    {
        d.error(
            problems,
            "shared_experts_have_no_bias",
            &[F::add_bias_linear, F::moe_shared_expert_intermediate_size],
            String::from("shared experts do not support add_bias_linear"),
        )
        .fix(F::add_bias_linear, Value::Bool(false));
    }
}

pub(super) fn shared_experts(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let Some(shared) =
        d.a.moe_shared_expert_intermediate_size
            .filter(|_| d.a.num_experts.is_some())
    else {
        return;
    };
    if shared == 0 {
        d.warning(problems,
                "shared_experts_zero",
                &[F::moe_shared_expert_intermediate_size],
                String::from("moe_shared_expert_intermediate_size 0 is refused by Megatron; it is read as no shared experts"),
            )
            .fix(F::moe_shared_expert_intermediate_size, Value::Null);
    } else if !shared.is_multiple_of(d.tp) {
        let near = near_matches(shared, shared.saturating_add(d.tp), 2, &|n| {
            n.is_multiple_of(d.tp)
        });
        d.error(problems,
                "shared_width_by_tp",
                &[F::moe_shared_expert_intermediate_size, F::tensor_model_parallel_size],
                format!(
                    "moe_shared_expert_intermediate_size {shared} must be a multiple of tensor_model_parallel_size {}; {} would work",
                    d.tp,
                    or_list(&near)
                ),
            )
            .fix_each(F::moe_shared_expert_intermediate_size, &near);
    }
    if d.a.moe_shared_expert_overlap && d.a.moe_token_dispatcher_type == TokenDispatcher::AllGather
    {
        d.error(
            problems,
            "shared_overlap_dispatcher",
            &[F::moe_shared_expert_overlap, F::moe_token_dispatcher_type],
            String::from(
                "moe_shared_expert_overlap only works with the alltoall or flex token dispatcher",
            ),
        )
        .fix(
            F::moe_token_dispatcher_type,
            Value::Text(String::from("alltoall")),
        )
        .fix(F::moe_shared_expert_overlap, Value::Bool(false));
    }
}

pub(super) fn dispatch(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if d.a.num_experts.is_none() {
        return;
    }
    if d.tp > 1 && !d.a.sequence_parallel {
        d.error(
            problems,
            "moe_needs_sequence_parallel",
            &[F::sequence_parallel, F::tensor_model_parallel_size],
            String::from("a MoE model with TP trains only with sequence_parallel"),
        )
        .fix(F::sequence_parallel, Value::Bool(true));
    }
    if d.a.moe_pad_expert_input_to_capacity && d.a.moe_expert_capacity_factor.is_none() {
        d.error(
            problems,
            "capacity_padding",
            &[
                F::moe_pad_expert_input_to_capacity,
                F::moe_expert_capacity_factor,
            ],
            String::from("moe_pad_expert_input_to_capacity needs moe_expert_capacity_factor"),
        )
        .fix(F::moe_expert_capacity_factor, Value::Int(1))
        .fix(F::moe_pad_expert_input_to_capacity, Value::Bool(false));
    }
}
