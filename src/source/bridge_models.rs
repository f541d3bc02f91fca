//! Sources of layers that Megatron-Bridge has of its own for single models, and of the kernels that these call.

use super::Source;

/// Attention whose values have a width of their own and are scaled.
pub const MIMO_V2_FLASH_ATTENTION: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/mimo_v2_flash/modeling_mimo_v2_flash.py",
    "MiMoV2FlashTEDotProductAttention",
);
/// Norms that PyTorch runs in fp32 around experts.
pub const GEMMA_4_NORM: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/gemma/modeling_gemma4.py",
    "_gemma4_rms_norm",
);
/// Attention with a norm on its values.
pub const GEMMA_4_ATTENTION: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/gemma/modeling_gemma4.py",
    "Gemma4SelfAttention.get_query_key_value_tensors",
);
/// Attention with Gemma 4's norm on its values, in a dense model.
pub const GEMMA_4_DENSE_ATTENTION: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/gemma/modeling_gemma4.py",
    "Gemma4DenseSelfAttention",
);
/// Layers of a dense Gemma 4.
pub const GEMMA_4_DENSE_LAYER: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/gemma/modeling_gemma4.py",
    "Gemma4DenseTransformerLayer",
);
/// Embeddings per layer, and the projection of the word embedding that they join.
pub const GEMMA_4_PER_LAYER_INPUTS: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/gemma/modeling_gemma4.py",
    "_compute_per_layer_inputs",
);
/// A router whose input and probabilities are multiplied by learned factors.
pub const GEMMA_4_ROUTER: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/gemma/modeling_gemma4.py",
    "Gemma4TopKRouter",
);
/// Layers with a Mamba mixer beside attention.
pub const FALCON_H1_LAYER: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_layer.py",
    "FalconH1Layer",
);
/// The factors on what `in_proj` of such a Mamba mixer puts out.
pub const FALCON_H1_MAMBA_MIXER: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_layer.py",
    "FalconH1MambaMixer._scale_zxbc_dt",
);
/// The factor on the keys of such attention.
pub const FALCON_H1_ATTENTION: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_layer.py",
    "FalconH1SelfAttention",
);
/// The MLP of such layers.
pub const FALCON_H1_MLP: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_layer.py",
    "FalconH1MLP",
);
/// The factor on the logits of such models.
pub const FALCON_H1_MODEL: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/falcon_h1/modeling_falconh1/falconh1_model.py",
    "FalconH1Model",
);
/// Experts for text beside experts for images.
pub const ERNIE_4_5_VL_EXPERTS: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/ernie_vl/modeling_ernie45_vl/ernie_moe_layer.py",
    "ErnieMultiTypeMoE",
);
/// Attention of Kimi K3, whose projections have no sequence parallelism.
pub const KIMI_K3_ATTENTION: Source =
    Source::megatron_bridge("src/megatron/bridge/models/kimi/kimi_k3_layers.py", "KimiK3Attention");
/// The experts of Kimi K3, with a norm behind them.
pub const KIMI_K3_EXPERTS: Source =
    Source::megatron_bridge("src/megatron/bridge/models/kimi/kimi_k3_layers.py", "KimiK3MoELayer");
/// Attention residuals.
pub const KIMI_K3_RESIDUALS: Source = Source::megatron_bridge(
    "src/megatron/bridge/models/kimi/kimi_k3_layers.py",
    "KimiK3TransformerLayer, attn_res_aggregate",
);
/// The activation function of Kimi K3.
pub const KIMI_K3_ACTIVATION: Source =
    Source::megatron_bridge("src/megatron/bridge/models/kimi/kimi_k3_ops.py", "situ_and_mul");
/// The convolution before delta attention.
pub const FLA_SHORT_CONVOLUTION: Source = Source::page(
    "https://github.com/fla-org/flash-linear-attention/blob/bc3b101dcb/fla/modules/conv/triton/ops.py",
    "CausalConv1dFunction",
);
/// The kernel of delta attention.
pub const FLA_CHUNK_KDA: Source = Source::page(
    "https://github.com/fla-org/flash-linear-attention/blob/bc3b101dcb/fla/ops/kda/chunk.py",
    "ChunkKDAFunction",
);
