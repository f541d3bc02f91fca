//! What fp8 needs (`TransformerConfig.__post_init__`, `validate_args`, `check_recipe_support` of Transformer Engine).

use super::rule::{ERROR, Found, Rule, To, WARNING};
use crate::config::check::Draft;
use crate::config::choices::{Fp8Recipe, OffloadModule, TokenDispatcher, TransformerImpl};
use crate::config::fields::FieldId as F;
use crate::config::gpus;
use crate::config::job::GpuGeneration;

pub(super) const RULES: &[Rule] = &[
    Rule {
        fields: &[F::fp8_param_gather, F::fp8_format],
        broken: |d, _| d.a.fp8_param_gather && d.a.fp8_format.is_none(),
        words: "fp8_param_gather needs fp8_format",
        fixes: &[(F::fp8_param_gather, To::Off)],
        ..FP8
    },
    Rule {
        fields: &[F::fp8_param_gather, F::use_distributed_optimizer],
        broken: |d, _| d.a.fp8_param_gather && !d.a.use_distributed_optimizer,
        words: "fp8_param_gather needs use_distributed_optimizer",
        fixes: &[(F::use_distributed_optimizer, To::On)],
        ..FP8
    },
    Rule {
        fields: &[F::fp8_param_gather, F::optimizer_cpu_offload, F::fp8_recipe],
        broken: |d, _| {
            let other = d.a.fp8_format.is_some() && d.a.fp8_recipe != Fp8Recipe::Delayed;
            d.a.fp8_param_gather && d.a.optimizer_cpu_offload && other
        },
        words: "fp8_param_gather with optimizer_cpu_offload needs fp8_recipe delayed",
        fixes: &[
            (F::fp8_param_gather, To::Off),
            (F::fp8_recipe, To::Name("delayed")),
        ],
        ..FP8
    },
    Rule {
        fields: &[F::first_last_layers_bf16, F::fp8_recipe],
        broken: |d, _| delayed(d) && d.a.first_last_layers_bf16,
        words: "first_last_layers_bf16 does not work with fp8_recipe delayed",
        fixes: &[(F::fp8_recipe, To::Name("tensorwise"))],
        ..FP8
    },
    Rule {
        fields: &[
            F::num_layers_at_start_in_bf16,
            F::num_layers,
            F::pipeline_model_parallel_size,
        ],
        broken: |d, f| more_than_a_stage(d, f, d.a.num_layers_at_start_in_bf16),
        words: "num_layers_at_start_in_bf16 {} must be at most num_layers / PP = {}",
        fixes: &[(F::num_layers_at_start_in_bf16, To::Near)],
        ..FP8
    },
    Rule {
        fields: &[
            F::num_layers_at_end_in_bf16,
            F::num_layers,
            F::pipeline_model_parallel_size,
        ],
        broken: |d, f| more_than_a_stage(d, f, d.a.num_layers_at_end_in_bf16),
        words: "num_layers_at_end_in_bf16 {} must be at most num_layers / PP = {}",
        fixes: &[(F::num_layers_at_end_in_bf16, To::Near)],
        ..FP8
    },
    Rule {
        fields: &[F::offload_modules, F::fp8_recipe],
        broken: |d, _| {
            let fc1 = d.a.offload_modules.contains(OffloadModule::ExpertFc1);
            delayed(d) && d.a.fine_grained_activation_offloading && fc1
        },
        words: "offload module expert_fc1 does not work with fp8_recipe delayed",
        fixes: &[(F::fp8_recipe, To::Name("tensorwise"))],
        ..FP8
    },
    Rule {
        fields: &[F::fp8_format, F::gpu],
        broken: |d, _| d.a.fp8_format.is_some() && runs_on(d, GpuGeneration::Ampere),
        words: "fp8_format needs a GPU that computes in fp8; Ampere does not",
        fixes: &[(F::fp8_format, To::Default)],
        ..FP8
    },
    Rule {
        fields: &[F::fp8_recipe, F::gpu],
        broken: |d, _| {
            let mxfp8 = d.a.fp8_format.is_some() && d.a.fp8_recipe == Fp8Recipe::Mxfp8;
            mxfp8 && runs_on(d, GpuGeneration::Hopper)
        },
        words: "fp8_recipe mxfp8 needs a Blackwell GPU",
        fixes: &[(F::fp8_recipe, To::Name("blockwise"))],
        ..FP8
    },
    Rule {
        fields: &[F::moe_router_padding_for_quantization, F::fp8_format],
        broken: |d, _| d.a.moe_router_padding_for_quantization && d.a.fp8_format.is_none(),
        words: "moe_router_padding_for_quantization needs fp8_format",
        fixes: &[(F::moe_router_padding_for_quantization, To::Off)],
        ..FP8
    },
    Rule {
        fields: &[
            F::moe_router_padding_for_quantization,
            F::moe_token_dispatcher_type,
        ],
        broken: |d, _| {
            let allgather = d.a.moe_token_dispatcher_type == TokenDispatcher::AllGather;
            d.a.moe_router_padding_for_quantization && allgather
        },
        words: "moe_router_padding_for_quantization does not work with the allgather dispatcher",
        fixes: &[(F::moe_token_dispatcher_type, To::Name("alltoall"))],
        ..FP8
    },
    Rule {
        fields: &[F::activation_func_fp8_input_store, F::swiglu],
        broken: |d, _| d.a.activation_func_fp8_input_store && !d.a.swiglu,
        words: "activation_func_fp8_input_store needs swiglu",
        fixes: &[(F::activation_func_fp8_input_store, To::Off)],
        ..FP8
    },
    Rule {
        fields: &[F::fp8_format, F::transformer_impl],
        severity: WARNING.severity,
        broken: |d, _| d.a.fp8_format.is_some() && d.a.transformer_impl == TransformerImpl::Local,
        words: "fp8_format changes nothing with transformer_impl local: only Transformer Engine computes in fp8",
        fixes: &[(F::fp8_format, To::Default)],
        ..FP8
    },
];

const FP8: Rule = Rule {
    name: "fp8",
    ..ERROR
};

fn delayed(d: &Draft<'_>) -> bool {
    d.a.fp8_format.is_some() && d.a.fp8_recipe == Fp8Recipe::Delayed
}

/// Whether the GPU is known, and of this generation.
fn runs_on(d: &Draft<'_>, generation: GpuGeneration) -> bool {
    let known = d.a.gpu.as_deref().filter(|id| gpus::by_id(id).is_some());
    known.map(GpuGeneration::named) == Some(generation)
}

/// Whether more layers would stay in bf16 at one end than a stage has; tells both numbers if so.
fn more_than_a_stage(d: &Draft<'_>, f: &mut Found, layers: u64) -> bool {
    let most = d.a.num_layers / d.pp.max(1);
    let in_bf16 = d.a.fp8_format.is_some() && d.a.first_last_layers_bf16;
    in_bf16 && layers > most && f.number(layers) && f.near(vec![most])
}
