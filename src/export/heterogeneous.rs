//! Layers with sizes of their own in Megatron-LM: the text of the file that `--heterogeneous-layers-config-path` names.

use core::ops::Not;

use serde::Serialize;

use crate::config::canonical::{Meaning, is_on, meaning};
use crate::config::fields::FieldId;
use crate::config::layer_sizes::{LayerSizes, LayerSizesList};
use crate::config::parse::Parsed;
use crate::config::raw::Settings;

/// The flags that describe the layers, with their words; none where all layers are alike, or where Megatron-LM has no
/// such layers: it has blocks without experts, whose query groups are the same in all layers with attention
/// (`validate_model_config_args_from_heterogeneous_config`).
///
/// The text goes into the flag that is meant for checkpoints. The path is not read beside it, and has to be there.
pub(super) fn flags(settings: &Settings) -> Vec<(&'static str, Option<String>)> {
    let Some(text) = text(settings) else { return Vec::new() };
    vec![
        ("heterogeneous-layers-config-path", Some(String::from("layers.json"))),
        ("heterogeneous-layers-config-encoded-json", Some(text)),
        ("use-rotary-position-embeddings", None),
        ("use-rope-scaling", None),
    ]
}

/// Whether these flags say the sizes of the layers.
pub(super) fn has(settings: &Settings) -> bool {
    text(settings).is_some()
}

fn text(settings: &Settings) -> Option<String> {
    let Meaning::Is(Parsed::Text(text)) = meaning(FieldId::layer_sizes, settings.get(FieldId::layer_sizes)) else {
        return None;
    };
    let number = |id: FieldId| match meaning(id, settings.get(id)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    };
    let list: LayerSizesList = text.parse().ok()?;
    let others = [FieldId::num_experts, FieldId::mtp_num_layers].map(number);
    let other_layers = others.into_iter().flatten().any(|count| count > 0)
        || settings.get(FieldId::hybrid_layer_pattern).is_some()
        || is_on(settings, FieldId::multi_latent_attention);
    let grouped = is_on(settings, FieldId::group_query_attention) && is_on(settings, FieldId::swiglu);
    let groups = number(FieldId::num_query_groups)?;
    let width = number(FieldId::ffn_hidden_size)?;
    let heads = number(FieldId::num_attention_heads)?;
    let is_block = |layer: &LayerSizes| {
        let known = LayerSizes {
            no_attention: layer.no_attention,
            no_mlp: layer.no_mlp,
            ffn_hidden_size: layer.ffn_hidden_size,
            ..LayerSizes::default()
        };
        known == *layer
    };
    if other_layers || !grouped || !heads.is_multiple_of(groups) || !list.decoder.iter().all(is_block) {
        return None;
    }
    let block = |layer: &LayerSizes| Block {
        attention: Attention {
            n_heads_in_group: (!layer.no_attention).then_some(heads / groups),
            no_op: layer.no_attention,
        },
        ffn: Ffn {
            ffn_hidden_size: (!layer.no_mlp).then(|| layer.ffn_hidden_size.map_or(width, u64::from)),
            no_op: layer.no_mlp,
        },
    };
    let config = HeterogeneousConfig {
        hidden_act: "silu",
        num_hidden_layers: list.decoder.len(),
        hidden_size: number(FieldId::hidden_size)?,
        num_attention_heads: heads,
        tie_word_embeddings: !is_on(settings, FieldId::untie_embeddings_and_output_weights),
        rope_theta: 10_000,
        rope_scaling: RopeScaling { factor: 8.0 },
        block_configs: list.decoder.iter().map(block).collect(),
    };
    serde_json::to_string(&config).ok()
}

/// The file: a `config.json` of Hugging Face with `block_configs`. The numbers of rotary positions are the defaults of
/// the flags.
#[derive(Serialize)]
struct HeterogeneousConfig {
    hidden_act: &'static str,
    num_hidden_layers: usize,
    hidden_size: u64,
    num_attention_heads: u64,
    tie_word_embeddings: bool,
    rope_theta: u64,
    rope_scaling: RopeScaling,
    block_configs: Vec<Block>,
}

#[derive(Serialize)]
struct RopeScaling {
    factor: f64,
}

/// One layer.
#[derive(Serialize)]
struct Block {
    attention: Attention,
    ffn: Ffn,
}

/// Attention, which a layer with `no_op` does not have.
#[derive(Serialize)]
struct Attention {
    n_heads_in_group: Option<u64>,
    #[serde(skip_serializing_if = "Not::not")]
    no_op: bool,
}

/// The MLP, which a layer with `no_op` does not have.
#[derive(Serialize)]
struct Ffn {
    ffn_hidden_size: Option<u64>,
    #[serde(skip_serializing_if = "Not::not")]
    no_op: bool,
}
