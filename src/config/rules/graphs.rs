//! What CUDA graphs may capture (`TransformerConfig.__post_init__`).

use super::rule::FixValue::{Default, Name, Number};
use super::rule::rules;
use crate::config::choices::{
    CudaGraphImpl as Impl, CudaGraphModule as M, OffloadModule, RecomputeModule, TokenDispatcher,
};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::layers::MlpKind;
use crate::config::problem::Problem;

rules! { |d, a|
    error "graphs_of_iterations" if a.cuda_graph_impl == Impl::FullIteration && !a.cuda_graph_modules.is_empty()
        => [cuda_graph_modules, cuda_graph_impl],
        "cuda_graph_impl full_iteration takes no cuda_graph_modules", [cuda_graph_modules = Default];
    error "cuda_graph_modules" by(cuda_graph_modules);
    error "graphs_exclude" if layered(d) && a.cpu_offloading_num_layers > 0
        => [cuda_graph_impl, cpu_offloading_num_layers],
        "CUDA graphs of layers exclude cpu_offloading_num_layers",
        [cpu_offloading_num_layers = Number(0), cuda_graph_impl = Default];
    error "graphs_exclude" if layered(d) && d.full_recompute() => [cuda_graph_impl, recompute_granularity],
        "recompute_granularity full works with CUDA graphs only if cuda_graph_impl is full_iteration",
        [cuda_graph_impl = Name("full_iteration"), cuda_graph_impl = Default];
    error "graphs_exclude" by(exclude_recompute_modules);
    error "graphs_exclude" by(exclude_offload_modules);
    warning "graphs_recompute" by(checkpoints_in_graphs);
}

/// Whether layers are captured one by one.
fn layered(d: &Draft<'_>) -> bool {
    matches!(d.args.cuda_graph_impl, Impl::Local | Impl::TransformerEngine)
}

/// Whether graphs of layers capture `module` by name.
fn captures(d: &Draft<'_>, module: M) -> bool {
    layered(d) && d.args.cuda_graph_modules.contains(module)
}

/// Whether graphs capture `module`, by name or as a part of whole layers or iterations.
fn captures_within(d: &Draft<'_>, module: M) -> bool {
    let whole = d.args.cuda_graph_impl != Impl::None && d.args.cuda_graph_modules.is_empty();
    whole || captures(d, module)
}

fn cuda_graph_modules(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let te = a.cuda_graph_impl == Impl::TransformerEngine;
    let has = |module| captures(d, module);
    let (moe, router, preprocess) = (has(M::Moe), has(M::MoeRouter), has(M::MoePreprocess));
    let every_layer = !d.layers.has_mlp(MlpKind::Dense);
    let capacity = a.moe_expert_capacity_factor.is_some();
    let pads = capacity && a.moe_pad_expert_input_to_capacity;
    let alltoall = a.moe_token_dispatcher_type == TokenDispatcher::AllToAll;
    let experts = a.num_experts.is_some_and(|n| n > 1);
    let local = a.cuda_graph_impl == Impl::Local;
    let captures_router = router || local && preprocess;
    // `TransformerLayer.create_mcore_cudagraph_manager`: a chosen attention takes the whole layer before its MLP is
    // asked for.
    let whole = local && has(M::Mlp) && !has(M::Attn) && a.hybrid_layer_pattern.is_none();
    let why = if moe && captures_router {
        "moe excludes moe_router"
    } else if te && preprocess && !router {
        "moe_preprocess needs moe_router"
    } else if !experts && (moe || captures_router) {
        "moe and moe_router need num_experts"
    } else if experts && every_layer && has(M::Mlp) {
        "mlp needs dense layers, and every layer is a MoE layer"
    } else if experts && whole {
        "mlp with cuda_graph_impl local takes models without MoE layers, or attn beside it"
    } else if experts && moe && !pads {
        "moe needs moe_expert_capacity_factor and moe_pad_expert_input_to_capacity"
    } else if experts && preprocess && capacity && !pads && alltoall {
        "moe_preprocess with alltoall excludes moe_expert_capacity_factor without padding"
    } else if te && a.overlap_moe_expert_parallel_comm && (moe || has(M::Mlp)) {
        "moe and mlp exclude overlap_moe_expert_parallel_comm"
    } else {
        return None;
    };
    let message = format!("cuda_graph_modules: {why}");
    Some(Problem::error(&[F::cuda_graph_modules], message))
}

