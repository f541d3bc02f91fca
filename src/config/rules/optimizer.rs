//! Precision and optimizer (`OptimizerConfig.__post_init__`, `validate_args`).

use super::rule::FixValue::{Default, Number, Off, On};
use super::rule::rules;
use crate::config::choices::{MainGradsDtype, MainParamsDtype, MomentDtype, OptimizerKind};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::nearby::{near_divisors, or_list};
use crate::config::problem::Problem;

rules! { |d, a|
    error "one_precision" if a.bf16 && a.fp16 => [bf16, fp16], "bf16 and fp16 exclude each other", [fp16 = Off];
    error "fp32_residual" if a.fp32_residual_connection && !d.half_precision() => [fp32_residual_connection, bf16],
        "fp32_residual_connection needs bf16 or fp16: without them all is fp32 anyway",
        [fp32_residual_connection = Off, bf16 = On];
    error "fp32_gradients"
        if a.accumulate_allreduce_grads_in_fp32 && a.bf16 && a.main_grads_dtype == MainGradsDtype::Bf16
        => [main_grads_dtype, accumulate_allreduce_grads_in_fp32],
        "main_grads_dtype must be fp32 with accumulate_allreduce_grads_in_fp32", [main_grads_dtype = Default];
    error "precision_aware_needs_adam" if a.use_precision_aware_optimizer && !d.adam()
        => [use_precision_aware_optimizer, optimizer],
        "use_precision_aware_optimizer is only supported with optimizer adam", [optimizer = Default];
    error "precision_aware_needs_distributed" if a.use_precision_aware_optimizer && !a.use_distributed_optimizer
        => [use_precision_aware_optimizer, use_distributed_optimizer],
        "use_precision_aware_optimizer needs use_distributed_optimizer", [use_distributed_optimizer = On];
    error "dtypes_need_precision_aware"
        if a.main_grads_dtype != MainGradsDtype::Fp32 && !a.use_precision_aware_optimizer
        => [main_grads_dtype, use_precision_aware_optimizer],
        "main_grads_dtype can only be fp32 without use_precision_aware_optimizer",
        [use_precision_aware_optimizer = On, main_grads_dtype = Default];
    error "dtypes_need_precision_aware"
        if a.main_params_dtype != MainParamsDtype::Fp32 && !a.use_precision_aware_optimizer
        => [main_params_dtype, use_precision_aware_optimizer],
        "main_params_dtype can only be fp32 without use_precision_aware_optimizer",
        [use_precision_aware_optimizer = On, main_params_dtype = Default];
    error "dtypes_need_precision_aware" if a.exp_avg_dtype != MomentDtype::Fp32 && !a.use_precision_aware_optimizer
        => [exp_avg_dtype, use_precision_aware_optimizer],
        "exp_avg_dtype can only be fp32 without use_precision_aware_optimizer",
        [use_precision_aware_optimizer = On, exp_avg_dtype = Default];
    error "dtypes_need_precision_aware" if a.exp_avg_sq_dtype != MomentDtype::Fp32 && !a.use_precision_aware_optimizer
        => [exp_avg_sq_dtype, use_precision_aware_optimizer],
        "exp_avg_sq_dtype can only be fp32 without use_precision_aware_optimizer",
        [use_precision_aware_optimizer = On, exp_avg_sq_dtype = Default];
    // `validate_args` asks for the precision-aware optimizer, and that one for Adam.
    warning "offload_needs_precision_aware"
        if a.optimizer_cpu_offload && !a.use_precision_aware_optimizer && !d.adam()
        => [optimizer_cpu_offload, optimizer],
        "Megatron-LM refuses optimizer_cpu_offload with an optimizer other than adam", [optimizer_cpu_offload = Off];
    warning "offload_needs_precision_aware"
        if a.optimizer_cpu_offload && !a.use_precision_aware_optimizer && d.adam()
        => [optimizer_cpu_offload, use_precision_aware_optimizer],
        "Megatron-LM refuses optimizer_cpu_offload without use_precision_aware_optimizer; in Megatron-Bridge the main parameters then stay on the GPU",
        [use_precision_aware_optimizer = On];
    error "offloaded_states" by(offloaded_states);
    error "distributed_sgd"
        if a.optimizer == OptimizerKind::Sgd && a.use_distributed_optimizer && !a.optimizer_cpu_offload
        => [optimizer, use_distributed_optimizer],
        "use_distributed_optimizer does not support optimizer sgd",
        [use_distributed_optimizer = Off, optimizer = Default];
    error "emerging_optimizer" by(emerging_optimizer);
    // `DistributedDataParallel.__init__`.
    error "optimizer_instances"
        if a.num_distributed_optimizer_instances > 1 && !a.use_distributed_optimizer && !is_emerging(d)
        => [num_distributed_optimizer_instances, use_distributed_optimizer],
        "num_distributed_optimizer_instances needs use_distributed_optimizer",
        [use_distributed_optimizer = On, num_distributed_optimizer_instances = Number(1)];
    error "optimizer_instances" by(optimizer_instances);
    error "optimizer_instances_experts"
        let instances = a.num_distributed_optimizer_instances,
        if a.use_distributed_optimizer && d.has_experts() && !d.edp.is_multiple_of(instances)
        => [num_distributed_optimizer_instances, expert_model_parallel_size],
        format!(
            "num_distributed_optimizer_instances {instances} must divide the expert data-parallel size {}",
            d.edp
        ),
        [num_distributed_optimizer_instances = Number(1)];
    // `validate_args`.
    warning "overlap_with_step"
        if a.overlap_param_gather_with_optimizer_step
            && !(a.overlap_param_gather && a.use_distributed_optimizer && d.has_chunks())
        => [overlap_param_gather_with_optimizer_step, overlap_param_gather, virtual_pipeline_model_parallel_size],
        "Megatron-LM refuses overlap_param_gather_with_optimizer_step without overlap_param_gather, use_distributed_optimizer and virtual pipeline stages",
        [overlap_param_gather_with_optimizer_step = Off];
    error "overlap_param_gather"
        let distributed = a.use_distributed_optimizer || a.optimizer == OptimizerKind::DistMuon,
        if a.overlap_param_gather && !(distributed && a.overlap_grad_reduce)
        => [overlap_param_gather, overlap_grad_reduce, use_distributed_optimizer],
        "overlap_param_gather needs use_distributed_optimizer and overlap_grad_reduce",
        [overlap_grad_reduce = On, use_distributed_optimizer = On, overlap_param_gather = Off];
}

