//! Precision and optimizer (`OptimizerConfig.__post_init__`, `validate_args`).

use crate::config::check::Draft;
use crate::config::choices::{MainGradsDtype, MainParamsDtype, MomentDtype};
use crate::config::fields::FieldId as F;
use crate::config::problem::{Problem, near_divisors, or_list};
use crate::value::Value;

pub(super) fn precision(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let a = d.a;
    if a.bf16 && a.fp16 {
        d.error(
            problems,
            "one_precision",
            &[F::bf16, F::fp16],
            String::from("bf16 and fp16 exclude each other"),
        )
        .fix(F::fp16, Value::Bool(false));
    }
    if a.accumulate_allreduce_grads_in_fp32 && a.bf16 && a.main_grads_dtype == MainGradsDtype::Bf16
    {
        d.error(
            problems,
            "fp32_gradients",
            &[F::main_grads_dtype, F::accumulate_allreduce_grads_in_fp32],
            String::from("main_grads_dtype must be fp32 with accumulate_allreduce_grads_in_fp32"),
        )
        .fix(F::main_grads_dtype, Value::Null);
    }
}

pub(super) fn dtypes(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let a = d.a;
    if a.use_precision_aware_optimizer {
        if !d.adam() {
            d.error(
                problems,
                "precision_aware_needs_adam",
                &[F::use_precision_aware_optimizer, F::optimizer],
                String::from("use_precision_aware_optimizer is only supported with optimizer adam"),
            )
            .fix(F::optimizer, Value::Null);
        }
        if !a.use_distributed_optimizer {
            d.error(
                problems,
                "precision_aware_needs_distributed",
                &[
                    F::use_precision_aware_optimizer,
                    F::use_distributed_optimizer,
                ],
                String::from("use_precision_aware_optimizer needs use_distributed_optimizer"),
            )
            .fix(F::use_distributed_optimizer, Value::Bool(true));
        }
        return;
    }
    let chosen = [
        (
            a.main_grads_dtype != MainGradsDtype::Fp32,
            F::main_grads_dtype,
        ),
        (
            a.main_params_dtype != MainParamsDtype::Fp32,
            F::main_params_dtype,
        ),
        (a.exp_avg_dtype != MomentDtype::Fp32, F::exp_avg_dtype),
        (a.exp_avg_sq_dtype != MomentDtype::Fp32, F::exp_avg_sq_dtype),
    ];
    for (set, field) in chosen {
        if set {
            d.error(
                problems,
                "dtypes_need_precision_aware",
                &[field, F::use_precision_aware_optimizer],
                format!(
                    "{} can only be fp32 without use_precision_aware_optimizer",
                    field.field().name
                ),
            )
            .fix(F::use_precision_aware_optimizer, Value::Bool(true))
            .fix(field, Value::Null);
        }
    }
    if a.optimizer_cpu_offload {
        d.warning(problems,
                "offload_needs_precision_aware",
                &[F::optimizer_cpu_offload, F::use_precision_aware_optimizer],
                String::from("Megatron-LM refuses optimizer_cpu_offload without use_precision_aware_optimizer; in Megatron-Bridge the main parameters then stay on the GPU"),
            )
            .fix(F::use_precision_aware_optimizer, Value::Bool(true));
    }
}

pub(super) fn distributed(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    let (a, instances) = (d.a, d.a.num_distributed_optimizer_instances);
    let group = d.dp.saturating_mul(d.cp);
    if a.use_distributed_optimizer && !group.is_multiple_of(instances) {
        let near = near_divisors(group, instances, 3);
        d.error(problems,
                "optimizer_instances",
                &[F::num_distributed_optimizer_instances, F::world_size],
                format!(
                    "num_distributed_optimizer_instances {instances} must divide DP · CP = {group}; {} would work",
                    or_list(&near)
                ),
            )
            .fix_each(F::num_distributed_optimizer_instances, &near);
    }
    if a.use_distributed_optimizer && a.num_experts.is_some() && !d.edp.is_multiple_of(instances) {
        d.error(problems,
                "optimizer_instances_experts",
                &[F::num_distributed_optimizer_instances, F::expert_model_parallel_size],
                format!("num_distributed_optimizer_instances {instances} must divide the expert data-parallel size {}", d.edp),
            )
            .fix(F::num_distributed_optimizer_instances, Value::Int(1));
    }
    if a.overlap_param_gather && !(a.use_distributed_optimizer && a.overlap_grad_reduce) {
        d.error(
            problems,
            "overlap_param_gather",
            &[
                F::overlap_param_gather,
                F::overlap_grad_reduce,
                F::use_distributed_optimizer,
            ],
            String::from(
                "overlap_param_gather needs use_distributed_optimizer and overlap_grad_reduce",
            ),
        )
        .fix(F::overlap_grad_reduce, Value::Bool(true))
        .fix(F::overlap_param_gather, Value::Bool(false));
    }
}

pub(super) fn fp8(d: &Draft<'_>, problems: &mut Vec<Problem>) {
    if d.a.fp8_param_gather && d.a.fp8_format.is_none() {
        d.error(
            problems,
            "fp8_parameters",
            &[F::fp8_param_gather, F::fp8_format],
            String::from("fp8_param_gather needs fp8_format"),
        )
        .fix(F::fp8_param_gather, Value::Bool(false));
    }
}
