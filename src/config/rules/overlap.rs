//! What hiding communication and deferring work exclude (`TransformerConfig.__post_init__`,
//! `ModelParallelConfig.__post_init__`).

use super::rule::FixValue::{Off, On};
use super::rule::{Rule, Violation, rule, warning};
use crate::config::choices::{CudaGraphModule, RecomputeModule, TokenDispatcher, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    rule("expert_overlap", needs_experts),
    rule("expert_overlap", needs_exchange),
    rule("expert_overlap", excludes_moe_recompute),
    rule("expert_overlap", needs_half_precision),
    rule("expert_overlap", excludes_shared_overlap),
    rule("expert_overlap", takes_one_mtp_depth),
    rule("expert_overlap", needs_virtual_stages),
    warning("expert_overlap", with_full_recompute),
    rule("delayed_gradient", delay_needs_overlap),
    rule("delayed_gradient", delay_needs_transformer_engine),
    rule("delayed_gradient", delay_in_graphs_needs_fusion),
    rule("delayed_gradient", delay_in_graphs_excludes_biases),
    rule("deferred_gradient", deferral_needs_stages),
    rule("deferred_gradient", deferral_needs_fusion),
];

const OVERLAP: F = F::overlap_moe_expert_parallel_comm;

/// The violation of a condition on `overlap_moe_expert_parallel_comm`, where that is on and the condition `broken`.
fn expert_overlap(d: &Draft<'_>, broken: bool, other: F, message: &str) -> Option<Violation> {
    (d.args.overlap_moe_expert_parallel_comm && broken)
        .then(|| Violation::error(&[OVERLAP, other], message).fix(OVERLAP, Off))
}

fn needs_experts(d: &Draft<'_>) -> Option<Violation> {
    let message = "overlap_moe_expert_parallel_comm needs expert parallelism";
    expert_overlap(d, d.ep == 1, F::expert_model_parallel_size, message)
}

fn needs_exchange(d: &Draft<'_>) -> Option<Violation> {
    let gathers = d.args.moe_token_dispatcher_type == TokenDispatcher::AllGather;
    let message = "overlap_moe_expert_parallel_comm needs the alltoall or the flex dispatcher";
    expert_overlap(d, gathers, F::moe_token_dispatcher_type, message)
}

fn excludes_moe_recompute(d: &Draft<'_>) -> Option<Violation> {
    let recomputed = d.recomputes(RecomputeModule::Moe);
    let message = "overlap_moe_expert_parallel_comm excludes recompute module moe";
    expert_overlap(d, recomputed, F::recompute_modules, message)
}

fn needs_half_precision(d: &Draft<'_>) -> Option<Violation> {
    let message = "overlap_moe_expert_parallel_comm needs bf16 or fp16";
    expert_overlap(d, !d.half_precision(), F::bf16, message)
}

fn excludes_shared_overlap(d: &Draft<'_>) -> Option<Violation> {
    let overlaps = d.args.moe_shared_expert_overlap;
    let message = "overlap_moe_expert_parallel_comm excludes moe_shared_expert_overlap";
    expert_overlap(d, overlaps, F::moe_shared_expert_overlap, message)
}

fn takes_one_mtp_depth(d: &Draft<'_>) -> Option<Violation> {
    let message = "overlap_moe_expert_parallel_comm takes one MTP depth at most";
    expert_overlap(d, d.mtp_num_layers > 1, F::mtp_num_layers, message)
}

fn needs_virtual_stages(d: &Draft<'_>) -> Option<Violation> {
    let chunks = d.interleaved()
        || d.args.virtual_pipeline_model_parallel_size.is_some()
        || d.args.pipeline_model_parallel_layout.is_some();
    let field = F::virtual_pipeline_model_parallel_size;
    let message = "overlap_moe_expert_parallel_comm with pipeline stages needs virtual ones";
    expert_overlap(d, d.pp > 1 && !chunks, field, message)
}