fn offloaded_states(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let field = F::offload_optimizer_states;
    if !a.offload_optimizer_states {
        return None;
    }
    let violation = if !a.use_distributed_optimizer {
        Problem::error(
            &[field, F::use_distributed_optimizer],
            "offload_optimizer_states needs use_distributed_optimizer",
        )
        .fix(F::use_distributed_optimizer, On)
    } else if a.optimizer != OptimizerKind::Adam {
        let message = "offload_optimizer_states needs optimizer adam";
        Problem::error(&[field, F::optimizer], message).fix(F::optimizer, Default)
    } else if a.use_megatron_fsdp {
        let message = "offload_optimizer_states and use_megatron_fsdp exclude each other";
        Problem::error(&[field, F::use_megatron_fsdp], message).fix(F::use_megatron_fsdp, Off)
    } else if a.optimizer_cpu_offload {
        let message = "offload_optimizer_states needs the optimizer on the GPU: it excludes optimizer_cpu_offload";
        Problem::error(&[field, F::optimizer_cpu_offload], message).fix(F::optimizer_cpu_offload, Off)
    } else {
        return None;
    };
    Some(violation.fix(field, Off))
}

/// Whether the optimizer is one that Megatron calls emerging: neither Adam nor SGD.
fn is_emerging(d: &Draft<'_>) -> bool {
    !matches!(d.args.optimizer, OptimizerKind::Adam | OptimizerKind::Sgd)
}

/// `_get_megatron_emerging_optimizer`, and the `LayerWiseDistributedOptimizer` that deals whole layers out to
/// data-parallel ranks: it steps fp32 parameters with optimizers that lack Megatron's methods.
fn emerging_optimizer(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let layer_wise = a.use_distributed_optimizer || a.optimizer == OptimizerKind::DistMuon;
    // Biases of experts that have process groups of their own.
    let biases = d.has_experts() && a.add_bias_linear && (d.ep > 1 || d.etp != d.tp);
    let (unsupported, field) = if a.fp16 {
        ("fp16", F::fp16)
    } else if layer_wise && !a.bf16 {
        ("use_distributed_optimizer in fp32", F::bf16)
    } else if a.num_distributed_optimizer_instances > 1 {
        let field = F::num_distributed_optimizer_instances;
        (field.field().name, field)
    } else if layer_wise && biases {
        let with = "use_distributed_optimizer with biases of experts, under EP or an ETP other than TP";
        (with, F::add_bias_linear)
    } else {
        return None;
    };
    is_emerging(d).then(|| {
        let message = format!("this optimizer does not support {unsupported}");
        Problem::error(&[F::optimizer, field], message).fix(F::optimizer, Default)
    })
}

fn optimizer_instances(d: &Draft<'_>) -> Option<Problem> {
    let instances = d.args.num_distributed_optimizer_instances;
    let group = d.dp.saturating_mul(d.cp);
    if !d.args.use_distributed_optimizer || group.is_multiple_of(instances) {
        return None;
    }
    let near = near_divisors(group, instances, 3);
    let message = format!(
        "num_distributed_optimizer_instances {instances} must divide DP · CP = {group}; {} would work",
        or_list(&near)
    );
    let field = F::num_distributed_optimizer_instances;
    Some(Problem::error(&[field, F::world_size], message).fix_each(field, &near))
}
