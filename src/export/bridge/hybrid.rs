//! Hybrid models in Megatron-Bridge: `HybridModelProvider` in `models/hybrid/hybrid_provider.py`.

use super::super::arguments::Argument;
use super::{OverrideValue, Overrides, setting};
use crate::config::canonical::{Meaning, hybrid_pattern, meaning};
use crate::config::fields::FieldId;
use crate::config::hybrid_pattern::{HybridPattern, LayerSymbol};
use crate::config::parse::Parsed;
use crate::config::raw::Settings;

/// Adds what an argument of a hybrid model becomes. `false` for arguments that GPT models have alike.
pub(super) fn add(all: &mut Overrides, pattern: Option<&HybridPattern>, argument: &Argument) -> bool {
    let id = argument.id;
    if decides(pattern, id) {
        return true;
    }
    match id {
        FieldId::hybrid_layer_pattern => {
            let key = "model.hybrid_layer_pattern";
            all.settings.extend(setting(key, argument, false));
            // Its MTP part is built for as many depths as this says.
            let depths = pattern.map_or(0, HybridPattern::depths);
            if depths > 0 {
                let depths = OverrideValue::Number(depths.to_string());
                all.add("model.mtp_num_layers", depths);
            }
            true
        }
        FieldId::spec => {
            all.without_key.extend(pattern.map(|_| id));
            true
        }
        _ => {
            let lost = has_no_key(pattern, id);
            all.without_key.extend(lost.then_some(id));
            lost
        }
    }
}

/// Whether the pattern decides a field, which is then not said.
fn decides(pattern: Option<&HybridPattern>, id: FieldId) -> bool {
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
fn has_no_key(pattern: Option<&HybridPattern>, id: FieldId) -> bool {
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
    let symbols = [LayerSymbol::MultiLatentAttention, LayerSymbol::SparseAttention];
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
