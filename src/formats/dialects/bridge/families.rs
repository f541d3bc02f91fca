//! The settings that Megatron-Bridge makes of a published model by its family. Each family has a bridge, which makes a
//! provider from the model's `config.json`; what stands here it sets to other values than the defaults of the provider's
//! class. A recipe whose model is a published one has these settings without naming them.
//!
//! `models/*/*_bridge.py` and `models/*/*_provider.py` at the pinned revision; only settings that decide memory.
//! `tests/oracle/bridge_providers.json` has what the bridges themselves make of the presets.

use super::super::destinations::field_of;
use super::super::framework::Defaults;
use super::LATENT_DEFAULTS;
use crate::config::fields::FieldId;
use crate::config::raw::Settings;
use crate::formats::import::python;

/// The bias and the activation function of an MLP are one kernel (`bias_activation_fusion`).
const ACTIVATION: Defaults = &[("bias_swiglu_fusion", "True")];
/// Rotary embeddings are applied by one kernel.
const ROPE: Defaults = &[("apply_rope_fusion", "True")];
/// Bias, dropout and residual are one kernel.
const DROPOUT: Defaults = &[("bias_dropout_fusion", "True")];
/// PyTorch's operations are the softmax of unfused attention.
const NO_SOFTMAX: Defaults = &[("masked_softmax_fusion", "False")];
/// Weight gradients are added to the main gradients by an operation of their own.
const NO_ACCUMULATION: Defaults = &[("gradient_accumulation_fusion", "False")];
/// The loss is computed operation by operation.
const NO_LOSS: Defaults = &[("cross_entropy_loss_fusion", "False")];
/// The loss is Transformer Engine's.
const LOSS: Defaults = &[("cross_entropy_fusion_impl", "te")];
/// Experts of one grouped multiplication, whose tokens are permuted by one kernel.
const EXPERTS: Defaults = &[
    ("moe_grouped_gemm", "True"),
    ("moe_permute_fusion", "True"),
    ("moe_token_dispatcher_type", "alltoall"),
];
/// Experts of one grouped multiplication, whose tokens `HybridEP` permutes and sends.
const HYBRID_EP: Defaults = &[
    ("moe_grouped_gemm", "True"),
    ("moe_permute_fusion", "True"),
    ("moe_token_dispatcher_type", "flex"),
    ("moe_flex_dispatcher_backend", "hybridep"),
];
/// The kernels that [`LATENT_DEFAULTS`] have off, turned on by the family's bridge.
const FUSED: Defaults = &[
    ("cross_entropy_loss_fusion", "True"),
    ("gradient_accumulation_fusion", "True"),
    ("masked_softmax_fusion", "True"),
];
/// Stages keep the outputs that they send, as [`LATENT_DEFAULTS`] have it.
const OUTPUTS_KEPT: Defaults = &[("deallocate_pipeline_outputs", "False")];
/// Grouped experts whose tokens are permuted operation by operation.
const EXPERTS_ALONE: Defaults = &[("moe_grouped_gemm", "True"), ("moe_token_dispatcher_type", "alltoall")];
/// Routers compute in fp32.
const ROUTER: Defaults = &[("moe_router_dtype", "fp32")];
/// Shared experts run beside the exchange of tokens.
const OVERLAP: Defaults = &[("moe_shared_expert_overlap", "True")];
/// The recomputation that the provider of Sarvam's models begins with.
const SARVAM: Defaults = &[
    ("recompute_granularity", "selective"),
    ("recompute_modules", "layernorm shared_experts mlp moe_act"),
];

