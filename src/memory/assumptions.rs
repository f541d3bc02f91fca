//! The assumptions of a job's estimate, in words.

use super::Estimate;
use crate::config::choices::{AdapterType, CudaGraphImpl, Fp8Recipe};
use crate::config::field::Decimal;
use crate::config::gpus::GpuGeneration;
use crate::config::job::{Config, Module, Precision};
use crate::units::Bytes;

/// The moments of a job that estimates cover. Evaluation runs forward passes without gradients beside the states of training
/// (`evaluate` of Megatron-LM). A checkpoint in Megatron's default format is read into the tensors that are there
/// (`TorchDistLoadShardedStrategy.load` of megatron-core).
pub const COVERED: &str = "Estimates cover building the model, forward and backward passes, the optimizer step, the capture \
     of CUDA graphs and saving a checkpoint. Loading one in Megatron's default format, torch_dist, fills the tensors that are \
     there and needs no more than stays between steps; weights of Hugging Face come one tensor at a time. Evaluation, which \
     keeps nothing for a backward pass, needs no more with the same micro batch. Not covered are writing checkpoints of \
     Hugging Face and generation.";

/// The assumptions in force for a job.
#[must_use]
pub fn assumptions(config: &Config) -> Vec<String> {
    let mut list = vec![
        String::from("Memory that the training loop allocates through PyTorch; not the CUDA context and NCCL."),
        String::from(COVERED),
    ];
    for m in config.modules() {
        let a = m.args();
        if m.precision == Precision::Bf16
            && !a.grad_reduce_in_bf16
            && !a.use_precision_aware_optimizer
            && !a.use_torch_fsdp2
        {
            list.push(String::from("bf16 training accumulates gradients in fp32 by default."));
        }
        let notes = notes(m).into_iter().filter(|(holds, _)| *holds);
        list.extend(notes.map(|(_, note)| note.to_owned()));
        if a.mla_q_proj_layernorm || !(a.multi_latent_attention && a.qk_layernorm && a.q_lora_rank.is_none()) {
            continue;
        }
        list.push(String::from(
            "MLA without query compression has no norm in linear_q_proj, as in Megatron-Core 0.16; later versions add one.",
        ));
    }
    let generation = config.modules().first().map(Module::known_gpu_generation);
    list.extend(generation.and_then(gpu_generation));
    let mut once: Vec<String> = Vec::new();
    for note in list {
        if !once.contains(&note) {
            once.push(note);
        }
    }
    once
}

/// Whether each assumption holds for a module, and its words.
fn notes(m: &Module) -> [(bool, &'static str); 15] {
    let a = m.args();
    [
        (
            a.fp8_format.is_some() && a.fp8_param_gather && a.fp8_recipe == Fp8Recipe::Mxfp8,
            "Parameters in mxfp8 are gathered in the gradient buffer (reuse_grad_buf_for_mxfp8_param_ag): Transformer \
                 Engine 2.12 has no other way.",
        ),
        (
            a.fp4_format.is_some(),
            "What fp4 keeps follows from the source of Transformer Engine 2.12: no measured run has been compared with it.",
        ),
        (
            a.fp8_dot_product_attention && a.fp8_format.is_some() && a.fp8_recipe == Fp8Recipe::Mxfp8,
            "Attention in mxfp8 is that of Transformer Engine 2.15 and later; earlier ones refuse it.",
        ),
        (
            m.is_quantized() && m.moe.is_some(),
            "Every expert gets as many tokens as the others, filled up to what fp8 products need.",
        ),
        (
            a.moe_paged_stash,
            "The paged stash is there from the first iteration on (Megatron allocates it before the second), and no step \
                 overflows it: such a step runs again without it.",
        ),
        (
            a.tp_comm_overlap,
            "Buffers of tp_comm_overlap are outside PyTorch's allocator and not counted.",
        ),
        (
            a.fine_grained_activation_offloading,
            "All groups are offloaded on every stage (activation_offload_fraction 1, \
                 delta_offload_bytes_across_pp_ranks 0), and one layer's tensors are back ahead of time.",
        ),
        (
            a.cuda_graph_impl == CudaGraphImpl::Local,
            "CUDA graphs of cuda_graph_impl local are captured as Megatron's source says, in the first iteration after its \
                 backward passes. Their pool's rotary tables are not counted, nor is what the driver keeps for each graph. No \
                 measured run was compared.",
        ),
        (
            m.packing().is_some(),
            "The fullest micro batch of packed samples holds all tokens that its budget or its length allows, and the                  samples of average length that fit into it.",
        ),
        (
            a.use_megatron_fsdp,
            "Between iterations no layer is gathered, as log_params_norm leaves it; without that, those at the start of \
                 the model already are for the next iteration.",
        ),
        (
            a.use_megatron_fsdp && !a.init_model_with_meta_device,
            "What Megatron FSDP needs while it splits the model is not counted: without init_model_with_meta_device \
                 every GPU holds all parameters of its rank at the start.",
        ),
        (
            a.use_torch_fsdp2,
            "FSDP2 runs as PyTorch's source says: a layer has its parameters and the buffer that they are gathered into, and \
                 in the backward pass all its gradients from the start, and the buffer in which the gradients of the layer \
                 behind it are reduced. No measured run was compared.",
        ),
        (
            a.use_torch_fsdp2 && m.num_microbatches <= 1,
            "With one micro batch, reduced gradients of FSDP2 are there only from a layer's backward pass on, and count among \
                 gradients before their reduction.",
        ),
        (
            m.moe.is_some() && a.expert_load_imbalance == Decimal::ONE,
            "Every expert-parallel rank gets as many tokens as the others. Real routing is uneven, and peaks grow with \
                 it over training: set the routing imbalance.",
        ),
        (
            !a.expandable_segments,
            "The allocator's segments do not expand (no expandable_segments), so large blocks keep rests below 1 MiB.",
        ),
    ]
}

/// The generation of GPUs whose kernels and workspaces the estimate takes, where it is not that of the GPU.
fn gpu_generation(known: Option<GpuGeneration>) -> Option<String> {
    let taken = known.unwrap_or(GpuGeneration::ASSUMED).stands_for();
    match known {
        None => Some(format!(
            "The GPU is not known: kernels and workspaces are those of {}. gpu_generation says which they are.",
            taken.label()
        )),
        Some(known) if known != taken => Some(format!(
            "Kernels and workspaces are those of {}: the frameworks at the revisions followed here have none of their own for {}.",
            taken.label(),
            known.label()
        )),
        Some(_) => None,
    }
}

/// The memory that frozen parameters save, one sentence for each module.
#[must_use]
pub fn freezing(config: &Config, estimate: &Estimate) -> Vec<String> {
    let mut list = Vec::new();
    for (m, result) in config.modules().iter().zip(&estimate.modules) {
        let saved = result.stages.iter().map(|stage| stage.saved_by_freezing).max();
        let Some(saved) = saved.filter(|saved| *saved > Bytes::ZERO) else {
            continue;
        };
        let adapters = m.args().peft_type != AdapterType::None;
        let frozen = match (m.args().frozen, m.args().projector_frozen) {
            _ if adapters => " trains adapters alone",
            (true, false) if m.io().projector.is_some() => " is frozen except its projector",
            (true, _) => " is frozen",
            (false, _) => " has a frozen projector",
        };
        list.push(format!(
            "{}{frozen}: no gradients and optimizer states, which saves up to {saved:#} on a GPU.",
            m.name()
        ));
    }
    list
}