fn exclude_recompute_modules(d: &Draft<'_>) -> Option<Problem> {
    let te = d.args.cuda_graph_impl == Impl::TransformerEngine;
    let both = |captured, module| captures_within(d, captured) && d.recomputes(module);
    let moe = RecomputeModule::Moe;
    let why = if te && captures(d, M::MoeRouter) && d.recomputes(moe) {
        "moe excludes moe_router, which is a part of it"
    } else if d.args.attention_dropout.0 > 0 && both(M::Attn, RecomputeModule::CoreAttn) {
        "core_attn excludes attention_dropout"
    } else if d.args.hidden_dropout.0 > 0 && (both(M::Mlp, RecomputeModule::Mlp) || both(M::Moe, moe)) {
        "mlp and moe exclude hidden_dropout"
    } else {
        return None;
    };
    let message = format!("recompute modules in CUDA graphs: {why}");
    Some(Problem::error(&[F::cuda_graph_impl, F::recompute_modules], message).fix(F::cuda_graph_impl, Default))
}

/// `tensor_parallel.checkpoint` runs a module as it is while a graph is captured. In fp8 Transformer Engine checkpoints
/// all modules but core attention.
fn checkpoints_in_graphs(d: &Draft<'_>) -> Option<Problem> {
    if !layered(d) {
        return None;
    }
    let has = |module| captures_within(d, module);
    let whole_gpt = d.args.cuda_graph_impl == Impl::Local && d.args.hybrid_layer_pattern.is_none();
    let layer = has(M::Attn) || has(M::Mlp);
    let kept = |module, captured| d.recomputes(module) && (captured || whole_gpt && layer);
    let fp8 = d.args.fp8_format.is_some() || d.args.fp4_format.is_some();
    let attention = kept(RecomputeModule::CoreAttn, has(M::Attn));
    let others = kept(RecomputeModule::Mlp, has(M::Mlp))
        || kept(RecomputeModule::SharedExperts, has(M::Moe) || has(M::MoeRouter));
    (attention || !fp8 && others).then(|| {
        let message =
            "within CUDA graphs of layers, recompute modules core_attn, mlp and shared_experts keep what they save";
        Problem::warning(&[F::recompute_modules, F::cuda_graph_impl], message).fix(F::cuda_graph_impl, Default)
    })
}

fn exclude_offload_modules(d: &Draft<'_>) -> Option<Problem> {
    let outside = |module| {
        use OffloadModule::{ExpertFc1, FusedGroupMlp, MoeAct};
        matches!(module, ExpertFc1 | MoeAct | FusedGroupMlp)
    };
    let on = d.args.cuda_graph_impl != Impl::None;
    let local = d.args.cuda_graph_impl == Impl::Local;
    let captured = d.args.cuda_graph_modules.is_empty() || !d.args.offload_modules.iter().all(outside);
    let why = if captures(d, M::Moe) {
        "not with moe among cuda_graph_modules"
    } else if on && d.args.cuda_graph_warmup_steps == 0 {
        "needs cuda_graph_warmup_steps"
    } else if local && captured {
        "local graphs leave only expert_fc1, moe_act and fused_group_mlp, outside of them"
    } else {
        return None;
    };
    d.args.fine_grained_activation_offloading.then(|| {
        let message = format!("fine_grained_activation_offloading with CUDA graphs: {why}");
        Problem::error(&[F::cuda_graph_impl, F::fine_grained_activation_offloading], message)
            .fix(F::cuda_graph_impl, Default)
    })
}
