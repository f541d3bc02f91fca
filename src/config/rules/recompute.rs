//! What may be recomputed or offloaded together (`TransformerConfig.__post_init__`, `validate_args`).

use crate::config::check::Draft;
use crate::config::choices::{
    Fp8Recipe, OffloadModule, RecomputeMethod, RecomputeModule, TransformerImpl,
};
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;
use crate::value::Value;

pub(super) fn granularity(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let a = d.a;
    if d.full_recompute() {
        if a.recompute_method.is_none() {
            d.error(
                problems,
                "full_needs_method",
                &[F::recompute_method, F::recompute_granularity],
                String::from("recompute_granularity full needs recompute_method uniform or block"),
            )
            .fix(F::recompute_method, Value::Text(String::from("uniform")))
            .fix(F::recompute_method, Value::Text(String::from("block")));
        }
        // A group of no layers has no meaning; with block, 0 recomputed layers are legal.
        let least = u64::from(a.recompute_method != Some(RecomputeMethod::Block));
        match a.recompute_num_layers {
            Some(n) if n > a.num_layers => {
                d.error(
                    problems,
                    "recompute_layers",
                    &[F::recompute_num_layers, F::num_layers],
                    format!(
                        "recompute_num_layers {n} is more than the {} layers there are",
                        a.num_layers
                    ),
                )
                .fix(
                    F::recompute_num_layers,
                    Value::Int(a.num_layers.div_ceil(d.pp).into()),
                );
            }

            Some(n) if n >= least => {}
            _ => {
                d.error(
                    problems,
                    "full_needs_layers",
                    &[F::recompute_num_layers, F::recompute_granularity],
                    String::from(
                        "recompute_granularity full needs recompute_num_layers of at least 1",
                    ),
                )
                .fix(F::recompute_num_layers, Value::Int(1));
            }
        }
    }
    if d.selective_recompute() {
        for (set, field) in [
            (a.recompute_method.is_some(), F::recompute_method),
            (a.recompute_num_layers.is_some(), F::recompute_num_layers),
        ] {
            if set {
                d.error(
                    problems,
                    "selective_excludes",
                    &[field, F::recompute_granularity],
                    format!(
                        "recompute_granularity selective takes no {}",
                        field.field().name
                    ),
                )
                .fix(field, Value::Null);
            }
        }
    }
    if a.distribute_saved_activations {
        let reason = if d.tp == 1 {
            Some("needs TP of more than 1")
        } else if !d.full_recompute() {
            Some("works only with recompute_granularity full")
        } else if a.sequence_parallel {
            Some("excludes sequence_parallel")
        } else {
            None
        };
        if let Some(reason) = reason {
            d.error(
                problems,
                "distribute_saved_activations",
                &[
                    F::distribute_saved_activations,
                    F::tensor_model_parallel_size,
                    F::recompute_granularity,
                    F::sequence_parallel,
                ],
                format!("distribute_saved_activations {reason}"),
            )
            .fix(F::distribute_saved_activations, Value::Bool(false));
        }
    }
}

pub(super) fn modules(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if !d.selective_recompute() {
        return;
    }
    let (a, chosen) = (d.a, d.a.recompute_modules);
    let mut refuse = |refused: bool, rule, field: F, message: &str| {
        if refused {
            d.error(
                problems,
                rule,
                &[F::recompute_modules, field],
                message.to_owned(),
            );
        }
    };
    refuse(
        chosen.contains(RecomputeModule::MoeAct) && !a.moe_grouped_gemm,
        "moe_act_needs_grouped_gemm",
        F::moe_grouped_gemm,
        "recompute module moe_act is only supported with moe_grouped_gemm",
    );
    refuse(
        chosen.contains(RecomputeModule::MlaUpProj) && !a.multi_latent_attention,
        "mla_up_proj_needs_mla",
        F::multi_latent_attention,
        "recompute module mla_up_proj is only supported with multi_latent_attention",
    );
    refuse(
        chosen.contains(RecomputeModule::SharedExperts)
            && a.moe_shared_expert_intermediate_size.is_some()
            && a.moe_shared_expert_overlap,
        "shared_experts_excludes_overlap",
        F::moe_shared_expert_overlap,
        "recompute module shared_experts excludes moe_shared_expert_overlap",
    );
    refuse(
        a.fp8_format.is_some()
            && a.fp8_recipe == Fp8Recipe::Delayed
            && (chosen.contains(RecomputeModule::MoeAct)
                || chosen.contains(RecomputeModule::Layernorm)),
        "delayed_fp8_excludes",
        F::fp8_recipe,
        "recompute modules moe_act and layernorm do not work with fp8_recipe delayed",
    );
}

pub(super) fn offloading(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let a = d.a;
    if a.cpu_offloading_num_layers > 0 {
        let field = F::cpu_offloading_num_layers;
        let refusals = [
            (
                a.cpu_offloading_num_layers >= a.num_layers,
                F::num_layers,
                "must be less than num_layers",
            ),
            (
                d.pp > 1,
                F::pipeline_model_parallel_size,
                "does not work with pipeline parallelism",
            ),
            (
                a.recompute_granularity.is_some(),
                F::recompute_granularity,
                "does not work with recompute",
            ),
        ];
        for (refused, other, reason) in refusals {
            if refused {
                let message = format!("cpu_offloading_num_layers {reason}");
                d.error(problems, "cpu_offloading", &[field, other], message)
                    .fix(field, Value::Int(0));
            }
        }
    }
    if !a.fine_grained_activation_offloading {
        return;
    }
    let field = F::fine_grained_activation_offloading;
    if a.transformer_impl != TransformerImpl::TransformerEngine {
        let message = String::from(
            "fine_grained_activation_offloading needs transformer_impl transformer_engine",
        );
        d.error(
            problems,
            "offload_needs_te",
            &[field, F::transformer_impl],
            message,
        );
    }
    if a.offload_modules.is_empty() {
        let message = String::from("fine_grained_activation_offloading needs offload_modules");
        d.error(
            problems,
            "offload_modules",
            &[field, F::offload_modules],
            message,
        )
        .fix(F::offload_modules, Value::Text(String::from("core_attn")));
    }
    if a.cpu_offloading_num_layers > 0 {
        let message =
            String::from("fine_grained_activation_offloading excludes cpu_offloading_num_layers");
        let fields = [field, F::cpu_offloading_num_layers];
        d.error(problems, "offload_excludes", &fields, message)
            .fix(F::cpu_offloading_num_layers, Value::Int(0));
    }
    let within_moe = [OffloadModule::MoeAct, OffloadModule::ExpertFc1];
    let within_moe = within_moe
        .iter()
        .any(|module| a.offload_modules.contains(*module));
    let moe_again = d.selective_recompute() && a.recompute_modules.contains(RecomputeModule::Moe);
    if within_moe && moe_again {
        let message = String::from(
            "offload modules moe_act and expert_fc1 exclude recompute module moe: it runs them again as a whole",
        );
        let fields = [F::offload_modules, F::recompute_modules];
        d.error(problems, "offload_recomputed", &fields, message);
    }
    if a.offload_modules.contains(OffloadModule::AttnProj)
        && !a.offload_modules.contains(OffloadModule::CoreAttn)
    {
        let message =
            String::from("offload module attn_proj needs core_attn: it is core attention's output");
        d.error(
            problems,
            "offload_attn_proj",
            &[F::offload_modules],
            message,
        );
    }
}
