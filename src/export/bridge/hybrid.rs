//! Hybrid models in Megatron-Bridge: `HybridModelProvider` in `models/hybrid/hybrid_provider.py`.

use crate::config::canonical::{Meaning, hybrid_pattern, meaning};
use crate::config::fields::FieldId;
use crate::config::hybrid_pattern::{HybridPattern, LayerSymbol};
use crate::config::parse::Parsed;
use crate::config::raw::Settings;

/// Whether the pattern decides a field, which is then not said.
pub(super) fn decides(pattern: Option<&HybridPattern>, id: FieldId) -> bool {
    match id {
        FieldId::num_layers
        | FieldId::virtual_pipeline_model_parallel_size
        | FieldId::num_virtual_stages_per_pipeline_rank
        | FieldId::num_layers_per_virtual_pipeline_stage => pattern.is_some(),
        FieldId::mtp_num_layers => pattern.is_some_and(|pattern| pattern.depths() > 0),
        _ => false,
    }
}

/// Whether only GPT models have a key for a field: the provider of hybrid models has none for latent attention.
pub(super) fn has_no_key(pattern: Option<&HybridPattern>, id: FieldId) -> bool {
    let latent = matches!(
        id,
        FieldId::q_lora_rank
            | FieldId::kv_lora_rank
            | FieldId::qk_head_dim
            | FieldId::qk_pos_emb_head_dim
            | FieldId::v_head_dim
    );
    latent && pattern.is_some_and(has_latent_attention)
}

fn has_latent_attention(pattern: &HybridPattern) -> bool {
    let symbols = [
        LayerSymbol::MultiLatentAttention,
        LayerSymbol::SparseAttention,
    ];
    symbols.into_iter().any(|symbol| pattern.has(symbol))
}

/// What Megatron-Bridge refuses although Megatron-LM runs it, as comments.
pub(super) fn comments(settings: &Settings) -> String {
    let Some(pattern) = hybrid_pattern(settings) else {
        return String::new();
    };
    let stages = FieldId::pipeline_model_parallel_size;
    let stages = match meaning(stages, settings.get(stages)) {
        Meaning::Is(Parsed::Int(stages)) => stages,
        _ => 1,
    };
    let mut out = String::new();
    if pattern.segments().len() as u64 > stages && stages > 1 {
        out.push_str("# HybridModelProvider refuses virtual pipeline stages: run this pattern with Megatron-LM.\n");
    }
    if has_latent_attention(&pattern) {
        out.push_str("# HybridModelProvider has no multi-latent attention: run this pattern with Megatron-LM.\n");
    }
    out
}
