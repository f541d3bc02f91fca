//! What may be recomputed or offloaded together (`TransformerConfig.__post_init__`, `validate_args`).

use super::rule::{ERROR, Rule, To};
use crate::config::check::Draft;
use crate::config::choices::{
    Fp8Recipe, OffloadModule, RecomputeMethod, RecomputeModule, TransformerImpl,
};
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "full_needs_method",
        fields: &[F::recompute_method, F::recompute_granularity],
        broken: |d, _| d.full_recompute() && d.a.recompute_method.is_none(),
        words: "recompute_granularity full needs recompute_method uniform or block",
        fixes: &[
            (F::recompute_method, To::Name("uniform")),
            (F::recompute_method, To::Name("block")),
        ],
        ..ERROR
    },
    Rule {
        name: "recompute_layers",
        fields: &[F::recompute_num_layers, F::num_layers],
        broken: |d, f| {
            let layers = d.a.num_layers;
            d.full_recompute()
                && d.a.recompute_num_layers.is_some_and(|n| {
                    n > layers
                        && f.numbers(&[n, layers])
                        && f.fix_each(F::recompute_num_layers, &[layers.div_ceil(d.pp)])
                })
        },
        words: "recompute_num_layers {} is more than the {} layers there are",
        ..ERROR
    },
    Rule {
        name: "full_needs_layers",
        fields: &[F::recompute_num_layers, F::recompute_granularity],
        broken: |d, _| {
            // A group of no layers has no meaning; with block, 0 recomputed layers are legal.
            let block = d.a.recompute_method == Some(RecomputeMethod::Block);
            let none = |n: u64| n == 0 && !block;
            d.full_recompute() && d.a.recompute_num_layers.is_none_or(none)
        },
        words: "recompute_granularity full needs recompute_num_layers of at least 1",
        fixes: &[(F::recompute_num_layers, To::Number(1))],
        ..ERROR
    },
    Rule {
        name: "selective_excludes",
        fields: &[F::recompute_method, F::recompute_granularity],
        broken: |d, _| d.selective_recompute() && d.a.recompute_method.is_some(),
        words: "recompute_granularity selective takes no recompute_method",
        fixes: &[(F::recompute_method, To::Default)],
        ..ERROR
    },
    Rule {
        name: "selective_excludes",
        fields: &[F::recompute_num_layers, F::recompute_granularity],
        broken: |d, _| d.selective_recompute() && d.a.recompute_num_layers.is_some(),
        words: "recompute_granularity selective takes no recompute_num_layers",
        fixes: &[(F::recompute_num_layers, To::Default)],
        ..ERROR
    },
    Rule {
        broken: |d, _| d.a.distribute_saved_activations && d.tp == 1,
        words: "distribute_saved_activations needs TP of more than 1",
        ..DISTRIBUTED
    },
    Rule {
        broken: |d, _| d.a.distribute_saved_activations && d.tp > 1 && !d.full_recompute(),
        words: "distribute_saved_activations works only with recompute_granularity full",
        ..DISTRIBUTED
    },
    Rule {
        broken: |d, _| {
            d.a.distribute_saved_activations
                && d.tp > 1
                && d.full_recompute()
                && d.a.sequence_parallel
        },
        words: "distribute_saved_activations excludes sequence_parallel",
        ..DISTRIBUTED
    },
    Rule {
        name: "moe_act_needs_grouped_gemm",
        fields: &[F::recompute_modules, F::moe_grouped_gemm],
        broken: |d, _| d.recomputes(RecomputeModule::MoeAct) && !d.a.moe_grouped_gemm,
        words: "recompute module moe_act is only supported with moe_grouped_gemm",
        ..ERROR
    },
    Rule {
        name: "mla_up_proj_needs_mla",
        fields: &[F::recompute_modules, F::multi_latent_attention],
        broken: |d, _| d.recomputes(RecomputeModule::MlaUpProj) && !d.a.multi_latent_attention,
        words: "recompute module mla_up_proj is only supported with multi_latent_attention",
        ..ERROR
    },
    Rule {
        name: "shared_experts_excludes_overlap",
        fields: &[F::recompute_modules, F::moe_shared_expert_overlap],
        broken: |d, _| {
            d.recomputes(RecomputeModule::SharedExperts)
                && d.a.moe_shared_expert_intermediate_size.is_some()
                && d.a.moe_shared_expert_overlap
        },
        words: "recompute module shared_experts excludes moe_shared_expert_overlap",
        ..ERROR
    },
    Rule {
        name: "delayed_fp8_excludes",
        fields: &[F::recompute_modules, F::fp8_recipe],
        broken: |d, _| {
            d.a.fp8_format.is_some()
                && d.a.fp8_recipe == Fp8Recipe::Delayed
                && (d.recomputes(RecomputeModule::MoeAct)
                    || d.recomputes(RecomputeModule::Layernorm))
        },
        words: "recompute modules moe_act and layernorm do not work with fp8_recipe delayed",
        fixes: &[(F::fp8_recipe, To::Name("tensorwise"))],
        ..ERROR
    },
    Rule {
        fields: &[F::cpu_offloading_num_layers, F::num_layers],
        broken: |d, _| offloads_layers(d) && d.a.cpu_offloading_num_layers >= d.a.num_layers,
        words: "cpu_offloading_num_layers must be less than num_layers",
        ..LAYERS_OFFLOADED
    },
    Rule {
        fields: &[
            F::cpu_offloading_num_layers,
            F::pipeline_model_parallel_size,
        ],
        broken: |d, _| offloads_layers(d) && d.pp > 1,
        words: "cpu_offloading_num_layers does not work with pipeline parallelism",
        ..LAYERS_OFFLOADED
    },
    Rule {
        fields: &[F::cpu_offloading_num_layers, F::recompute_granularity],
        broken: |d, _| offloads_layers(d) && d.a.recompute_granularity.is_some(),
        words: "cpu_offloading_num_layers does not work with recompute",
        ..LAYERS_OFFLOADED
    },
    Rule {
        name: "offload_needs_te",
        fields: &[F::fine_grained_activation_offloading, F::transformer_impl],
        broken: |d, _| {
            d.a.fine_grained_activation_offloading
                && d.a.transformer_impl != TransformerImpl::TransformerEngine
        },
        words: "fine_grained_activation_offloading needs transformer_impl transformer_engine",
        ..ERROR
    },
    Rule {
        name: "offload_modules",
        fields: &[F::fine_grained_activation_offloading, F::offload_modules],
        broken: |d, _| d.a.fine_grained_activation_offloading && d.a.offload_modules.is_empty(),
        words: "fine_grained_activation_offloading needs offload_modules",
        fixes: &[(F::offload_modules, To::Name("core_attn"))],
        ..ERROR
    },
    Rule {
        name: "offload_excludes",
        fields: &[
            F::fine_grained_activation_offloading,
            F::cpu_offloading_num_layers,
        ],
        broken: |d, _| d.a.fine_grained_activation_offloading && offloads_layers(d),
        words: "fine_grained_activation_offloading excludes cpu_offloading_num_layers",
        fixes: &[(F::cpu_offloading_num_layers, To::Number(0))],
        ..ERROR
    },
    Rule {
        name: "offload_recomputed",
        fields: &[F::offload_modules, F::recompute_modules],
        broken: |d, _| {
            (offloads(d, OffloadModule::MoeAct) || offloads(d, OffloadModule::ExpertFc1))
                && d.recomputes(RecomputeModule::Moe)
        },
        words: "offload modules moe_act and expert_fc1 exclude recompute module moe: it runs them again as a whole",
        ..ERROR
    },
    Rule {
        name: "offload_attn_proj",
        fields: &[F::offload_modules],
        broken: |d, _| {
            offloads(d, OffloadModule::AttnProj) && !offloads(d, OffloadModule::CoreAttn)
        },
        words: "offload module attn_proj needs core_attn: it is core attention's output",
        fixes: &[(F::offload_modules, To::Name("core_attn,attn_proj"))],
        ..ERROR
    },
];

const DISTRIBUTED: Rule = Rule {
    name: "distribute_saved_activations",
    fields: &[
        F::distribute_saved_activations,
        F::tensor_model_parallel_size,
        F::recompute_granularity,
        F::sequence_parallel,
    ],
    fixes: &[(F::distribute_saved_activations, To::Off)],
    ..ERROR
};

const LAYERS_OFFLOADED: Rule = Rule {
    name: "cpu_offloading",
    fixes: &[(F::cpu_offloading_num_layers, To::Number(0))],
    ..ERROR
};

fn offloads_layers(d: &Draft<'_>) -> bool {
    d.a.cpu_offloading_num_layers > 0
}

fn offloads(d: &Draft<'_>, module: OffloadModule) -> bool {
    d.a.fine_grained_activation_offloading && d.a.offload_modules.contains(module)
}
