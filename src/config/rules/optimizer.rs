//! Precision and optimizer (`OptimizerConfig.__post_init__`, `validate_args`).

use super::rule::FixValue::{Default, Number, Off, On};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::{MainGradsDtype, MainParamsDtype, MomentDtype, OptimizerKind};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::nearby::{near_divisors, or_list};

pub(super) const RULES: &[Rule] = &[
    rule("one_precision", one_precision),
    rule("fp32_residual", fp32_residual),
    rule("fp32_gradients", fp32_gradients),
    rule("precision_aware_needs_adam", precision_aware_needs_adam),
    rule("precision_aware_needs_distributed", precision_aware_needs_distributed),
    rule("dtypes_need_precision_aware", |d| {
        let fp32 = d.args.main_grads_dtype == MainGradsDtype::Fp32;
        needs_precision_aware(d, F::main_grads_dtype, fp32)
    }),
    rule("dtypes_need_precision_aware", |d| {
        let fp32 = d.args.main_params_dtype == MainParamsDtype::Fp32;
        needs_precision_aware(d, F::main_params_dtype, fp32)
    }),
    rule("dtypes_need_precision_aware", |d| {
        let fp32 = d.args.exp_avg_dtype == MomentDtype::Fp32;
        needs_precision_aware(d, F::exp_avg_dtype, fp32)
    }),
    rule("dtypes_need_precision_aware", |d| {
        let fp32 = d.args.exp_avg_sq_dtype == MomentDtype::Fp32;
        needs_precision_aware(d, F::exp_avg_sq_dtype, fp32)
    }),
    warning("offload_needs_precision_aware", offload_needs_precision_aware),
    rule("offloaded_states", offloaded_states),
    rule("distributed_sgd", distributed_sgd),
    rule("emerging_optimizer", emerging_optimizer),
    rule("optimizer_instances", instances_need_distributed),
    rule("optimizer_instances", optimizer_instances),
    rule("optimizer_instances_experts", optimizer_instances_experts),
    rule("overlap_param_gather", overlap_param_gather),
];

fn one_precision(d: &Draft<'_>) -> Option<Violation> {
    (d.args.bf16 && d.args.fp16)
        .then(|| Violation::error(&[F::bf16, F::fp16], "bf16 and fp16 exclude each other").fix(F::fp16, Off))
}

fn fp32_residual(d: &Draft<'_>) -> Option<Violation> {
    (d.args.fp32_residual_connection && !d.half_precision()).then(|| {
        Violation::error(
            &[F::fp32_residual_connection, F::bf16],
            "fp32_residual_connection needs bf16 or fp16: without them all is fp32 anyway",
        )
        .fix(F::fp32_residual_connection, Off)
        .fix(F::bf16, On)
    })
}

fn fp32_gradients(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let bf16_gradients = a.bf16 && a.main_grads_dtype == MainGradsDtype::Bf16;
    (a.accumulate_allreduce_grads_in_fp32 && bf16_gradients).then(|| {
        Violation::error(
            &[F::main_grads_dtype, F::accumulate_allreduce_grads_in_fp32],
            "main_grads_dtype must be fp32 with accumulate_allreduce_grads_in_fp32",
        )
        .fix(F::main_grads_dtype, Default)
    })
}

fn precision_aware_needs_adam(d: &Draft<'_>) -> Option<Violation> {
    (d.args.use_precision_aware_optimizer && !d.adam()).then(|| {
        Violation::error(
            &[F::use_precision_aware_optimizer, F::optimizer],
            "use_precision_aware_optimizer is only supported with optimizer adam",
        )
        .fix(F::optimizer, Default)
    })
}

fn precision_aware_needs_distributed(d: &Draft<'_>) -> Option<Violation> {
    (d.args.use_precision_aware_optimizer && !d.args.use_distributed_optimizer).then(|| {
        Violation::error(
            &[F::use_precision_aware_optimizer, F::use_distributed_optimizer],
            "use_precision_aware_optimizer needs use_distributed_optimizer",
        )
        .fix(F::use_distributed_optimizer, On)
    })
}

/// Only the precision-aware optimizer takes other dtypes than fp32.
fn needs_precision_aware(d: &Draft<'_>, dtype: F, is_fp32: bool) -> Option<Violation> {
    (!is_fp32 && !d.args.use_precision_aware_optimizer).then(|| {
        let message = format!(
            "{} can only be fp32 without use_precision_aware_optimizer",
            dtype.field().name
        );
        Violation::error(&[dtype, F::use_precision_aware_optimizer], message)
            .fix(F::use_precision_aware_optimizer, On)
            .fix(dtype, Default)
    })
}

