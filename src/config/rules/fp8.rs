//! What fp8 needs (`TransformerConfig.__post_init__`, `validate_args`, `check_recipe_support` of Transformer Engine).

use super::rule::FixValue::{Default, Name, Number, Off, On};
use super::rule::rules;
use crate::config::choices::{Fp8Recipe, OffloadModule, TokenDispatcher, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::gpus::GpuGeneration;
use crate::config::problem::Problem;

rules! { |d, a|
    error "fp8" if a.fp8_param_gather && a.fp8_format.is_none() => [fp8_param_gather, fp8_format],
        "fp8_param_gather needs fp8_format", [fp8_param_gather = Off];
    error "fp8" if a.fp8_param_gather && !a.use_distributed_optimizer => [fp8_param_gather, use_distributed_optimizer],
        "fp8_param_gather needs use_distributed_optimizer", [use_distributed_optimizer = On];
    error "fp8" if a.fp8_param_gather && a.optimizer_cpu_offload && a.fp8_format.is_some() && !delayed(d)
        => [fp8_param_gather, optimizer_cpu_offload, fp8_recipe],
        "fp8_param_gather with optimizer_cpu_offload needs fp8_recipe delayed",
        [fp8_param_gather = Off, fp8_recipe = Name("delayed")];
    error "fp8" if delayed(d) && a.first_last_layers_bf16 => [first_last_layers_bf16, fp8_recipe],
        "first_last_layers_bf16 does not work with fp8_recipe delayed", [fp8_recipe = Name("tensorwise")];
    error "fp8" by(|d| bf16_layers_of_a_stage(d, F::num_layers_at_start_in_bf16, d.args.num_layers_at_start_in_bf16));
    error "fp8" by(|d| bf16_layers_of_a_stage(d, F::num_layers_at_end_in_bf16, d.args.num_layers_at_end_in_bf16));
    error "fp8" if delayed(d) && d.offloads(OffloadModule::ExpertFc1) => [offload_modules, fp8_recipe],
        "offload module expert_fc1 does not work with fp8_recipe delayed", [fp8_recipe = Name("tensorwise")];
    error "fp8"
        let generation = without(d, GpuGeneration::computes_in_fp8)?,
        if a.fp8_format.is_some() => [fp8_format, gpu, gpu_generation],
        format!("fp8_format needs a GPU that computes in fp8; {} does not", generation.label()), [fp8_format = Default];
    error "fp8"
        let generation = without(d, GpuGeneration::computes_in_mxfp8)?,
        let blockwise = generation.computes_in_blockwise_fp8(),
        if a.fp8_format.is_some() && a.fp8_recipe == Fp8Recipe::Mxfp8 && generation.computes_in_fp8()
        => [fp8_recipe, gpu, gpu_generation],
        "fp8_recipe mxfp8 needs a Blackwell GPU",
        [fp8_recipe = Name(if blockwise { "blockwise" } else { "tensorwise" })];
    error "fp8"
        let generation = without(d, GpuGeneration::computes_in_blockwise_fp8)?,
        if a.fp8_format.is_some() && a.fp8_recipe == Fp8Recipe::Blockwise && generation.computes_in_fp8()
        => [fp8_recipe, gpu, gpu_generation],
        format!("fp8_recipe blockwise needs a Hopper or Blackwell GPU, not {}", generation.label()),
        [fp8_recipe = Name("tensorwise")];
    error "fp8" if a.moe_router_padding_for_quantization && a.fp8_format.is_none() && a.fp4_format.is_none()
        => [moe_router_padding_for_quantization, fp8_format],
        "moe_router_padding_for_quantization needs fp8_format", [moe_router_padding_for_quantization = Off];
    error "fp8"
        if a.moe_router_padding_for_quantization && a.moe_token_dispatcher_type == TokenDispatcher::AllGather
        => [moe_router_padding_for_quantization, moe_token_dispatcher_type],
        "moe_router_padding_for_quantization does not work with the allgather dispatcher",
        [moe_token_dispatcher_type = Name("alltoall")];
    error "fp8" if a.activation_func_fp8_input_store && !a.swiglu => [activation_func_fp8_input_store, swiglu],
        "activation_func_fp8_input_store needs swiglu", [activation_func_fp8_input_store = Off];
    warning "fp8" if a.fp8_format.is_some() && a.transformer_impl == TransformerImpl::Local
        => [fp8_format, transformer_impl],
        "fp8_format changes nothing with transformer_impl local: only Transformer Engine computes in fp8",
        [fp8_format = Default];

    error "fp4" if a.fp4_format.is_some() && a.fp8_format.is_some() => [fp4_format, fp8_format],
        "fp4_format and fp8_format exclude each other", [fp8_format = Default, fp4_format = Default];
    error "fp4" if a.fp4_param_gather && a.fp4_format.is_none() => [fp4_param_gather, fp4_format],
        "fp4_param_gather needs fp4_format", [fp4_param_gather = Off];
    error "fp4"
        let generation = without(d, GpuGeneration::computes_in_mxfp8)?,
        if a.fp4_format.is_some() => [fp4_format, gpu, gpu_generation],
        format!("fp4_format needs a Blackwell GPU, not {}", generation.label()), [fp4_format = Default];
}

/// Whether the job computes in fp8 with the delayed recipe.
fn delayed(d: &Draft<'_>) -> bool {
    d.args.fp8_format.is_some() && d.args.fp8_recipe == Fp8Recipe::Delayed
}

/// The known generation of the GPU, where it cannot do something.
fn without(d: &Draft<'_>, can: fn(GpuGeneration) -> bool) -> Option<GpuGeneration> {
    d.gpu_generation().filter(|generation| !can(*generation))
}

fn bf16_layers_of_a_stage(d: &Draft<'_>, field: F, layers: u64) -> Option<Problem> {
    let most = d.args.num_layers / d.pp;
    let quantized = d.args.fp8_format.is_some() || d.args.fp4_format.is_some();
    let in_bf16 = quantized && d.args.first_last_layers_bf16;
    (in_bf16 && layers > most).then(|| {
        let message = format!(
            "{} {layers} must be at most num_layers / PP = {most}",
            field.field().name
        );
        let fields = [field, F::num_layers, F::pipeline_model_parallel_size];
        Problem::error(&fields, message).fix(field, Number(most))
    })
}
