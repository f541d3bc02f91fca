//! What hiding communication and deferring work exclude (`TransformerConfig.__post_init__`,
//! `ModelParallelConfig.__post_init__`).

use super::rule::FixValue::{Default, Off, On};
use super::rule::rules;
use crate::config::choices::{CudaGraphModule, RecomputeModule, TokenDispatcher, TransformerImpl};
use crate::config::draft::Draft;
use crate::parallel::stages::PipelineLayout;

rules! { |d, a|
    error "expert_overlap" if a.overlap_moe_expert_parallel_comm && d.ep == 1
        => [overlap_moe_expert_parallel_comm, expert_model_parallel_size],
        "overlap_moe_expert_parallel_comm needs expert parallelism", [overlap_moe_expert_parallel_comm = Off];
    error "expert_overlap"
        if a.overlap_moe_expert_parallel_comm && a.moe_token_dispatcher_type == TokenDispatcher::AllGather
        => [overlap_moe_expert_parallel_comm, moe_token_dispatcher_type],
        "overlap_moe_expert_parallel_comm needs the alltoall or the flex dispatcher",
        [overlap_moe_expert_parallel_comm = Off];
    // Modules and methods count also where nothing is recomputed.
    error "expert_overlap"
        if a.overlap_moe_expert_parallel_comm && a.recompute_modules.contains(RecomputeModule::Moe)
        => [overlap_moe_expert_parallel_comm, recompute_modules],
        "overlap_moe_expert_parallel_comm excludes recompute module moe", [overlap_moe_expert_parallel_comm = Off];
    error "expert_overlap" if a.overlap_moe_expert_parallel_comm && !d.half_precision()
        => [overlap_moe_expert_parallel_comm, bf16],
        "overlap_moe_expert_parallel_comm needs bf16 or fp16", [overlap_moe_expert_parallel_comm = Off];
    error "expert_overlap" if a.overlap_moe_expert_parallel_comm && a.moe_shared_expert_overlap
        => [overlap_moe_expert_parallel_comm, moe_shared_expert_overlap],
        "overlap_moe_expert_parallel_comm excludes moe_shared_expert_overlap", [overlap_moe_expert_parallel_comm = Off];
    error "expert_overlap" if a.overlap_moe_expert_parallel_comm && d.mtp_num_layers > 1
        => [overlap_moe_expert_parallel_comm, mtp_num_layers],
        "overlap_moe_expert_parallel_comm takes one MTP depth at most", [overlap_moe_expert_parallel_comm = Off];
    error "expert_overlap" if a.overlap_moe_expert_parallel_comm && d.pp > 1 && !d.asks_for_chunks()
        => [overlap_moe_expert_parallel_comm, virtual_pipeline_model_parallel_size],
        "overlap_moe_expert_parallel_comm with pipeline stages needs virtual ones",
        [overlap_moe_expert_parallel_comm = Off];
    error "expert_overlap"
        if a.overlap_moe_expert_parallel_comm && a.recompute_num_layers.is_some() && a.recompute_granularity.is_none()
        => [overlap_moe_expert_parallel_comm, recompute_num_layers],
        "overlap_moe_expert_parallel_comm excludes recompute_num_layers", [recompute_num_layers = Default];
    error "expert_overlap"
        if a.overlap_moe_expert_parallel_comm && a.recompute_method.is_some() && a.recompute_granularity.is_none()
        => [overlap_moe_expert_parallel_comm, recompute_method],
        "overlap_moe_expert_parallel_comm excludes recompute_method", [recompute_method = Default];
    // Later versions than the pinned one run it.
    warning "expert_overlap" if a.overlap_moe_expert_parallel_comm && d.full_recompute()
        => [overlap_moe_expert_parallel_comm, recompute_granularity],
        "overlap_moe_expert_parallel_comm together with full recompute is refused by released versions of Megatron",
        [overlap_moe_expert_parallel_comm = Off];

    // `ModelParallelConfig.__post_init__`: only the interleaved schedule overlaps communication between stages.
    error "overlap_warmup_flush" if a.overlap_p2p_communication_warmup_flush && !several_chunks(d)
        => [overlap_p2p_communication_warmup_flush, virtual_pipeline_model_parallel_size],
        "overlap_p2p_communication_warmup_flush needs virtual pipeline stages", [overlap_p2p_communication_warmup_flush = Off];

    error "delayed_gradient" if a.delay_wgrad_compute && !a.overlap_moe_expert_parallel_comm
        => [delay_wgrad_compute, overlap_moe_expert_parallel_comm],
        "delay_wgrad_compute needs overlap_moe_expert_parallel_comm",
        [delay_wgrad_compute = Off, overlap_moe_expert_parallel_comm = On];
    // `validate_args`.
    error "delayed_gradient" if a.delay_wgrad_compute && a.transformer_impl == TransformerImpl::Local
        => [delay_wgrad_compute, transformer_impl],
        "delay_wgrad_compute needs transformer_impl transformer_engine", [delay_wgrad_compute = Off];
    error "delayed_gradient"
        if a.delay_wgrad_compute && captures_weight_gradients(d) && !a.gradient_accumulation_fusion
        => [delay_wgrad_compute, gradient_accumulation_fusion],
        "delay_wgrad_compute in CUDA graphs needs gradient_accumulation_fusion",
        [delay_wgrad_compute = Off, gradient_accumulation_fusion = On];
    error "delayed_gradient"
        if a.delay_wgrad_compute && captures_weight_gradients(d) && (a.add_bias_linear || a.add_qkv_bias)
            && a.cuda_graph_modules.contains(CudaGraphModule::Attn)
        => [delay_wgrad_compute, cuda_graph_modules],
        "delay_wgrad_compute in CUDA graphs of attention excludes add_bias_linear and add_qkv_bias",
        [delay_wgrad_compute = Off];

    error "deferred_gradient" if a.defer_embedding_wgrad_compute && d.pp == 1
        => [defer_embedding_wgrad_compute, pipeline_model_parallel_size],
        "defer_embedding_wgrad_compute needs pipeline stages", [defer_embedding_wgrad_compute = Off];
    error "deferred_gradient" if a.defer_embedding_wgrad_compute && !a.gradient_accumulation_fusion
        => [defer_embedding_wgrad_compute, gradient_accumulation_fusion],
        "defer_embedding_wgrad_compute needs gradient_accumulation_fusion", [defer_embedding_wgrad_compute = Off];
}

/// Whether a pipeline rank has several chunks. A layout with one stage for each rank makes one.
fn several_chunks(d: &Draft<'_>) -> bool {
    let layout = d.args.pipeline_model_parallel_layout.as_deref();
    let stages = layout.and_then(|text| text.parse::<PipelineLayout>().ok());
    let single = stages.is_some_and(|layout| u64::from(layout.num_stages()) == d.pp);
    d.has_chunks() && (d.interleaved() || !single)
}

/// Whether graphs of layers capture weight gradients that `validate_args` looks at.
fn captures_weight_gradients(d: &Draft<'_>) -> bool {
    let (a, has) = (&d.args, |module| d.args.cuda_graph_modules.contains(module));
    let shared = a.moe_shared_expert_intermediate_size.is_some() && !a.moe_shared_expert_overlap;
    a.overlap_grad_reduce && (has(CudaGraphModule::Attn) || has(CudaGraphModule::MoeRouter) && shared)
}