fn offload_needs_precision_aware(d: &Draft<'_>) -> Option<Violation> {
    (d.args.optimizer_cpu_offload && !d.args.use_precision_aware_optimizer).then(|| {
        Violation::warning(
            &[F::optimizer_cpu_offload, F::use_precision_aware_optimizer],
            "Megatron-LM refuses optimizer_cpu_offload without use_precision_aware_optimizer; in Megatron-Bridge the main parameters then stay on the GPU",
        )
        .fix(F::use_precision_aware_optimizer, On)
    })
}

fn offloaded_states(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let field = F::offload_optimizer_states;
    if !a.offload_optimizer_states {
        return None;
    }
    let violation = if !a.use_distributed_optimizer {
        Violation::error(
            &[field, F::use_distributed_optimizer],
            "offload_optimizer_states needs use_distributed_optimizer",
        )
        .fix(F::use_distributed_optimizer, On)
    } else if a.optimizer != OptimizerKind::Adam {
        let message = "offload_optimizer_states needs optimizer adam";
        Violation::error(&[field, F::optimizer], message).fix(F::optimizer, Default)
    } else if a.use_megatron_fsdp {
        let message = "offload_optimizer_states and use_megatron_fsdp exclude each other";
        Violation::error(&[field, F::use_megatron_fsdp], message).fix(F::use_megatron_fsdp, Off)
    } else if a.optimizer_cpu_offload {
        let message = "offload_optimizer_states needs the optimizer on the GPU: it excludes optimizer_cpu_offload";
        Violation::error(&[field, F::optimizer_cpu_offload], message).fix(F::optimizer_cpu_offload, Off)
    } else {
        return None;
    };
    Some(violation.fix(field, Off))
}

fn distributed_sgd(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let sgd = a.optimizer == OptimizerKind::Sgd;
    (sgd && a.use_distributed_optimizer && !a.optimizer_cpu_offload).then(|| {
        Violation::error(
            &[F::optimizer, F::use_distributed_optimizer],
            "use_distributed_optimizer does not support optimizer sgd",
        )
        .fix(F::use_distributed_optimizer, Off)
        .fix(F::optimizer, Default)
    })
}

/// Whether the optimizer is one that Megatron calls emerging: neither Adam nor SGD.
fn is_emerging(d: &Draft<'_>) -> bool {
    !matches!(d.args.optimizer, OptimizerKind::Adam | OptimizerKind::Sgd)
}

/// `_get_megatron_emerging_optimizer`, and the `LayerWiseDistributedOptimizer` that deals whole layers out to
/// data-parallel ranks: it steps fp32 parameters with optimizers that lack Megatron's methods.
fn emerging_optimizer(d: &Draft<'_>) -> Option<Violation> {
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
        Violation::error(&[F::optimizer, field], message).fix(F::optimizer, Default)
    })
}

/// `DistributedDataParallel.__init__`.
fn instances_need_distributed(d: &Draft<'_>) -> Option<Violation> {
    let several = d.args.num_distributed_optimizer_instances > 1;
    (several && !d.args.use_distributed_optimizer && !is_emerging(d)).then(|| {
        let field = F::num_distributed_optimizer_instances;
        let message = "num_distributed_optimizer_instances needs use_distributed_optimizer";
        Violation::error(&[field, F::use_distributed_optimizer], message)
            .fix(F::use_distributed_optimizer, On)
            .fix(field, Number(1))
    })
}

fn optimizer_instances(d: &Draft<'_>) -> Option<Violation> {
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
    Some(Violation::error(&[field, F::world_size], message).fix_each(field, &near))
}

fn optimizer_instances_experts(d: &Draft<'_>) -> Option<Violation> {
    let instances = d.args.num_distributed_optimizer_instances;
    let sharded = d.args.use_distributed_optimizer && d.has_experts();
    (sharded && !d.edp.is_multiple_of(instances)).then(|| {
        let message = format!(
            "num_distributed_optimizer_instances {instances} must divide the expert data-parallel size {}",
            d.edp
        );
        let field = F::num_distributed_optimizer_instances;
        Violation::error(&[field, F::expert_model_parallel_size], message).fix(field, Number(1))
    })
}

fn overlap_param_gather(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let distributed = a.use_distributed_optimizer || a.optimizer == OptimizerKind::DistMuon;
    (a.overlap_param_gather && !(distributed && a.overlap_grad_reduce)).then(|| {
        Violation::error(
            &[
                F::overlap_param_gather,
                F::overlap_grad_reduce,
                F::use_distributed_optimizer,
            ],
            "overlap_param_gather needs use_distributed_optimizer and overlap_grad_reduce",
        )
        .fix(F::overlap_grad_reduce, On)
        .fix(F::use_distributed_optimizer, On)
        .fix(F::overlap_param_gather, Off)
    })
}
