//! What CUDA graphs may capture (`TransformerConfig.__post_init__`).

use super::rule::{ERROR, Rule, To};
use crate::config::check::Draft;
use crate::config::choices::{
    CudaGraphImpl as Impl, CudaGraphModule as M, OffloadModule, RecomputeModule, TokenDispatcher,
};
use crate::config::fields::FieldId as F;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "graphs_of_iterations",
        fields: &[F::cuda_graph_modules, F::cuda_graph_impl],
        broken: |d, _| {
            d.a.cuda_graph_impl == Impl::FullIteration && !d.a.cuda_graph_modules.is_empty()
        },
        words: "cuda_graph_impl full_iteration takes no cuda_graph_modules",
        fixes: &[(F::cuda_graph_modules, To::Default)],
        ..ERROR
    },
    Rule {
        name: "cuda_graph_modules",
        fields: &[F::cuda_graph_modules],
        broken: |d, f| f.why(wrong_modules(d)),
        words: "cuda_graph_modules: {}",
        ..ERROR
    },
    Rule {
        fields: &[F::cuda_graph_impl, F::cpu_offloading_num_layers],
        broken: |d, _| layered(d) && d.a.cpu_offloading_num_layers > 0,
        words: "CUDA graphs of layers exclude cpu_offloading_num_layers",
        fixes: &[(F::cpu_offloading_num_layers, To::Number(0)), NONE],
        ..EXCLUDE
    },
    Rule {
        fields: &[F::cuda_graph_impl, F::recompute_granularity],
        broken: |d, _| layered(d) && d.full_recompute(),
        words: "recompute_granularity full works with CUDA graphs only if cuda_graph_impl is full_iteration",
        fixes: &[(F::cuda_graph_impl, To::Name("full_iteration")), NONE],
        ..EXCLUDE
    },
    Rule {
        fields: &[F::cuda_graph_impl, F::recompute_modules],
        broken: |d, f| f.why(wrong_recompute(d)),
        words: "recompute modules in CUDA graphs: {}",
        ..EXCLUDE
    },
    Rule {
        fields: &[F::cuda_graph_impl, F::fine_grained_activation_offloading],
        broken: |d, f| d.a.fine_grained_activation_offloading && f.why(wrong_offload(d)),
        words: "fine_grained_activation_offloading with CUDA graphs: {}",
        ..EXCLUDE
    },
];

/// Why these modules cannot be captured, if so.
fn wrong_modules(d: &Draft<'_>) -> &'static str {
    let a = &d.a;
    let te = a.cuda_graph_impl == Impl::TransformerEngine;
    let has = |module| captures(d, module);
    let (moe, router, preprocess) = (has(M::Moe), has(M::MoeRouter), has(M::MoePreprocess));
    let every_layer = a.moe_layer_freq.is_everywhere();
    let capacity = a.moe_expert_capacity_factor.is_some();
    let pads = capacity && a.moe_pad_expert_input_to_capacity;
    let alltoall = a.moe_token_dispatcher_type == TokenDispatcher::AllToAll;
    let experts = a.num_experts.is_some_and(|n| n > 1);
    if moe && router {
        "moe excludes moe_router"
    } else if te && preprocess && !router {
        "moe_preprocess needs moe_router"
    } else if !experts && (moe || router) {
        "moe and moe_router need num_experts"
    } else if experts && every_layer && has(M::Mlp) {
        "mlp needs dense layers, and every layer is a MoE layer"
    } else if experts && moe && !pads {
        "moe needs moe_expert_capacity_factor and moe_pad_expert_input_to_capacity"
    } else if experts && preprocess && capacity && !pads && alltoall {
        "moe_preprocess with alltoall excludes moe_expert_capacity_factor without padding"
    } else if te && a.overlap_moe_expert_parallel_comm && (moe || has(M::Mlp)) {
        "moe and mlp exclude overlap_moe_expert_parallel_comm"
    } else {
        ""
    }
}

/// Why these modules cannot be recomputed, if so.
fn wrong_recompute(d: &Draft<'_>) -> &'static str {
    let te = d.a.cuda_graph_impl == Impl::TransformerEngine;
    let again = |captured, module| whole_or(d, captured) && d.recomputes(module);
    let moe = RecomputeModule::Moe;
    if te && captures(d, M::MoeRouter) && d.recomputes(moe) {
        "moe excludes moe_router, which is a part of it"
    } else if d.a.attention_dropout.0 > 0 && again(M::Attn, RecomputeModule::CoreAttn) {
        "core_attn excludes attention_dropout"
    } else if d.a.hidden_dropout.0 > 0
        && (again(M::Mlp, RecomputeModule::Mlp) || again(M::Moe, moe))
    {
        "mlp and moe exclude hidden_dropout"
    } else {
        ""
    }
}

/// Why modules cannot be offloaded, if so.
fn wrong_offload(d: &Draft<'_>) -> &'static str {
    let own = |module| matches!(module, OffloadModule::ExpertFc1 | OffloadModule::MoeAct);
    let on = d.a.cuda_graph_impl != Impl::None;
    let local = d.a.cuda_graph_impl == Impl::Local;
    if captures(d, M::Moe) {
        "not with moe among cuda_graph_modules"
    } else if on && d.a.cuda_graph_warmup_steps == 0 {
        "needs cuda_graph_warmup_steps"
    } else if local && (d.a.cuda_graph_modules.is_empty() || !d.a.offload_modules.iter().all(own)) {
        "local graphs leave only expert_fc1 and moe_act, outside of them"
    } else {
        ""
    }
}

const NONE: (F, To) = (F::cuda_graph_impl, To::Default);

const EXCLUDE: Rule = Rule {
    name: "graphs_exclude",
    fixes: &[NONE],
    ..ERROR
};

/// Whether layers are captured one by one.
fn layered(d: &Draft<'_>) -> bool {
    matches!(d.a.cuda_graph_impl, Impl::Local | Impl::TransformerEngine)
}

/// Whether layers' graphs capture this by name.
fn captures(d: &Draft<'_>, module: M) -> bool {
    layered(d) && d.a.cuda_graph_modules.contains(module)
}

/// The same, or whole layers or iterations.
fn whole_or(d: &Draft<'_>, module: M) -> bool {
    let whole = d.a.cuda_graph_impl != Impl::None && d.a.cuda_graph_modules.is_empty();
    whole || captures(d, module)
}
