//! What may be recomputed or offloaded together (`TransformerConfig.__post_init__`, `validate_args`).

use super::rule::FixValue::{Default, Name, Number, Off};
use super::rule::{Rule, Violation, rule};
use crate::config::choices::{
    AttentionVariant, Fp8Recipe, OffloadModule, RecomputeMethod, RecomputeModule, TransformerImpl,
};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    rule("full_needs_method", full_needs_method),
    rule("recompute_layers", recompute_layers),
    rule("full_needs_layers", full_needs_layers),
    rule("mtp_recompute", mtp_recompute),
    rule("selective_excludes", |d| {
        let given = d.args.recompute_method.is_some();
        selective_excludes(d, F::recompute_method, given)
    }),
    rule("selective_excludes", |d| {
        let given = d.args.recompute_num_layers.is_some();
        selective_excludes(d, F::recompute_num_layers, given)
    }),
    rule("distribute_saved_activations", distribute_saved_activations),
    rule("moe_act_needs_grouped_gemm", moe_act_needs_grouped_gemm),
    rule("mla_up_proj_needs_mla", mla_up_proj_needs_mla),
    rule("shared_experts_excludes_overlap", shared_experts_excludes_overlap),
    rule("gdn_norm_out_needs_variant", gdn_norm_out_needs_variant),
    rule("offload_gdp_qkv", offload_gdp_qkv),
    rule("delayed_fp8_excludes", delayed_fp8_excludes),
    rule("cpu_offloading", |d| {
        let all = d.args.cpu_offloading_num_layers >= d.args.num_layers;
        let message = "cpu_offloading_num_layers must be less than num_layers";
        cpu_offloading(d, all, F::num_layers, message)
    }),
    rule("cpu_offloading", |d| {
        let message = "cpu_offloading_num_layers does not work with pipeline parallelism";
        cpu_offloading(d, d.pp > 1, F::pipeline_model_parallel_size, message)
    }),
    rule("cpu_offloading", |d| {
        let recomputes = d.args.recompute_granularity.is_some();
        let message = "cpu_offloading_num_layers does not work with recompute";
        cpu_offloading(d, recomputes, F::recompute_granularity, message)
    }),
    rule("offload_needs_te", offload_needs_te),
    rule("offload_modules", offload_modules),
    rule("offload_excludes", offload_excludes),
    rule("offload_recomputed", offload_recomputed),
    rule("offload_attn_proj", offload_attn_proj),
];

fn full_needs_method(d: &Draft<'_>) -> Option<Violation> {
    (d.full_recompute() && d.args.recompute_method.is_none()).then(|| {
        Violation::error(
            &[F::recompute_method, F::recompute_granularity],
            "recompute_granularity full needs recompute_method uniform or block",
        )
        .fix(F::recompute_method, Name("uniform"))
        .fix(F::recompute_method, Name("block"))
    })
}

fn recompute_layers(d: &Draft<'_>) -> Option<Violation> {
    let (recomputed, layers) = (d.args.recompute_num_layers?, d.args.num_layers);
    (d.full_recompute() && recomputed > layers).then(|| {
        let message = format!("recompute_num_layers {recomputed} is more than the {layers} layers there are");
        Violation::error(&[F::recompute_num_layers, F::num_layers], message)
            .fix(F::recompute_num_layers, Number(layers.div_ceil(d.pp)))
    })
}

/// A group of no layers has no meaning; with `block`, 0 recomputed layers are legal.
fn full_needs_layers(d: &Draft<'_>) -> Option<Violation> {
    let block = d.args.recompute_method == Some(RecomputeMethod::Block);
    let layers = d.args.recompute_num_layers;
    (d.full_recompute() && layers.is_none_or(|n| n == 0 && !block)).then(|| {
        Violation::error(
            &[F::recompute_num_layers, F::recompute_granularity],
            "recompute_granularity full needs recompute_num_layers of at least 1",
        )
        .fix(F::recompute_num_layers, Number(1))
    })
}

/// `MultiTokenPredictionLayer._checkpointed_forward`.
fn mtp_recompute(d: &Draft<'_>) -> Option<Violation> {
    let uniform = d.args.recompute_method == Some(RecomputeMethod::Uniform);
    let several = d.args.recompute_num_layers.is_some_and(|layers| layers > 1);
    (d.mtp_num_layers > 0 && d.full_recompute() && uniform && several).then(|| {
        Violation::error(
            &[F::recompute_num_layers, F::mtp_num_layers],
            "recompute_method uniform with mtp_num_layers needs recompute_num_layers 1",
        )
        .fix(F::recompute_num_layers, Number(1))
    })
}

fn selective_excludes(d: &Draft<'_>, field: F, given: bool) -> Option<Violation> {
    (d.selective_recompute() && given).then(|| {
        let message = format!("recompute_granularity selective takes no {}", field.field().name);
        Violation::error(&[field, F::recompute_granularity], message).fix(field, Default)
    })
}

fn distribute_saved_activations(d: &Draft<'_>) -> Option<Violation> {
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
        Violation::error(&fields, message).fix(F::distribute_saved_activations, Off)
    })
}

fn moe_act_needs_grouped_gemm(d: &Draft<'_>) -> Option<Violation> {
    (d.recomputes(RecomputeModule::MoeAct) && !d.args.moe_grouped_gemm).then(|| {
        Violation::error(
            &[F::recompute_modules, F::moe_grouped_gemm],
            "recompute module moe_act is only supported with moe_grouped_gemm",
        )
    })
}

