//! Experts, their layers and what Megatron does not support around them.

use super::rule::{ERROR, Found, Rule, To, WARNING};
use crate::config::check::Draft;
use crate::config::choices::{RouterScore, TokenDispatcher, TransformerImpl};
use crate::config::fields::FieldId as F;
use crate::config::job::Activation;
use crate::config::pattern::LayerPattern;
use crate::config::problem::near_divisors;
use crate::value::Value;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "ep_needs_experts",
        fields: &[F::expert_model_parallel_size, F::num_experts],
        broken: |d, f| !has_experts(d) && d.ep > 1 && f.number(d.ep),
        words: "expert_model_parallel_size {} needs num_experts: the model is dense",
        fixes: &[(F::expert_model_parallel_size, To::Number(1))],
        ..ERROR
    },
    // With layers that are dense anyway, the width is the experts' own affair and Megatron leaves it out.
    Rule {
        name: "expert_width_needs_experts",
        fields: &[F::moe_ffn_hidden_size, F::num_experts],
        broken: |d, _| {
            let all = d.a.moe_layer_freq.is_everywhere();
            !has_experts(d) && all && d.a.moe_ffn_hidden_size.is_some()
        },
        words: "moe_ffn_hidden_size needs num_experts: the model is dense",
        fixes: &[(F::moe_ffn_hidden_size, To::Default)],
        ..ERROR
    },
    Rule {
        name: "latent_needs_experts",
        fields: &[F::moe_latent_size, F::num_experts],
        broken: |d, _| !has_experts(d) && d.a.moe_latent_size.is_some(),
        words: "moe_latent_size applies only to MoE models: give num_experts",
        fixes: &[(F::moe_latent_size, To::Default)],
        ..ERROR
    },
    Rule {
        name: "experts_by_ep",
        fields: &[F::expert_model_parallel_size, F::num_experts],
        broken: |d, f| {
            d.a.num_experts.is_some_and(|experts| {
                f.rest(experts, d.ep) && f.near(near_divisors(experts, d.ep, 4))
            })
        },
        words: "num_experts {} must be a multiple of expert_model_parallel_size {}; EP {} would work",
        fixes: &[(F::expert_model_parallel_size, To::Near)],
        ..ERROR
    },
    Rule {
        name: "expert_bias",
        fields: &[
            F::moe_router_enable_expert_bias,
            F::moe_router_score_function,
        ],
        broken: |d, _| {
            d.a.moe_router_enable_expert_bias
                && d.a.moe_router_score_function == RouterScore::Softmax
        },
        words: "moe_router_enable_expert_bias needs moe_router_score_function sigmoid or sqrtsoftplus",
        fixes: &[
            (F::moe_router_score_function, To::Name("sigmoid")),
            (F::moe_router_enable_expert_bias, To::Off),
        ],
        ..ERROR
    },
    Rule {
        name: "topk",
        fields: &[F::moe_router_topk, F::num_experts],
        broken: |d, f| {
            let topk = d.a.moe_router_topk;
            d.a.num_experts.is_some_and(|experts| {
                topk > experts
                    && f.numbers(&[topk, experts])
                    && f.fix_each(F::moe_router_topk, &[experts])
            })
        },
        words: "moe_router_topk {} is more than num_experts {}",
        ..ERROR
    },
    Rule {
        name: "expert_width_by_etp",
        fields: &[F::moe_ffn_hidden_size, F::expert_tensor_parallel_size],
        broken: |d, f| {
            let width = d.a.moe_ffn_hidden_size.unwrap_or(d.ffn_hidden_size);
            has_experts(d) && f.rest(width, d.etp) && f.near(near_divisors(width, d.etp, 3))
        },
        words: "moe_ffn_hidden_size {} must be a multiple of expert_tensor_parallel_size {}; ETP {} would work",
        fixes: &[(F::expert_tensor_parallel_size, To::Near)],
        ..ERROR
    },
    Rule {
        name: "layer_freq_length",
        fields: &[F::moe_layer_freq, F::num_layers],
        broken: |d, f| match &d.a.moe_layer_freq {
            LayerPattern::List(list) => {
                has_experts(d)
                    && f.other_length(list, d.a.num_layers)
                    && fix_length(f, list, d.a.num_layers)
            }
            LayerPattern::Every(_) => false,
        },
        words: "moe_layer_freq lists {} layers, but num_layers is {}",
        ..ERROR
    },
    Rule {
        name: "expert_bias_needs_etp_1",
        fields: &[F::add_bias_linear, F::expert_tensor_parallel_size],
        broken: |d, f| has_experts(d) && d.a.add_bias_linear && d.etp > 1 && f.number(d.etp),
        words: "biases in MoE layers are only supported with expert_tensor_parallel_size 1, not {}",
        fixes: &[
            (F::add_bias_linear, To::Off),
            (F::expert_tensor_parallel_size, To::Number(1)),
        ],
        ..ERROR
    },
    Rule {
        name: "shared_experts_have_no_bias",
        fields: &[F::add_bias_linear, F::moe_shared_expert_intermediate_size],
        broken: |d, _| d.a.add_bias_linear && shared_width(d).is_some_and(|width| width > 0),
        words: "shared experts do not support add_bias_linear",
        fixes: &[(F::add_bias_linear, To::Off)],
        ..ERROR
    },
    Rule {
        name: "shared_experts_zero",
        fields: &[F::moe_shared_expert_intermediate_size],
        broken: |d, _| shared_width(d) == Some(0),
        words: "moe_shared_expert_intermediate_size 0 is refused by Megatron; it is read as no shared experts",
        fixes: &[(F::moe_shared_expert_intermediate_size, To::Default)],
        ..WARNING
    },
    Rule {
        name: "shared_width_by_tp",
        fields: &[
            F::moe_shared_expert_intermediate_size,
            F::tensor_model_parallel_size,
        ],
        broken: |d, f| {
            let field = F::moe_shared_expert_intermediate_size;
            shared_width(d)
                .is_some_and(|width| f.rest(width, d.tp) && d.fit_tp(f, field, width, d.tp))
        },
        words: "moe_shared_expert_intermediate_size {} must be a multiple of tensor_model_parallel_size {}; {} {} would work",
        ..ERROR
    },
    Rule {
        name: "shared_overlap_dispatcher",
        fields: &[F::moe_shared_expert_overlap, F::moe_token_dispatcher_type],
        broken: |d, _| {
            shared_width(d).is_some()
                && d.a.moe_shared_expert_overlap
                && d.a.moe_token_dispatcher_type == TokenDispatcher::AllGather
        },
        words: "moe_shared_expert_overlap only works with the alltoall or flex token dispatcher",
        fixes: &[
            (F::moe_token_dispatcher_type, To::Name("alltoall")),
            (F::moe_shared_expert_overlap, To::Off),
        ],
        ..ERROR
    },
    Rule {
        name: "moe_needs_sequence_parallel",
        fields: &[F::sequence_parallel, F::tensor_model_parallel_size],
        broken: |d, _| has_experts(d) && d.tp > 1 && !d.a.sequence_parallel,
        words: "a MoE model with TP trains only with sequence_parallel",
        fixes: &[(F::sequence_parallel, To::On)],
        ..ERROR
    },
    Rule {
        name: "capacity_padding",
        fields: &[
            F::moe_pad_expert_input_to_capacity,
            F::moe_expert_capacity_factor,
        ],
        broken: |d, _| {
            has_experts(d)
                && d.a.moe_pad_expert_input_to_capacity
                && d.a.moe_expert_capacity_factor.is_none()
        },
        words: "moe_pad_expert_input_to_capacity needs moe_expert_capacity_factor",
        fixes: &[
            (F::moe_expert_capacity_factor, To::Number(1)),
            (F::moe_pad_expert_input_to_capacity, To::Off),
        ],
        ..ERROR
    },
    // Such models can be built, and published ones have these biases.
    Rule {
        name: "expert_bias_fusion",
        fields: &[F::add_bias_linear],
        broken: |d, f| {
            let engine = d.a.transformer_impl == TransformerImpl::TransformerEngine;
            has_experts(d)
                && d.a.add_bias_linear
                && f.why(match d.activation {
                    _ if engine && d.a.moe_grouped_gemm && d.a.bias_dropout_fusion => {
                        "bias_dropout_fusion"
                    }
                    Activation::SwiGlu if d.a.bias_swiglu_fusion => "bias_swiglu_fusion",
                    Activation::Gelu | Activation::GeGlu if d.a.bias_gelu_fusion => {
                        "bias_gelu_fusion"
                    }
                    _ => "",
                })
        },
        words: "Megatron does not run biases of experts with {}",
        fixes: &[(F::add_bias_linear, To::Off)],
        ..WARNING
    },
];

fn has_experts(d: &Draft<'_>) -> bool {
    d.a.num_experts.is_some()
}

/// The width of the shared experts of a MoE model, where one is given.
fn shared_width(d: &Draft<'_>) -> Option<u64> {
    d.a.moe_shared_expert_intermediate_size
        .filter(|_| has_experts(d))
}

/// As many dense layers first as the list has, and MoE layers after them.
fn fix_length(f: &mut Found, list: &[bool], layers: u64) -> bool {
    let dense = list.iter().take_while(|moe| !**moe).count();
    let dense = u64::try_from(dense).unwrap_or(0).min(layers);
    let pattern = format!("([0]*{dense}+[1]*{})", layers - dense);
    f.fix(F::moe_layer_freq, Value::Text(pattern))
}
