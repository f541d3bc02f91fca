//! What a command of Megatron-LM must state, though it changes no memory: jobs of other launchers need none of it, and an
//! export adds it.

use super::rule::FixValue::{Number, On};
use super::rule::rules;
use crate::config::choices::{CpCommType, CudaGraphImpl, PositionEmbedding, RouterScore};
use crate::config::draft::Draft;
use crate::config::fields::Args;
use crate::config::launcher_arguments::LauncherArguments;
use crate::value::Value;

rules! { |d, a|
    // `validate_args`.
    warning "micro_batch_left_open" if !d.context.states_micro_batch => [micro_batch_size],
        "Megatron-LM refuses to start without micro_batch_size", [micro_batch_size = Number(1)];
    // `validate_args`, `_check_arg_is_not_none`.
    warning "positions_left_open" if a.max_position_embeddings.is_none() => [max_position_embeddings],
        "Megatron-LM refuses to start without max_position_embeddings", [max_position_embeddings = Number(a.seq_length)];
    // `validate_args`: the check copies a value to the CPU, which a graph of the whole iteration cannot.
    warning "full_iteration_checks_nan"
        if a.cuda_graph_impl == CudaGraphImpl::FullIteration && !given(a).has("no-check-for-nan-in-loss-and-grad")
        => [cuda_graph_impl, launcher_arguments],
        "Megatron-LM refuses cuda_graph_impl full_iteration without --no-check-for-nan-in-loss-and-grad",
        [launcher_arguments = with(a, "--no-check-for-nan-in-loss-and-grad")];
    // `validate_args`.
    warning "hierarchical_sizes"
        let sizes = given(a).values("hierarchical-context-parallel-sizes")?,
        let product = sizes.iter().filter_map(|size| size.parse().ok()).fold(1, u64::saturating_mul),
        if product != d.cp => [launcher_arguments, context_parallel_size],
        format!(
            "Megatron-LM refuses --hierarchical-context-parallel-sizes with the product {product}: it must be \
             context_parallel_size {}",
            d.cp
        ),
        [];
    // `validate_args`.
    warning "hierarchical_sizes_left_open"
        if a.cp_comm_type == CpCommType::A2aP2p && !given(a).has("hierarchical-context-parallel-sizes")
        => [cp_comm_type, launcher_arguments],
        "Megatron-LM refuses cp_comm_type a2a+p2p without --hierarchical-context-parallel-sizes",
        [launcher_arguments = with(a, &format!("--hierarchical-context-parallel-sizes 1 {}", d.cp))];
    // `TransformerConfig.__post_init__`: the softmax over a single chosen expert has no gradient.
    warning "pre_softmax_left_open"
        let balancing = given(a).values("moe-router-load-balancing-type").unwrap_or_default(),
        if a.moe_router_topk == 1
            && a.moe_router_score_function == RouterScore::Softmax
            && balancing != ["sinkhorn"]
            && !given(a).has("moe-router-pre-softmax")
        => [moe_router_topk, launcher_arguments],
        "Megatron-LM refuses moe_router_topk 1 without --moe-router-pre-softmax",
        [launcher_arguments = with(a, "--moe-router-pre-softmax")];
    // `DistributedDataParallelConfig.__post_init__`.
    warning "reused_gradient_buffer"
        if given(a).has("reuse-grad-buf-for-mxfp8-param-ag") && !a.fp8_param_gather
        => [fp8_param_gather, launcher_arguments],
        "Megatron-LM refuses --reuse-grad-buf-for-mxfp8-param-ag without fp8_param_gather", [fp8_param_gather = On];
    // `validate_args`.
    warning "mrope_section_left_open"
        if a.position_embedding_type == PositionEmbedding::Mrope && !given(a).has("mrope-section")
        => [position_embedding_type, launcher_arguments],
        "Megatron-LM refuses position_embedding_type mrope without --mrope-section: how many rotary angles belong to \
         time, height and width",
        [];
    // `validate_args`.
    warning "per_token_loss_left_open"
        if a.hybrid_context_parallel && !given(a).has("calculate-per-token-loss")
        => [hybrid_context_parallel, launcher_arguments],
        "Megatron-LM refuses hybrid_context_parallel without --calculate-per-token-loss",
        [launcher_arguments = with(a, "--calculate-per-token-loss")];
}

/// The arguments that no field has.
fn given(a: &Args) -> LauncherArguments<'_> {
    LauncherArguments::new(a.launcher_arguments.as_deref())
}

/// The same with one more.
fn with(a: &Args, argument: &str) -> Value {
    Value::Text(given(a).with(argument))
}