/// Values of `model_type` in a `config.json`, and the settings of their bridge. Qwen3.5's published files have towers,
/// and the recipes of their language models alone fuse the activation function themselves.
const BY_MODEL_TYPE: &[(&[&str], &[Defaults])] = &[
    (&["llama", "nemotron-nas", "deci"], &[ACTIVATION, ROPE, DROPOUT]),
    (&["nemotron"], &[ROPE]),
    (&["qwen2_audio"], &[NO_ACCUMULATION]),
    (
        &["qwen2_5_omni", "qwen3_asr"],
        &[ACTIVATION, DROPOUT, NO_SOFTMAX, NO_ACCUMULATION],
    ),
    (&["qwen3_moe"], &[EXPERTS]),
    (&["qwen3_next"], &[EXPERTS, ROUTER]),
    (&["qwen3_omni_moe"], &[NO_SOFTMAX, EXPERTS, ROUTER]),
    (&["qwen3_vl"], &[ACTIVATION]),
    (&["qwen3_vl_moe"], &[ACTIVATION, DROPOUT, NO_SOFTMAX, EXPERTS, ROUTER]),
    (&["qwen3_5", "qwen3_5_text"], &[ACTIVATION]),
    (&["qwen3_5_moe", "qwen3_5_moe_text"], &[ACTIVATION, EXPERTS, ROUTER]),
    (&["deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25"], DEEPSEEK),
    (
        &["deepseek_v4"],
        &[ROPE, FUSED, DROPOUT, LOSS, HYBRID_EP, ROUTER, OVERLAP, OUTPUTS_KEPT],
    ),
    (&["kimi_k3"], &[FUSED, LOSS, EXPERTS, ROUTER, OUTPUTS_KEPT]),
    (
        &["glm4_moe", "glm4v_moe"],
        &[ACTIVATION, DROPOUT, EXPERTS, ROUTER, OVERLAP],
    ),
    (
        &["glm4_moe_lite"],
        &[ACTIVATION, DROPOUT, EXPERTS, ROUTER, OVERLAP, LATENT_DEFAULTS],
    ),
    (&["glm_moe_dsa"], &[HYBRID_EP, ROUTER, OVERLAP, LATENT_DEFAULTS]),
    (&["falcon_h1"], &[NO_SOFTMAX, NO_ACCUMULATION, NO_LOSS]),
    (&["gpt_oss"], &[ACTIVATION, EXPERTS]),
    (&["minimax_m2"], &[EXPERTS]),
    (&["minimax_m3"], &[DROPOUT, HYBRID_EP, ROUTER]),
    (&["ernie4_5_moe", "bailing_moe_v2", "olmoe"], &[EXPERTS, ROUTER]),
    (&["ernie4_5_moe_vl"], &[NO_ACCUMULATION, EXPERTS, ROUTER]),
    (&["step3p5", "step3p7", "hy_v3"], &[EXPERTS, ROUTER]),
    (&["gemma4", "gemma4_text"], &[EXPERTS, ROUTER]),
    (&["mimo_v2_flash"], &[EXPERTS_ALONE]),
    (&["exaone4_5"], &[NO_ACCUMULATION]),
    (
        &["exaone_moe"],
        &[NO_SOFTMAX, NO_ACCUMULATION, EXPERTS, ROUTER, OVERLAP],
    ),
    (&["nemotron_h"], &[ROPE, DROPOUT, EXPERTS, ROUTER, OVERLAP]),
    (&["sarvam_moe"], &[LOSS, EXPERTS, ROUTER, SARVAM]),
];

/// DeepSeek-V2, DeepSeek-V3 and Kimi K2.
const DEEPSEEK: &[Defaults] = &[ACTIVATION, DROPOUT, FUSED, LOSS, EXPERTS, ROUTER, OVERLAP, OUTPUTS_KEPT];

/// Adds the settings of the bridge of a `model_type` to those of its model. Those of experts are for models that have
/// any, and what the model's file says itself counts.
pub(in crate::formats) fn add(model: &mut Settings, model_type: &str) {
    let has_experts = model.get(FieldId::num_experts).is_some();
    let has_shared = model.get(FieldId::moe_shared_expert_intermediate_size).is_some();
    let rows = BY_MODEL_TYPE.iter().filter(|(types, _)| types.contains(&model_type));
    for (destination, value) in rows.flat_map(|(_, tables)| tables.iter().copied().flatten()) {
        let Some(id) = field_of(destination) else { continue };
        let is_built = match id {
            FieldId::moe_shared_expert_overlap => has_shared,
            _ => has_experts || !destination.starts_with("moe_"),
        };
        if is_built && model.get(id).is_none() {
            model.set(id, python(value));
        }
    }
}