fn mla_up_proj_needs_mla(d: &Draft<'_>) -> Option<Violation> {
    let recomputed = d.recomputes(RecomputeModule::MlaUpProj);
    (recomputed && !d.args.multi_latent_attention).then(|| {
        Violation::error(
            &[F::recompute_modules, F::multi_latent_attention],
            "recompute module mla_up_proj is only supported with multi_latent_attention",
        )
    })
}

fn gdn_norm_out_needs_variant(d: &Draft<'_>) -> Option<Violation> {
    let variant = d.args.experimental_attention_variant;
    let has = variant.is_some_and(AttentionVariant::is_gated_delta_net);
    (d.recomputes(RecomputeModule::GdnNormOut) && !has).then(|| {
        Violation::error(
            &[F::recompute_modules, F::experimental_attention_variant],
            "recompute module gdn_norm_out is only supported with experimental_attention_variant gdn or gdn2",
        )
    })
}

fn offload_gdp_qkv(d: &Draft<'_>) -> Option<Violation> {
    let discarded = d.recomputes(RecomputeModule::GdpInProj);
    (offloads(d, OffloadModule::GdpQkv) && discarded).then(|| {
        Violation::error(
            &[F::offload_modules, F::recompute_modules],
            "offload module gdp_qkv excludes recompute module gdp_in_proj: that one keeps nothing to move",
        )
    })
}

fn shared_experts_excludes_overlap(d: &Draft<'_>) -> Option<Violation> {
    let overlaps = d.args.moe_shared_expert_intermediate_size.is_some() && d.args.moe_shared_expert_overlap;
    (overlaps && d.recomputes(RecomputeModule::SharedExperts)).then(|| {
        Violation::error(
            &[F::recompute_modules, F::moe_shared_expert_overlap],
            "recompute module shared_experts excludes moe_shared_expert_overlap",
        )
    })
}

fn delayed_fp8_excludes(d: &Draft<'_>) -> Option<Violation> {
    let delayed = d.args.fp8_format.is_some() && d.args.fp8_recipe == Fp8Recipe::Delayed;
    let recomputed = d.recomputes(RecomputeModule::MoeAct) || d.recomputes(RecomputeModule::Layernorm);
    (delayed && recomputed).then(|| {
        Violation::error(
            &[F::recompute_modules, F::fp8_recipe],
            "recompute modules moe_act and layernorm do not work with fp8_recipe delayed",
        )
        .fix(F::fp8_recipe, Name("tensorwise"))
    })
}

fn offloads_layers(d: &Draft<'_>) -> bool {
    d.args.cpu_offloading_num_layers > 0
}

/// The violation of a condition on `cpu_offloading_num_layers`, where layers are offloaded and the condition `broken`.
fn cpu_offloading(d: &Draft<'_>, broken: bool, other: F, message: &str) -> Option<Violation> {
    let field = F::cpu_offloading_num_layers;
    (offloads_layers(d) && broken).then(|| Violation::error(&[field, other], message).fix(field, Number(0)))
}

/// Whether fine-grained offloading moves this module's activations.
fn offloads(d: &Draft<'_>, module: OffloadModule) -> bool {
    d.args.fine_grained_activation_offloading && d.args.offload_modules.contains(module)
}

fn offload_needs_te(d: &Draft<'_>) -> Option<Violation> {
    let engine = d.args.transformer_impl == TransformerImpl::TransformerEngine;
    (d.args.fine_grained_activation_offloading && !engine).then(|| {
        Violation::error(
            &[F::fine_grained_activation_offloading, F::transformer_impl],
            "fine_grained_activation_offloading needs transformer_impl transformer_engine",
        )
    })
}

fn offload_modules(d: &Draft<'_>) -> Option<Violation> {
    let nothing = d.args.offload_modules.is_empty();
    (d.args.fine_grained_activation_offloading && nothing).then(|| {
        Violation::error(
            &[F::fine_grained_activation_offloading, F::offload_modules],
            "fine_grained_activation_offloading needs offload_modules",
        )
        .fix(F::offload_modules, Name("core_attn"))
    })
}

fn offload_excludes(d: &Draft<'_>) -> Option<Violation> {
    (d.args.fine_grained_activation_offloading && offloads_layers(d)).then(|| {
        Violation::error(
            &[F::fine_grained_activation_offloading, F::cpu_offloading_num_layers],
            "fine_grained_activation_offloading excludes cpu_offloading_num_layers",
        )
        .fix(F::cpu_offloading_num_layers, Number(0))
    })
}

fn offload_recomputed(d: &Draft<'_>) -> Option<Violation> {
    let offloaded = offloads(d, OffloadModule::MoeAct) || offloads(d, OffloadModule::ExpertFc1);
    (offloaded && d.recomputes(RecomputeModule::Moe)).then(|| {
        Violation::error(
            &[F::offload_modules, F::recompute_modules],
            "offload modules moe_act and expert_fc1 exclude recompute module moe: it runs them again as a whole",
        )
    })
}

fn offload_attn_proj(d: &Draft<'_>) -> Option<Violation> {
    let core_attn = offloads(d, OffloadModule::CoreAttn);
    (offloads(d, OffloadModule::AttnProj) && !core_attn).then(|| {
        Violation::error(
            &[F::offload_modules],
            "offload module attn_proj needs core_attn: it is core attention's output",
        )
        .fix(F::offload_modules, Name("core_attn,attn_proj"))
    })
}
