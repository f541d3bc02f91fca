//! What Megatron FSDP excludes (`validate_args`, `DistributedDataParallelConfig.__post_init__`, and what
//! `FullyShardedDataParallel` asserts).

use super::rule::FixValue::{Default, Name, Number, Off};
use super::rule::rules;
use crate::config::choices::{
    CudaGraphImpl, Fp8Recipe, FsdpDtype, OptimizerKind, OuterShardingStrategy, ShardingStrategy,
};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;

rules! { |d, a|
    // `_get_dp_tp_mesh` arranges all ranks of the job by data, expert and tensor parallelism alone.
    error "fsdp_pipeline" if a.use_megatron_fsdp && d.pp > 1 => [use_megatron_fsdp, pipeline_model_parallel_size],
        "use_megatron_fsdp does not support pipeline stages: its ranks are DP · TP",
        [pipeline_model_parallel_size = Number(1), use_megatron_fsdp = Off];
    error "fsdp_optimizer"
        if a.use_megatron_fsdp && !matches!(a.optimizer, OptimizerKind::Adam | OptimizerKind::Sgd)
        => [use_megatron_fsdp, optimizer],
        "use_megatron_fsdp supports only optimizer adam", [optimizer = Default, use_megatron_fsdp = Off];
    error "fsdp_outer_sharding"
        if a.use_megatron_fsdp && shards_outer(d) && a.num_distributed_optimizer_instances > 1
            && a.data_parallel_sharding_strategy != ShardingStrategy::OptimGradsParams
        => [use_megatron_fsdp, outer_dp_sharding_strategy],
        "outer_dp_sharding_strategy optim needs data_parallel_sharding_strategy optim_grads_params",
        [data_parallel_sharding_strategy = Name("optim_grads_params"), outer_dp_sharding_strategy = Default];
    warning "fsdp_outer_sharding"
        if a.use_megatron_fsdp && shards_outer(d) && a.num_distributed_optimizer_instances == 1
        => [outer_dp_sharding_strategy, num_distributed_optimizer_instances],
        "outer_dp_sharding_strategy has no effect without several optimizer instances",
        [outer_dp_sharding_strategy = Default];
    error "fsdp_meta_device"
        if a.use_megatron_fsdp && a.init_model_with_meta_device
            && a.data_parallel_sharding_strategy == ShardingStrategy::NoShard
        => [use_megatron_fsdp, init_model_with_meta_device],
        "init_model_with_meta_device is not supported where data_parallel_sharding_strategy is no_shard",
        [init_model_with_meta_device = Off];
    error "fsdp_expert_overlap" by(overlap_excludes_double_buffer);
    error "fsdp_expert_overlap"
        if a.use_megatron_fsdp && a.overlap_moe_expert_parallel_comm
            && matches!(a.cuda_graph_impl, CudaGraphImpl::Local | CudaGraphImpl::TransformerEngine)
        => [use_megatron_fsdp, cuda_graph_impl],
        "overlap_moe_expert_parallel_comm with use_megatron_fsdp excludes CUDA graphs of layers",
        [cuda_graph_impl = Default];
    // `ParamAndGradBuffer._init_distributed_params`.
    error "fsdp_mxfp8"
        if a.use_megatron_fsdp && a.fp8_format.is_some() && a.fp8_param_gather && a.fp8_recipe == Fp8Recipe::Mxfp8
            && a.data_parallel_sharding_strategy != ShardingStrategy::NoShard
            && a.megatron_fsdp_main_params_dtype == FsdpDtype::Auto
        => [use_megatron_fsdp, megatron_fsdp_main_params_dtype],
        "parameters in mxfp8 need main parameters: megatron_fsdp_main_params_dtype cannot be auto",
        [megatron_fsdp_main_params_dtype = Default];
    warning "fsdp_user_buffers" if a.use_megatron_fsdp && a.use_nccl_ub && a.expandable_segments
        => [use_nccl_ub, expandable_segments],
        "use_nccl_ub is refused with expandable segments before PyTorch 2.11", [expandable_segments = Off];
}

fn shards_outer(d: &Draft<'_>) -> bool {
    d.args.outer_dp_sharding_strategy != OuterShardingStrategy::NoShard
}

fn overlap_excludes_double_buffer(d: &Draft<'_>) -> Option<Problem> {
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
        Problem::error(&[asked, overlap], message)
            .fix(asked, Off)
            .fix(overlap, Off)
    })
}
