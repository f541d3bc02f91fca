//! Settings that Megatron accepts and that are modelled, but not together.

use super::{NotModelled, canonical};
use crate::config::choices::{
    CudaGraphImpl, CudaGraphModule, RecomputeGranularity, RecomputeModule, SoftwareStack, TokenLoss,
};
use crate::config::job::Module;

/// All marks of a job: those that it was given, and those that the settings of its modules make.
pub(crate) fn marks(given: &[NotModelled], modules: &[Module]) -> Vec<NotModelled> {
    let reasons = modules.iter().filter_map(local_graphs);
    let graphs = reasons.map(|reason| NotModelled::new("cuda_graph_impl", reason));
    let offloaded = modules.iter().filter_map(offloaded_states);
    let critics = modules.iter().filter_map(critic);
    let streams = modules.iter().filter_map(hyper_connections);
    let saved = modules.iter().filter_map(modules_to_save);
    let routers = modules.iter().filter_map(router_in_fp32);
    let of_settings = graphs.chain(offloaded).chain(critics).chain(streams);
    let of_settings = of_settings.chain(saved).chain(routers);
    let marks: Vec<_> = given.iter().cloned().chain(of_settings).collect();
    canonical(&marks)
}

/// Optimizer states move between the host and the GPU within what such graphs capture.
fn offloaded_states(m: &Module) -> Option<NotModelled> {
    let within = matches!(
        m.args.cuda_graph_impl,
        CudaGraphImpl::Local | CudaGraphImpl::FullIteration
    );
    let reason = "optimizer states that move between the host and the GPU within CUDA graphs";
    let key = "offload_optimizer_states";
    (m.args.offload_optimizer_states && within).then(|| NotModelled::new(key, reason))
}

/// The critic is counted as a model that is trained in the same way, without FSDP.
fn critic(m: &Module) -> Option<NotModelled> {
    let a = &m.args;
    let is_other = m.is_frozen() || m.mtp_num_layers > 0;
    let is_split = a.use_megatron_fsdp || a.use_torch_fsdp2;
    let reason = "a critic beside adapters, MTP depths or FSDP";
    (a.critic && (is_other || is_split)).then(|| NotModelled::new("critic", reason))
}

/// Whole copies beside adapters are those of ms-swift: of weights that nothing else shares, in bf16 as the model.
fn modules_to_save(m: &Module) -> Option<NotModelled> {
    let a = &m.args;
    if m.adapters().is_none() || a.peft_modules_to_save.is_empty() {
        return None;
    }
    let reason = if !a.untie_embeddings_and_output_weights {
        "copies of an embedding that the output layer shares"
    } else if m.mtp_num_layers > 0 {
        "copies of modules that MTP depths use too"
    } else if a.token_loss == TokenLoss::VerlFused || a.fp8_output_proj {
        "copies of an output layer that other kernels run"
    } else if a.use_megatron_fsdp || a.use_torch_fsdp2 {
        "copies of modules beside FSDP"
    } else {
        return None;
    };
    Some(NotModelled::new("peft_modules_to_save", reason))
}

/// Settings that are not modelled together with hyper-connections: those that do not run the layers one after the
/// other, and FSDP, which would split bf16 parameters beside those of hyper-connections, which stay in fp32.
fn hyper_connections(m: &Module) -> Option<NotModelled> {
    let a = &m.args;
    let of_layers = matches!(
        a.cuda_graph_impl,
        CudaGraphImpl::Local | CudaGraphImpl::TransformerEngine
    );
    let reason = if of_layers {
        "hyper-connections within CUDA graphs of layers"
    } else if a.overlap_moe_expert_parallel_comm {
        "hyper-connections beside overlapped passes of two micro batches"
    } else if a.use_megatron_fsdp || a.use_torch_fsdp2 {
        "parameters of hyper-connections in fp32 beside FSDP"
    } else {
        return None;
    };
    a.enable_mhc_connections
        .then(|| NotModelled::new("enable_mhc_connections", reason))
}

/// FSDP would split the weight of a router in fp32 beside parameters in bf16.
fn router_in_fp32(m: &Module) -> Option<NotModelled> {
    let a = &m.args;
    let is_split = a.use_megatron_fsdp || a.use_torch_fsdp2;
    let reason = "a router's weight in fp32 beside FSDP";
    (a.moe_router_weight_in_fp32 && m.moe.is_some() && is_split)
        .then(|| NotModelled::new("moe_router_weight_in_fp32", reason))
}

/// What of `cuda_graph_impl local` is not modelled together with the other settings of a module.
fn local_graphs(m: &Module) -> Option<&'static str> {
    let a = &m.args;
    if a.cuda_graph_impl != CudaGraphImpl::Local || a.overlap_moe_expert_parallel_comm {
        return None;
    }
    let has = |module| a.cuda_graph_modules.contains(module);
    let router = has(CudaGraphModule::MoeRouter) || has(CudaGraphModule::MoePreprocess);
    let selective = a.recompute_granularity == Some(RecomputeGranularity::Selective);
    let by_te = [
        RecomputeModule::Mlp,
        RecomputeModule::Moe,
        RecomputeModule::SharedExperts,
    ];
    let checkpointed = selective && by_te.into_iter().any(|m| a.recompute_modules.contains(m));
    let torch_only = matches!(
        a.software_stack,
        SoftwareStack::TorchOnly | SoftwareStack::RocmTorchOnly
    );
    if m.hybrid.is_some() && m.moe.is_some() && router {
        Some("local graphs of a router and of what follows its experts, which run between them without graphs")
    } else if a.use_megatron_fsdp || a.use_torch_fsdp2 {
        Some("parameters that are gathered and gradients that are reduced within local graphs")
    } else if a.fine_grained_activation_offloading {
        Some("activations that are offloaded beside local graphs")
    } else if m.is_quantized() && checkpointed {
        Some("modules that Transformer Engine's checkpoint recomputes within local graphs")
    } else if torch_only {
        Some("without Transformer Engine the inputs and outputs of local graphs stay in their pool")
    } else {
        None
    }
}
