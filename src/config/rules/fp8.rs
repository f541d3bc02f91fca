//! What fp8 needs (`TransformerConfig.__post_init__`, `validate_args`, `check_recipe_support` of Transformer Engine).

use super::rule::FixValue::{Default, Name, Number, Off, On};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::{Fp8Recipe, OffloadModule, TokenDispatcher, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::gpus::GpuGeneration;

pub(super) const RULES: &[Rule] = &[
    rule("fp8", param_gather_needs_fp8),
    rule("fp8", param_gather_needs_distributed),
    rule("fp8", param_gather_offloaded),
    rule("fp8", delayed_bf16_layers),
    rule("fp8", |d| {
        let layers = d.args.num_layers_at_start_in_bf16;
        bf16_layers_of_a_stage(d, F::num_layers_at_start_in_bf16, layers)
    }),
    rule("fp8", |d| {
        let layers = d.args.num_layers_at_end_in_bf16;
        bf16_layers_of_a_stage(d, F::num_layers_at_end_in_bf16, layers)
    }),
    rule("fp8", delayed_offload),
    rule("fp8", fp8_needs_ada),
    rule("fp8", mxfp8_needs_blackwell),
    rule("fp8", blockwise_needs_hopper),
    rule("fp8", router_padding_needs_fp8),
    rule("fp8", router_padding_dispatcher),
    rule("fp8", input_store_needs_swiglu),
    warning("fp8", local_ignores_fp8),
    rule("fp4", fp4_excludes_fp8),
    rule("fp4", param_gather_needs_fp4),
    rule("fp4", fp4_needs_blackwell),
];

fn fp4_excludes_fp8(d: &Draft<'_>) -> Option<Violation> {
    (d.args.fp4_format.is_some() && d.args.fp8_format.is_some()).then(|| {
        let message = "fp4_format and fp8_format exclude each other";
        Violation::error(&[F::fp4_format, F::fp8_format], message)
            .fix(F::fp8_format, Default)
            .fix(F::fp4_format, Default)
    })
}

fn param_gather_needs_fp4(d: &Draft<'_>) -> Option<Violation> {
    (d.args.fp4_param_gather && d.args.fp4_format.is_none()).then(|| {
        let fields = [F::fp4_param_gather, F::fp4_format];
        Violation::error(&fields, "fp4_param_gather needs fp4_format").fix(F::fp4_param_gather, Off)
    })
}

fn fp4_needs_blackwell(d: &Draft<'_>) -> Option<Violation> {
    let generation = without(d, GpuGeneration::computes_in_mxfp8)?;
    d.args.fp4_format.is_some().then(|| {
        let message = format!("fp4_format needs a Blackwell GPU, not {}", generation.label());
        Violation::error(&[F::fp4_format, F::gpu, F::gpu_generation], message).fix(F::fp4_format, Default)
    })
}

/// Whether the job computes in fp8 with the delayed recipe.
fn delayed(d: &Draft<'_>) -> bool {
    d.args.fp8_format.is_some() && d.args.fp8_recipe == Fp8Recipe::Delayed
}

/// The known generation of the GPU, where it cannot do something.
fn without(d: &Draft<'_>, can: fn(GpuGeneration) -> bool) -> Option<GpuGeneration> {
    d.gpu_generation().filter(|generation| !can(*generation))
}

fn param_gather_needs_fp8(d: &Draft<'_>) -> Option<Violation> {
    (d.args.fp8_param_gather && d.args.fp8_format.is_none()).then(|| {
        let fields = [F::fp8_param_gather, F::fp8_format];
        Violation::error(&fields, "fp8_param_gather needs fp8_format").fix(F::fp8_param_gather, Off)
    })
}

fn param_gather_needs_distributed(d: &Draft<'_>) -> Option<Violation> {
    (d.args.fp8_param_gather && !d.args.use_distributed_optimizer).then(|| {
        Violation::error(
            &[F::fp8_param_gather, F::use_distributed_optimizer],
            "fp8_param_gather needs use_distributed_optimizer",
        )
        .fix(F::use_distributed_optimizer, On)
    })
}

fn param_gather_offloaded(d: &Draft<'_>) -> Option<Violation> {
    let offloaded = d.args.fp8_param_gather && d.args.optimizer_cpu_offload;
    (offloaded && d.args.fp8_format.is_some() && !delayed(d)).then(|| {
        Violation::error(
            &[F::fp8_param_gather, F::optimizer_cpu_offload, F::fp8_recipe],
            "fp8_param_gather with optimizer_cpu_offload needs fp8_recipe delayed",
        )
        .fix(F::fp8_param_gather, Off)
        .fix(F::fp8_recipe, Name("delayed"))
    })
}

fn delayed_bf16_layers(d: &Draft<'_>) -> Option<Violation> {
    (delayed(d) && d.args.first_last_layers_bf16).then(|| {
        Violation::error(
            &[F::first_last_layers_bf16, F::fp8_recipe],
            "first_last_layers_bf16 does not work with fp8_recipe delayed",
        )
        .fix(F::fp8_recipe, Name("tensorwise"))
    })
}

fn bf16_layers_of_a_stage(d: &Draft<'_>, field: F, layers: u64) -> Option<Violation> {
    let most = d.args.num_layers / d.pp;
    let quantized = d.args.fp8_format.is_some() || d.args.fp4_format.is_some();
    let in_bf16 = quantized && d.args.first_last_layers_bf16;
    (in_bf16 && layers > most).then(|| {
        let message = format!(
            "{} {layers} must be at most num_layers / PP = {most}",
            field.field().name
        );
        let fields = [field, F::num_layers, F::pipeline_model_parallel_size];
        Violation::error(&fields, message).fix(field, Number(most))
    })
}

fn delayed_offload(d: &Draft<'_>) -> Option<Violation> {
    let fc1 = d.args.offload_modules.contains(OffloadModule::ExpertFc1);
    (delayed(d) && d.args.fine_grained_activation_offloading && fc1).then(|| {
        Violation::error(
            &[F::offload_modules, F::fp8_recipe],
            "offload module expert_fc1 does not work with fp8_recipe delayed",
        )
        .fix(F::fp8_recipe, Name("tensorwise"))
    })
}

fn fp8_needs_ada(d: &Draft<'_>) -> Option<Violation> {
    let generation = without(d, GpuGeneration::computes_in_fp8)?;
    d.args.fp8_format.is_some().then(|| {
        let message = format!(
            "fp8_format needs a GPU that computes in fp8; {} does not",
            generation.label()
        );
        Violation::error(&[F::fp8_format, F::gpu, F::gpu_generation], message).fix(F::fp8_format, Default)
    })
}

fn mxfp8_needs_blackwell(d: &Draft<'_>) -> Option<Violation> {
    let generation = without(d, GpuGeneration::computes_in_mxfp8)?;
    let recipe = d.args.fp8_format.is_some() && d.args.fp8_recipe == Fp8Recipe::Mxfp8;
    (recipe && generation.computes_in_fp8()).then(|| {
        let instead = if generation.computes_in_blockwise_fp8() {
            "blockwise"
        } else {
            "tensorwise"
        };
        Violation::error(
            &[F::fp8_recipe, F::gpu, F::gpu_generation],
            "fp8_recipe mxfp8 needs a Blackwell GPU",
        )
        .fix(F::fp8_recipe, Name(instead))
    })
}

fn blockwise_needs_hopper(d: &Draft<'_>) -> Option<Violation> {
    let generation = without(d, GpuGeneration::computes_in_blockwise_fp8)?;
    let recipe = d.args.fp8_format.is_some() && d.args.fp8_recipe == Fp8Recipe::Blockwise;
    (recipe && generation.computes_in_fp8()).then(|| {
        let message = format!(
            "fp8_recipe blockwise needs a Hopper or Blackwell GPU, not {}",
            generation.label()
        );
        Violation::error(&[F::fp8_recipe, F::gpu, F::gpu_generation], message).fix(F::fp8_recipe, Name("tensorwise"))
    })
}

fn router_padding_needs_fp8(d: &Draft<'_>) -> Option<Violation> {
    let field = F::moe_router_padding_for_quantization;
    let pads = d.args.moe_router_padding_for_quantization;
    (pads && d.args.fp8_format.is_none() && d.args.fp4_format.is_none()).then(|| {
        let message = "moe_router_padding_for_quantization needs fp8_format";
        Violation::error(&[field, F::fp8_format], message).fix(field, Off)
    })
}

fn router_padding_dispatcher(d: &Draft<'_>) -> Option<Violation> {
    let gathers = d.args.moe_token_dispatcher_type == TokenDispatcher::AllGather;
    (d.args.moe_router_padding_for_quantization && gathers).then(|| {
        Violation::error(
            &[F::moe_router_padding_for_quantization, F::moe_token_dispatcher_type],
            "moe_router_padding_for_quantization does not work with the allgather dispatcher",
        )
        .fix(F::moe_token_dispatcher_type, Name("alltoall"))
    })
}

fn input_store_needs_swiglu(d: &Draft<'_>) -> Option<Violation> {
    let field = F::activation_func_fp8_input_store;
    (d.args.activation_func_fp8_input_store && !d.args.swiglu).then(|| {
        let message = "activation_func_fp8_input_store needs swiglu";
        Violation::error(&[field, F::swiglu], message).fix(field, Off)
    })
}

fn local_ignores_fp8(d: &Draft<'_>) -> Option<Violation> {
    let local = d.args.transformer_impl == TransformerImpl::Local;
    (d.args.fp8_format.is_some() && local).then(|| {
        Violation::warning(
            &[F::fp8_format, F::transformer_impl],
            "fp8_format changes nothing with transformer_impl local: only Transformer Engine computes in fp8",
        )
        .fix(F::fp8_format, Default)
    })
}
