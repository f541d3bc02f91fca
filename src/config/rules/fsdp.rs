//! What Megatron FSDP excludes (`validate_args`, `DistributedDataParallelConfig.__post_init__`, and what
//! `FullyShardedDataParallel` asserts).

use super::rule::FixValue::{Default, Name, Number, Off};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::{
    CudaGraphImpl, Fp8Recipe, FsdpDtype, OptimizerKind, OuterShardingStrategy, ShardingStrategy,
};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    rule("fsdp_pipeline", excludes_stages),
    rule("fsdp_optimizer", needs_adam),
    rule("fsdp_outer_sharding", outer_needs_full_sharding),
    warning("fsdp_outer_sharding", outer_needs_instances),
    rule("fsdp_meta_device", meta_needs_sharding),
    rule("fsdp_expert_overlap", overlap_excludes_double_buffer),
    rule("fsdp_expert_overlap", overlap_excludes_layer_graphs),
    rule("fsdp_mxfp8", mxfp8_needs_main_params),
    warning("fsdp_user_buffers", user_buffers_and_segments),
];

const FSDP: F = F::use_megatron_fsdp;

/// The violation of a condition on Megatron FSDP, where that is on and the condition `broken`.
fn fsdp(d: &Draft<'_>, broken: bool, other: F, message: &str) -> Option<Violation> {
    (d.args.use_megatron_fsdp && broken).then(|| Violation::error(&[FSDP, other], message))
}

/// `_get_dp_tp_mesh` arranges all ranks of the job by data, expert and tensor parallelism alone.
fn excludes_stages(d: &Draft<'_>) -> Option<Violation> {
    let field = F::pipeline_model_parallel_size;
    let message = "use_megatron_fsdp does not support pipeline stages: its ranks are DP · TP";
    let violation = fsdp(d, d.pp > 1, field, message)?;
    Some(violation.fix(field, Number(1)).fix(FSDP, Off))
}

fn needs_adam(d: &Draft<'_>) -> Option<Violation> {
    let other = !matches!(d.args.optimizer, OptimizerKind::Adam | OptimizerKind::Sgd);
    let message = "use_megatron_fsdp supports only optimizer adam";
    let violation = fsdp(d, other, F::optimizer, message)?;
    Some(violation.fix(F::optimizer, Default).fix(FSDP, Off))
}

fn outer_needs_full_sharding(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let outer =
        a.outer_dp_sharding_strategy != OuterShardingStrategy::NoShard && a.num_distributed_optimizer_instances > 1;
    let partial = a.data_parallel_sharding_strategy != ShardingStrategy::OptimGradsParams;
    let field = F::outer_dp_sharding_strategy;
    let message = "outer_dp_sharding_strategy optim needs data_parallel_sharding_strategy optim_grads_params";
    let violation = fsdp(d, outer && partial, field, message)?;
    let strategy = F::data_parallel_sharding_strategy;
    let whole = Name(ShardingStrategy::OptimGradsParams.name());
    Some(violation.fix(strategy, whole).fix(field, Default))
}

fn outer_needs_instances(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let alone =
        a.outer_dp_sharding_strategy != OuterShardingStrategy::NoShard && a.num_distributed_optimizer_instances == 1;
    let field = F::outer_dp_sharding_strategy;
    (a.use_megatron_fsdp && alone).then(|| {
        let message = "outer_dp_sharding_strategy has no effect without several optimizer instances";
        Violation::warning(&[field, F::num_distributed_optimizer_instances], message).fix(field, Default)
    })
}

fn meta_needs_sharding(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let whole = a.data_parallel_sharding_strategy == ShardingStrategy::NoShard;
    let field = F::init_model_with_meta_device;
    let message = "init_model_with_meta_device is not supported where data_parallel_sharding_strategy is no_shard";
    let violation = fsdp(d, a.init_model_with_meta_device && whole, field, message)?;
    Some(violation.fix(field, Off))
}

fn overlap_excludes_double_buffer(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let both = a.overlap_moe_expert_parallel_comm && a.fsdp_double_buffer;
    let message = "overlap_moe_expert_parallel_comm excludes the double buffer of Megatron FSDP";
    let asked = if a.use_nccl_ub {
        F::use_nccl_ub
    } else if a.megatron_fsdp_max_pool_double_buffer {
        F::megatron_fsdp_max_pool_double_buffer
    } else {
        F::fsdp_double_buffer
    };
    let overlap = F::overlap_moe_expert_parallel_comm;
    (a.use_megatron_fsdp && both).then(|| {
        Violation::error(&[asked, overlap], message)
            .fix(asked, Off)
            .fix(overlap, Off)
    })
}

fn overlap_excludes_layer_graphs(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let layers = matches!(
        a.cuda_graph_impl,
        CudaGraphImpl::Local | CudaGraphImpl::TransformerEngine
    );
    let message = "overlap_moe_expert_parallel_comm with use_megatron_fsdp excludes CUDA graphs of layers";
    let field = F::cuda_graph_impl;
    let both = a.overlap_moe_expert_parallel_comm && layers;
    let violation = fsdp(d, both, field, message)?;
    Some(violation.fix(field, Default))
}

/// `ParamAndGradBuffer._init_distributed_params`.
fn mxfp8_needs_main_params(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    let columns = a.fp8_format.is_some()
        && a.fp8_param_gather
        && a.fp8_recipe == Fp8Recipe::Mxfp8
        && a.data_parallel_sharding_strategy != ShardingStrategy::NoShard;
    let field = F::megatron_fsdp_main_params_dtype;
    let none = a.megatron_fsdp_main_params_dtype == FsdpDtype::Auto;
    let message = "parameters in mxfp8 need main parameters: megatron_fsdp_main_params_dtype cannot be auto";
    let violation = fsdp(d, columns && none, field, message)?;
    Some(violation.fix(field, Default))
}

fn user_buffers_and_segments(d: &Draft<'_>) -> Option<Violation> {
    let a = &d.args;
    (a.use_megatron_fsdp && a.use_nccl_ub && a.expandable_segments).then(|| {
        let message = "use_nccl_ub is refused with expandable segments before PyTorch 2.11";
        Violation::warning(&[F::use_nccl_ub, F::expandable_segments], message).fix(F::expandable_segments, Off)
    })
}
