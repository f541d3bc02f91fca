//! Precision and optimizer (`OptimizerConfig.__post_init__`, `validate_args`).

use super::rule::{ERROR, Rule, To, WARNING};
use crate::config::choices::{MainGradsDtype, MainParamsDtype, MomentDtype, OptimizerKind as Kind};
use crate::config::fields::FieldId as F;
use crate::config::problem::near_divisors;
use crate::units::multiply;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "one_precision",
        fields: &[F::bf16, F::fp16],
        broken: |d, _| d.a.bf16 && d.a.fp16,
        words: "bf16 and fp16 exclude each other",
        fixes: &[(F::fp16, To::Off)],
        ..ERROR
    },
    Rule {
        name: "fp32_residual",
        fields: &[F::fp32_residual_connection, F::bf16],
        broken: |d, _| d.a.fp32_residual_connection && !d.a.bf16 && !d.a.fp16,
        words: "fp32_residual_connection needs bf16 or fp16: without them all is fp32 anyway",
        fixes: &[(F::fp32_residual_connection, To::Off), (F::bf16, To::On)],
        ..ERROR
    },
    Rule {
        name: "fp32_gradients",
        fields: &[F::main_grads_dtype, F::accumulate_allreduce_grads_in_fp32],
        broken: |d, _| {
            d.a.accumulate_allreduce_grads_in_fp32
                && d.a.bf16
                && d.a.main_grads_dtype == MainGradsDtype::Bf16
        },
        words: "main_grads_dtype must be fp32 with accumulate_allreduce_grads_in_fp32",
        fixes: &[(F::main_grads_dtype, To::Default)],
        ..ERROR
    },
    Rule {
        name: "precision_aware_needs_adam",
        fields: &[F::use_precision_aware_optimizer, F::optimizer],
        broken: |d, _| d.a.use_precision_aware_optimizer && !d.adam(),
        words: "use_precision_aware_optimizer is only supported with optimizer adam",
        fixes: &[(F::optimizer, To::Default)],
        ..ERROR
    },
    Rule {
        name: "precision_aware_needs_distributed",
        fields: &[
            F::use_precision_aware_optimizer,
            F::use_distributed_optimizer,
        ],
        broken: |d, _| d.a.use_precision_aware_optimizer && !d.a.use_distributed_optimizer,
        words: "use_precision_aware_optimizer needs use_distributed_optimizer",
        fixes: &[(F::use_distributed_optimizer, To::On)],
        ..ERROR
    },
    Rule {
        fields: &[F::main_grads_dtype, F::use_precision_aware_optimizer],
        broken: |d, _| {
            !d.a.use_precision_aware_optimizer && d.a.main_grads_dtype != MainGradsDtype::Fp32
        },
        words: "main_grads_dtype can only be fp32 without use_precision_aware_optimizer",
        fixes: &[
            (F::use_precision_aware_optimizer, To::On),
            (F::main_grads_dtype, To::Default),
        ],
        ..DTYPE
    },
    Rule {
        fields: &[F::main_params_dtype, F::use_precision_aware_optimizer],
        broken: |d, _| {
            !d.a.use_precision_aware_optimizer && d.a.main_params_dtype != MainParamsDtype::Fp32
        },
        words: "main_params_dtype can only be fp32 without use_precision_aware_optimizer",
        fixes: &[
            (F::use_precision_aware_optimizer, To::On),
            (F::main_params_dtype, To::Default),
        ],
        ..DTYPE
    },
    Rule {
        fields: &[F::exp_avg_dtype, F::use_precision_aware_optimizer],
        broken: |d, _| !d.a.use_precision_aware_optimizer && d.a.exp_avg_dtype != MomentDtype::Fp32,
        words: "exp_avg_dtype can only be fp32 without use_precision_aware_optimizer",
        fixes: &[
            (F::use_precision_aware_optimizer, To::On),
            (F::exp_avg_dtype, To::Default),
        ],
        ..DTYPE
    },
    Rule {
        fields: &[F::exp_avg_sq_dtype, F::use_precision_aware_optimizer],
        broken: |d, _| {
            !d.a.use_precision_aware_optimizer && d.a.exp_avg_sq_dtype != MomentDtype::Fp32
        },
        words: "exp_avg_sq_dtype can only be fp32 without use_precision_aware_optimizer",
        fixes: &[
            (F::use_precision_aware_optimizer, To::On),
            (F::exp_avg_sq_dtype, To::Default),
        ],
        ..DTYPE
    },
    Rule {
        name: "offload_needs_precision_aware",
        fields: &[F::optimizer_cpu_offload, F::use_precision_aware_optimizer],
        broken: |d, _| !d.a.use_precision_aware_optimizer && d.a.optimizer_cpu_offload,
        words: "Megatron-LM refuses optimizer_cpu_offload without use_precision_aware_optimizer; in Megatron-Bridge the main parameters then stay on the GPU",
        fixes: &[(F::use_precision_aware_optimizer, To::On)],
        ..WARNING
    },
    Rule {
        name: "distributed_sgd",
        fields: &[F::optimizer, F::use_distributed_optimizer],
        broken: |d, _| {
            d.a.optimizer == Kind::Sgd
                && d.a.use_distributed_optimizer
                && !d.a.optimizer_cpu_offload
        },
        words: "use_distributed_optimizer does not support optimizer sgd",
        fixes: &[
            (F::use_distributed_optimizer, To::Off),
            (F::optimizer, To::Default),
        ],
        ..ERROR
    },
    Rule {
        name: "optimizer_instances",
        fields: &[F::num_distributed_optimizer_instances, F::world_size],
        broken: |d, f| {
            let instances = d.a.num_distributed_optimizer_instances;
            let group = multiply(d.dp, d.cp);
            d.a.use_distributed_optimizer
                && !group.is_multiple_of(instances)
                && f.numbers(&[instances, group])
                && f.near(near_divisors(group, instances, 3))
        },
        words: "num_distributed_optimizer_instances {} must divide DP · CP = {}; {} would work",
        fixes: &[(F::num_distributed_optimizer_instances, To::Near)],
        ..ERROR
    },
    Rule {
        name: "optimizer_instances_experts",
        fields: &[
            F::num_distributed_optimizer_instances,
            F::expert_model_parallel_size,
        ],
        broken: |d, f| {
            let instances = d.a.num_distributed_optimizer_instances;
            d.a.use_distributed_optimizer
                && d.a.num_experts.is_some()
                && !d.edp.is_multiple_of(instances)
                && f.numbers(&[instances, d.edp])
        },
        words: "num_distributed_optimizer_instances {} must divide the expert data-parallel size {}",
        fixes: &[(F::num_distributed_optimizer_instances, To::Number(1))],
        ..ERROR
    },
    Rule {
        name: "overlap_param_gather",
        fields: &[
            F::overlap_param_gather,
            F::overlap_grad_reduce,
            F::use_distributed_optimizer,
        ],
        broken: |d, _| {
            let distributed = d.a.use_distributed_optimizer || d.a.optimizer == Kind::DistMuon;
            d.a.overlap_param_gather && !(distributed && d.a.overlap_grad_reduce)
        },
        words: "overlap_param_gather needs use_distributed_optimizer and overlap_grad_reduce",
        fixes: &[
            (F::overlap_grad_reduce, To::On),
            (F::use_distributed_optimizer, To::On),
            (F::overlap_param_gather, To::Off),
        ],
        ..ERROR
    },
];

/// A dtype that only the precision-aware optimizer can change.
const DTYPE: Rule = Rule {
    name: "dtypes_need_precision_aware",
    ..ERROR
};