/// Later versions than the pinned one run it.
fn with_full_recompute(d: &Draft<'_>) -> Option<Violation> {
    (d.args.overlap_moe_expert_parallel_comm && d.full_recompute()).then(|| {
        Violation::warning(
            &[OVERLAP, F::recompute_granularity],
            "overlap_moe_expert_parallel_comm together with full recompute is refused by released versions of Megatron",
        )
        .fix(OVERLAP, Off)
    })
}

/// The violation of a condition on `delay_wgrad_compute`, where that is on and the condition `broken`.
fn delay(d: &Draft<'_>, broken: bool, other: F, message: &str) -> Option<Violation> {
    let field = F::delay_wgrad_compute;
    (d.args.delay_wgrad_compute && broken).then(|| Violation::error(&[field, other], message).fix(field, Off))
}

fn delay_needs_overlap(d: &Draft<'_>) -> Option<Violation> {
    let overlaps = d.args.overlap_moe_expert_parallel_comm;
    let message = "delay_wgrad_compute needs overlap_moe_expert_parallel_comm";
    Some(delay(d, !overlaps, OVERLAP, message)?.fix(OVERLAP, On))
}

/// `validate_args`.
fn delay_needs_transformer_engine(d: &Draft<'_>) -> Option<Violation> {
    let local = d.args.transformer_impl == TransformerImpl::Local;
    let message = "delay_wgrad_compute needs transformer_impl transformer_engine";
    delay(d, local, F::transformer_impl, message)
}

/// Whether graphs of layers capture weight gradients that `validate_args` looks at.
fn graphs_weight_gradients(d: &Draft<'_>) -> bool {
    let (a, has) = (&d.args, |module| d.args.cuda_graph_modules.contains(module));
    let shared = a.moe_shared_expert_intermediate_size.is_some() && !a.moe_shared_expert_overlap;
    a.overlap_grad_reduce && (has(CudaGraphModule::Attn) || has(CudaGraphModule::MoeRouter) && shared)
}

fn delay_in_graphs_needs_fusion(d: &Draft<'_>) -> Option<Violation> {
    let fused = d.args.gradient_accumulation_fusion;
    let field = F::gradient_accumulation_fusion;
    let message = "delay_wgrad_compute in CUDA graphs needs gradient_accumulation_fusion";
    Some(delay(d, graphs_weight_gradients(d) && !fused, field, message)?.fix(field, On))
}

fn delay_in_graphs_excludes_biases(d: &Draft<'_>) -> Option<Violation> {
    let attention = d.args.cuda_graph_modules.contains(CudaGraphModule::Attn);
    let biased = d.args.add_bias_linear || d.args.add_qkv_bias;
    let message = "delay_wgrad_compute in CUDA graphs of attention excludes add_bias_linear and add_qkv_bias";
    let broken = graphs_weight_gradients(d) && attention && biased;
    delay(d, broken, F::cuda_graph_modules, message)
}

/// The violation of a condition on `defer_embedding_wgrad_compute`, where that is on and the condition `broken`.
fn deferral(d: &Draft<'_>, broken: bool, other: F, message: &str) -> Option<Violation> {
    let field = F::defer_embedding_wgrad_compute;
    (d.args.defer_embedding_wgrad_compute && broken).then(|| Violation::error(&[field, other], message).fix(field, Off))
}

fn deferral_needs_stages(d: &Draft<'_>) -> Option<Violation> {
    let message = "defer_embedding_wgrad_compute needs pipeline stages";
    deferral(d, d.pp == 1, F::pipeline_model_parallel_size, message)
}

fn deferral_needs_fusion(d: &Draft<'_>) -> Option<Violation> {
    let fused = d.args.gradient_accumulation_fusion;
    let message = "defer_embedding_wgrad_compute needs gradient_accumulation_fusion";
    deferral(d, !fused, F::gradient_accumulation_fusion, message)
}
