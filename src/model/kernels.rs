//! Which kernels run, as far as they decide what autograd keeps.

use crate::config::choices::{AttentionBackend, AttentionVariant, PositionEmbedding, SoftwareFact, TransformerImpl};
use crate::config::job::Module;

/// The tensors that a norm saves besides its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKernel {
    /// Transformer Engine and Apex: the input and fp32 statistics.
    Fused,
    /// PyTorch's own, computed in fp32 pieces.
    Torch,
    /// Operations of PyTorch in fp32 (`_gemma4_rms_norm` of Megatron-Bridge).
    InFp32,
}

/// The kernel of core attention, which decides the tensors that it saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionKernel {
    /// cuDNN: queries, keys, values, output and one fp32 number a row.
    Fused,
    /// `FlashAttention`: the same, in another layout.
    Flash,
    /// Transformer Engine's matrix products: scores and probabilities.
    Unfused,
    /// Megatron's own: scores in a shared buffer, probabilities kept.
    Local,
    /// The attention of `NeMo` 2 for Gemma 2, which caps its scores: their tangent and the probabilities are kept.
    SoftCapped,
}

/// The kernels of one module.
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about kernels, each named where it is read"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernels {
    /// The norm before a linear layer is part of it.
    pub norm_in_linear: bool,
    /// The norms.
    pub norm: NormKernel,
    /// Core attention.
    pub attention: AttentionKernel,
    /// Rotary embedding in one kernel, which keeps nothing but the shared table.
    pub rope_fused: bool,
    /// Attention gets a copy of the values instead of a view of the whole fused projection.
    pub values_copied: bool,
    /// Norms on queries and keys keep views of the fused projection instead of contiguous copies.
    pub qk_norm_views: bool,
    /// Softmax in PyTorch and in fp32, whose result it keeps, instead of one fused kernel (`forward_torch_softmax`).
    pub softmax_in_fp32: bool,
    /// The router keeps full score matrices for its load balancing loss.
    pub balancing_loss: bool,
    /// Arguments that recompute keeps and that other passes keep as well count: the oracle counts them.
    pub counts_arguments: bool,
}

impl Kernels {
    /// The kernels that Megatron picks.
    #[must_use]
    pub fn of(m: &Module) -> Self {
        let a = &m.args;
        let te = a.transformer_impl != TransformerImpl::Local;
        Self {
            norm_in_linear: te,
            norm: if a.layer_norms_in_fp32 {
                NormKernel::InFp32
            } else {
                NormKernel::Fused
            },
            attention: attention(m),
            // `validate_args` turns it off for every other kind of position embedding.
            rope_fused: a.apply_rope_fusion
                && a.position_embedding_type == PositionEmbedding::Rope
                && a.experimental_attention_variant != Some(AttentionVariant::Dsa),
            values_copied: te,
            qk_norm_views: te && SoftwareFact::QkNormViews.holds(a),
            // Scaling by layer asks for fp32 too (`TransformerConfig.__post_init__`).
            softmax_in_fp32: !te
                && !a.masked_softmax_fusion
                && (a.attention_softmax_in_fp32 || a.apply_query_key_layer_scaling),
            balancing_loss: true,
            counts_arguments: false,
        }
    }

    /// Megatron's modules with norm and core attention replaced by what Transformer Engine's keep:
    /// the first engine of the measured inventories.
    pub const TE_LIKE: Self = Self {
        norm_in_linear: false,
        norm: NormKernel::Fused,
        attention: AttentionKernel::Fused,
        rope_fused: false,
        values_copied: false,
        qk_norm_views: false,
        softmax_in_fp32: false,
        balancing_loss: false,
        counts_arguments: true,
    };

    /// Megatron's own modules on a machine without fused kernels: the second engine of the measured inventories.
    pub const LOCAL: Self = Self {
        norm: NormKernel::Torch,
        attention: AttentionKernel::Local,
        softmax_in_fp32: true,
        ..Self::TE_LIKE
    };
}

/// Transformer Engine's choice (`get_attention_backend`), as far as the GPU and the flags decide it.
fn attention(m: &Module) -> AttentionKernel {
    let a = &m.args;
    if a.transformer_impl == TransformerImpl::Local {
        return AttentionKernel::Local;
    }
    match a.attention_backend {
        AttentionBackend::Unfused if a.attn_logit_softcapping.is_some() => AttentionKernel::SoftCapped,
        AttentionBackend::Unfused | AttentionBackend::Local => AttentionKernel::Unfused,
        AttentionBackend::Flash => AttentionKernel::Flash,
        AttentionBackend::Fused => AttentionKernel::Fused,
        AttentionBackend::Auto => match m.gpu_generation().major() {
            ..8 => AttentionKernel::Unfused,
            8 => AttentionKernel::Flash,
            10.. if a.deterministic_mode => AttentionKernel::Flash,
            12 if latent_heads_exceed_128(m) => AttentionKernel::Flash,
            _ => AttentionKernel::Fused,
        },
    }
}

/// Whether the query heads of latent attention are wider than cuDNN's backward pass takes on compute capability 12.
fn latent_heads_exceed_128(m: &Module) -> bool {
    let a = &m.args;
    a.multi_latent_attention && a.qk_head_dim + a.qk_pos_emb_head_dim > 128
}

/// Whether positions enter through rotary embedding.
#[must_use]
pub fn rotary(m: &Module) -> bool {
    matches!(
        m.args.position_embedding_type,
        PositionEmbedding::Rope | PositionEmbedding::Mrope | PositionEmbedding::Yarn
    )
}
