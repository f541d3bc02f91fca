//! Layers with sizes of their own in Megatron-LM: the text of the file that `--heterogeneous-layers-config-path` names.

use crate::config::canonical::{Meaning, is_on, meaning};
use crate::config::fields::FieldId;
use crate::config::layer_sizes::{LayerSizes, LayerSizesList};
use crate::config::parse::Parsed;
use crate::config::raw::Settings;
use crate::value::Value;

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
    let blocks = list.decoder.iter().map(|layer| {
        let attention = if layer.no_attention {
            String::from(r#"{"n_heads_in_group":null,"no_op":true}"#)
        } else {
            format!(r#"{{"n_heads_in_group":{}}}"#, heads / groups)
        };
        let mlp = if layer.no_mlp {
            String::from(r#"{"ffn_hidden_size":null,"no_op":true}"#)
        } else {
            format!(r#"{{"ffn_hidden_size":{}}}"#, layer.ffn_hidden_size.unwrap_or(width))
        };
        format!(r#"{{"attention":{attention},"ffn":{mlp}}}"#)
    });
    let blocks: Vec<String> = blocks.collect();
    let hidden = number(FieldId::hidden_size)?;
    let untied = is_on(settings, FieldId::untie_embeddings_and_output_weights);
    // The numbers of rotary positions are the defaults of the flags.
    Some(format!(
        "{{\"hidden_act\":\"silu\",\"num_hidden_layers\":{},\"hidden_size\":{hidden},\"num_attention_heads\":{heads},\
         \"tie_word_embeddings\":{},\"rope_theta\":10000,\"rope_scaling\":{{\"factor\":8.0}},\"block_configs\":[{}]}}",
        list.decoder.len(),
        Value::Bool(!untied),
        blocks.join(",")
    ))
}
