//! What may be recomputed or offloaded together (`TransformerConfig.__post_init__`, `validate_args`).

use super::rule::FixValue::{Default, Name, Number, Off};
use super::rule::rules;
use crate::config::choices::{
    AttentionVariant, Fp8Recipe, OffloadModule, RecomputeMethod, RecomputeModule, TransformerImpl,
};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    error "full_needs_method" if d.full_recompute() && a.recompute_method.is_none()
        => [recompute_method, recompute_granularity],
        "recompute_granularity full needs recompute_method uniform or block",
        [recompute_method = Name("uniform"), recompute_method = Name("block")];
    // A group ends with its stage (`checkpointed_forward`).
    warning "recompute_layers"
        let recomputed = a.recompute_num_layers?, let layers = a.num_layers,
        if d.full_recompute() && recomputed > layers => [recompute_num_layers, num_layers],
        format!("recompute_num_layers {recomputed} is more than the {layers} layers there are: all of a stage are recomputed"),
        [recompute_num_layers = Number(layers.div_ceil(d.pp))];
    // A group of no layers has no meaning; with `block`, 0 recomputed layers are legal.
    error "full_needs_layers"
        let block = a.recompute_method == Some(RecomputeMethod::Block),
        if d.full_recompute() && a.recompute_num_layers.is_none_or(|n| n == 0 && !block)
        => [recompute_num_layers, recompute_granularity],
        "recompute_granularity full needs recompute_num_layers of at least 1", [recompute_num_layers = Number(1)];
    // `MultiTokenPredictionLayer._checkpointed_forward`.
    error "mtp_recompute"
        if d.mtp_num_layers > 0 && d.full_recompute() && a.recompute_method == Some(RecomputeMethod::Uniform)
            && a.recompute_num_layers.is_some_and(|layers| layers > 1)
        => [recompute_num_layers, mtp_num_layers],
        "recompute_method uniform with mtp_num_layers needs recompute_num_layers 1",
        [recompute_num_layers = Number(1)];
    error "selective_excludes" if d.selective_recompute() && a.recompute_method.is_some()
        => [recompute_method, recompute_granularity],
        "recompute_granularity selective takes no recompute_method", [recompute_method = Default];
    error "selective_excludes" if d.selective_recompute() && a.recompute_num_layers.is_some()
        => [recompute_num_layers, recompute_granularity],
        "recompute_granularity selective takes no recompute_num_layers", [recompute_num_layers = Default];
    error "distribute_saved_activations" by(distribute_saved_activations);

    error "moe_act_needs_grouped_gemm" if d.recomputes(RecomputeModule::MoeAct) && !a.moe_grouped_gemm
        => [recompute_modules, moe_grouped_gemm],
        "recompute module moe_act is only supported with moe_grouped_gemm", [];
    error "mla_up_proj_needs_mla" if d.recomputes(RecomputeModule::MlaUpProj) && !a.multi_latent_attention
        => [recompute_modules, multi_latent_attention],
        "recompute module mla_up_proj is only supported with multi_latent_attention", [];
    error "shared_experts_excludes_overlap"
        if d.recomputes(RecomputeModule::SharedExperts) && a.moe_shared_expert_overlap
            && a.moe_shared_expert_intermediate_size.is_some()
        => [recompute_modules, moe_shared_expert_overlap],
        "recompute module shared_experts excludes moe_shared_expert_overlap", [];
    error "gdn_norm_out_needs_variant"
        let variant = a.experimental_attention_variant,
        if d.recomputes(RecomputeModule::GdnNormOut) && !variant.is_some_and(AttentionVariant::is_gated_delta_net)
        => [recompute_modules, experimental_attention_variant],
        "recompute module gdn_norm_out is only supported with experimental_attention_variant gdn or gdn2", [];
    error "offload_gdp_qkv" if d.offloads(OffloadModule::GdpQkv) && d.recomputes(RecomputeModule::GdpInProj)
        => [offload_modules, recompute_modules],
        "offload module gdp_qkv excludes recompute module gdp_in_proj: that one keeps nothing to move", [];
    error "delayed_fp8_excludes"
        let recomputed = d.recomputes(RecomputeModule::MoeAct) || d.recomputes(RecomputeModule::Layernorm),
        if recomputed && a.fp8_format.is_some() && a.fp8_recipe == Fp8Recipe::Delayed
        => [recompute_modules, fp8_recipe],
        "recompute modules moe_act and layernorm do not work with fp8_recipe delayed",
        [fp8_recipe = Name("tensorwise")];

    error "cpu_offloading" if a.cpu_offloading_num_layers > 0 && a.cpu_offloading_num_layers >= a.num_layers
        => [cpu_offloading_num_layers, num_layers],
        "cpu_offloading_num_layers must be less than num_layers", [cpu_offloading_num_layers = Number(0)];
    error "cpu_offloading" if a.cpu_offloading_num_layers > 0 && d.pp > 1
        => [cpu_offloading_num_layers, pipeline_model_parallel_size],
        "cpu_offloading_num_layers does not work with pipeline parallelism", [cpu_offloading_num_layers = Number(0)];
    error "cpu_offloading" if a.cpu_offloading_num_layers > 0 && a.recompute_granularity.is_some()
        => [cpu_offloading_num_layers, recompute_granularity],
        "cpu_offloading_num_layers does not work with recompute", [cpu_offloading_num_layers = Number(0)];

    error "offload_needs_te"
        if a.fine_grained_activation_offloading && a.transformer_impl != TransformerImpl::TransformerEngine
        => [fine_grained_activation_offloading, transformer_impl],
        "fine_grained_activation_offloading needs transformer_impl transformer_engine", [];
    error "offload_modules" if a.fine_grained_activation_offloading && a.offload_modules.is_empty()
        => [fine_grained_activation_offloading, offload_modules],
        "fine_grained_activation_offloading needs offload_modules", [offload_modules = Name("core_attn")];
    error "offload_excludes" if a.fine_grained_activation_offloading && a.cpu_offloading_num_layers > 0
        => [fine_grained_activation_offloading, cpu_offloading_num_layers],
        "fine_grained_activation_offloading excludes cpu_offloading_num_layers",
        [cpu_offloading_num_layers = Number(0)];
    error "offload_recomputed"
        let offloaded = d.offloads(OffloadModule::MoeAct) || d.offloads(OffloadModule::ExpertFc1),
        if offloaded && d.recomputes(RecomputeModule::Moe) => [offload_modules, recompute_modules],
        "offload modules moe_act and expert_fc1 exclude recompute module moe: it runs them again as a whole", [];
    error "offload_attn_proj" if d.offloads(OffloadModule::AttnProj) && !d.offloads(OffloadModule::CoreAttn)
        => [offload_modules],
        "offload module attn_proj needs core_attn: it is core attention's output",
        [offload_modules = Name("core_attn,attn_proj")];
}

fn distribute_saved_activations(d: &Draft<'_>) -> Option<Problem> {
    let message = if d.tp == 1 {
        "distribute_saved_activations needs TP of more than 1"
    } else if !d.full_recompute() {
        "distribute_saved_activations works only with recompute_granularity full"
    } else if d.args.sequence_parallel {
        "distribute_saved_activations excludes sequence_parallel"
    } else {
        return None;
    };
    d.args.distribute_saved_activations.then(|| {
        let fields = [
            F::distribute_saved_activations,
            F::tensor_model_parallel_size,
            F::recompute_granularity,
            F::sequence_parallel,
        ];
        Problem::error(&fields, message).fix(F::distribute_saved_activations, Off)
    })
}
