//! Layers with sizes of their own: what a file says of each layer becomes `layer_sizes`.

use super::error::HfProblemKind;
use super::source::{KeyedValue, Source};
use crate::config::layer_sizes::{LayerSize, LayerSizes, LayerSizesList};
use crate::formats::block_configs::{Common, layers};
use crate::formats::node::{Data, Node};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The key with the attention and the MLP of every layer.
const BLOCKS: &str = "block_configs";
/// The key that says of every layer whether its attention has a window: 1, or 0 for all earlier tokens.
const WINDOWS: &str = "hybrid_layer_pattern";

/// Sets query groups, widths and `layer_sizes` from a list of blocks; `false` where the file has none.
pub(super) fn of_blocks(source: &mut Source<'_>, hidden: Option<i128>, heads: Option<i128>) -> bool {
    let Some(found) = source.find(BLOCKS) else { return false };
    let (Some(hidden), Some(heads)) = (size(hidden), size(heads)) else {
        return true;
    };
    let list = match layers(&found.data.to_value(), heads, hidden) {
        Ok(list) => list,
        Err(why) => {
            source.problem(&found, HfProblemKind::Blocks { why });
            return true;
        }
    };
    let common = Common::of(&list);
    let decoder = common.rest(list);
    if let Some(groups) = common.num_query_groups {
        let note = "from the heads of a group";
        source.derive(&found, "group_query_attention", Value::Bool(groups != heads), note);
        source.derive(&found, "num_query_groups", Value::Int(groups.into()), note);
    }
    if let Some(width) = common.ffn_hidden_size {
        source.derive(&found, "ffn_hidden_size", Value::Int(width.into()), "of most layers");
    }
    set(source, &found, decoder, Vec::new());
    for key in ["num_key_value_heads", "intermediate_size"] {
        if let Some(found) = source.find(key) {
            source.row(&found, KeyStatus::Ignored, None, "block_configs counts");
        }
    }
    true
}

/// Sets what layers with a window have otherwise, and a width of values of their own, as MiMo-V2-Flash has them.
/// `layers` is the number of layers of the model.
pub(super) fn of_windows(source: &mut Source<'_>, layers: Option<i128>, heads: Option<i128>) {
    let Some(found) = source.find(WINDOWS) else { return };
    let kinds: Option<Vec<bool>> = match found.data {
        Data::List(items) => items.iter().map(|item| match item.data {
            Data::Int(kind @ 0..=1) => Some(kind == 1),
            _ => None,
        }),
        _ => return,
    }
    .collect();
    let Some(kinds) = kinds.filter(|kinds| i128::try_from(kinds.len()).ok() == layers) else {
        let expected = "a list with 0 or 1 for every layer";
        source.problem(&found, HfProblemKind::WrongType { expected });
        return;
    };
    let width = source.count("head_dim", 1).map(|(_, width)| width);
    let groups = source.count("num_key_value_heads", 1).map(|(_, groups)| groups);
    let mut own = |key: &'static str, of_model: Option<i128>, field: &'static str| {
        let (found, count) = source.count(key, 1)?;
        source.row(&found, KeyStatus::Derived, Some(field), "of layers with a window");
        size(Some(count).filter(|_| Some(count) != of_model)).map(LayerSize::from)
    };
    let sizes = LayerSizes {
        num_attention_heads: own("swa_num_attention_heads", heads, "layer_sizes"),
        num_query_groups: own("swa_num_key_value_heads", groups, "layer_sizes"),
        kv_channels: own("swa_head_dim", width, "layer_sizes"),
        ..LayerSizes::default()
    };
    let mut has_sinks = |key: &'static str| {
        let sinks = source.flag(key);
        if let Some((found, _)) = &sinks {
            source.row(found, KeyStatus::Derived, Some("layer_sizes"), "");
        }
        sinks.is_some_and(|(_, on)| on)
    };
    let windowed = LayerSizes {
        sinks: has_sinks("add_swa_attention_sink_bias"),
        ..sizes
    };
    let full = LayerSizes {
        sinks: has_sinks("add_full_attention_sink_bias"),
        ..LayerSizes::default()
    };
    value_width(source, width);
    let decoder = kinds
        .iter()
        .map(|is_windowed| if *is_windowed { windowed } else { full });
    // Megatron-Bridge builds all layers of MTP with a window (`MiMoV2FlashMTPSelfAttention`).
    set(source, &found, decoder.collect(), vec![windowed]);
}

/// The key that names the kind of attention of every layer.
const TYPES: &str = "layer_types";
/// Layers up to and with the next one with full attention, where a file does not list them (`Gemma4TextConfig`).
const PERIOD: usize = 6;

/// Sets what layers with full attention have otherwise, as Gemma 4 has them (`Gemma4SelfAttention`). Beside experts,
/// embeddings per layer and shared keys and values are not known.
pub(super) fn of_layer_types(source: &mut Source<'_>, layers: Option<i128>) {
    let Some((found, global)) = source.count("global_head_dim", 1) else {
        return;
    };
    source.row(
        &found,
        KeyStatus::Derived,
        Some("layer_sizes"),
        "of layers with full attention",
    );
    let width = source.count("head_dim", 1).map(|(_, width)| width);
    let groups = source.count("num_key_value_heads", 1).map(|(_, groups)| groups);
    let of_global = source.count("num_global_key_value_heads", 1);
    if let Some((found, _)) = &of_global {
        source.row(
            found,
            KeyStatus::Derived,
            Some("layer_sizes"),
            "of layers with full attention",
        );
    }
    let of_global = of_global.map(|(_, groups)| groups);
    let full = LayerSizes {
        num_query_groups: size(of_global.filter(|own| Some(*own) != groups)).map(LayerSize::from),
        kv_channels: size(Some(global).filter(|own| Some(*own) != width)).map(LayerSize::from),
        ..LayerSizes::default()
    };
    let count = layers
        .and_then(|layers| usize::try_from(layers).ok())
        .unwrap_or_default();
    let listed = source.find(TYPES).filter(|types| *types.data != Data::Null);
    let is_full: Vec<bool> = match &listed {
        Some(types) => match types.data {
            Data::List(items) if items.len() == count => {
                let full = |item: &Node| matches!(&item.data, Data::Text(name) if name == "full_attention");
                items.iter().map(full).collect()
            }
            _ => {
                let expected = "a list with sliding_attention or full_attention for every layer";
                return source.problem(types, HfProblemKind::WrongType { expected });
            }
        },
        None => (1..=count).map(|n| n.is_multiple_of(PERIOD) || n == count).collect(),
    };
    let block = source.flag("enable_moe_block");
    if let Some((block, false)) = block {
        let note = "Megatron-Bridge builds models without experts so";
        source.derive(&block, "layer_norms_in_fp32", Value::Bool(true), note);
        let local = Value::Text(String::from("local"));
        source.derive_from_family("transformer_impl", local, note);
        let decoder = dense_layers(source, &is_full, full);
        set(source, &found, decoder, Vec::new());
        embeddings_per_layer(source);
        return;
    }
    if let Some((block, _)) = block.filter(|(block, _)| block.in_file()) {
        source.row(&block, KeyStatus::Ignored, None, "as in Megatron-Core");
    }
    let decoder = is_full
        .into_iter()
        .map(|full_attention| if full_attention { full } else { LayerSizes::default() });
    set(source, &found, decoder.collect(), Vec::new());
    for key in [SHARED, PER_LAYER] {
        let Some(found) = source.find(key) else { continue };
        if matches!(found.data, Data::Int(0) | Data::Null) {
            source.row(&found, KeyStatus::Ignored, None, "switched off");
        } else {
            source.problem(&found, HfProblemKind::PerLayer);
        }
    }
}

/// The key with the number of last layers that share keys and values of earlier ones.
const SHARED: &str = "num_kv_shared_layers";
/// The key with the width of embeddings per layer.
const PER_LAYER: &str = "hidden_size_per_layer_input";

/// The layers of a dense Gemma 4, of which those without full attention have a window, and the last ones share keys and
/// values and may have MLPs twice as wide (`_gemma4_dense_ffn_hidden_size`).
fn dense_layers(source: &mut Source<'_>, is_full: &[bool], full: LayerSizes) -> Vec<LayerSizes> {
    let mut shared = 0;
    if let Some((found, count)) = source.count(SHARED, 0) {
        shared = usize::try_from(count).unwrap_or(usize::MAX);
        source.row(&found, KeyStatus::Derived, Some("layer_sizes"), "the last layers");
    }
    let mut is_wide = false;
    if let Some((found, on)) = source.flag("use_double_wide_mlp") {
        is_wide = on;
        let note = "MLPs of layers that share keys and values";
        source.row(&found, KeyStatus::Derived, Some("layer_sizes"), note);
    }
    let width = source
        .count("intermediate_size", 1)
        .and_then(|(_, width)| size(Some(width)));
    let wide = width.filter(|_| is_wide).map(|width| LayerSize::from(2 * width));
    let first_shared = is_full.len().saturating_sub(shared);
    let layers = is_full.iter().enumerate().map(|(index, full_attention)| {
        let of_kind = if *full_attention { full } else { LayerSizes::default() };
        let shared_kv = index >= first_shared;
        LayerSizes {
            window: !full_attention,
            shared_kv,
            ffn_hidden_size: wide.filter(|_| shared_kv),
            ..of_kind
        }
    });
    layers.collect()
}

/// The embeddings per layer of a dense Gemma 4.
fn embeddings_per_layer(source: &mut Source<'_>) {
    let Some((found, width)) = source.count(PER_LAYER, 0) else {
        return;
    };
    let rows = source.count("vocab_size_per_layer_input", 1);
    if width == 0 {
        source.row(&found, KeyStatus::Ignored, None, "switched off");
        if let Some((found, _)) = rows {
            source.row(&found, KeyStatus::Ignored, None, "no embeddings per layer");
        }
        return;
    }
    source.map(&found, "per_layer_embed_dim", Value::Int(width));
    if let Some((found, rows)) = rows {
        source.map(&found, "per_layer_embed_vocab_size", Value::Int(rows));
    }
}

/// The width of a value head, and the number that values are multiplied by.
fn value_width(source: &mut Source<'_>, width: Option<i128>) {
    let of_windows = source.count("swa_v_head_dim", 1);
    let Some((found, values)) = source.count("v_head_dim", 1) else {
        return;
    };
    if let Some((other, count)) = of_windows {
        if count == values {
            source.row(&other, KeyStatus::Derived, Some("v_channels"), "as in all layers");
        } else {
            source.problem(&other, HfProblemKind::PerLayer);
        }
    }
    if Some(values) != width {
        source.map(&found, "v_channels", Value::Int(values));
    }
    if let Some(found) = source.find("attention_value_scale")
        && *found.data != Data::Null
    {
        source.map(&found, "attention_value_scale", found.data.to_value());
    }
}

fn size(size: Option<i128>) -> Option<u64> {
    size.and_then(|size| u64::try_from(size).ok())
}

/// Sets `layer_sizes`, unless all layers are like the module.
fn set(source: &mut Source<'_>, found: &KeyedValue<'_>, decoder: Vec<LayerSizes>, mtp: Vec<LayerSizes>) {
    let list = LayerSizesList { decoder, mtp };
    if list.is_of_module() {
        source.row(
            found,
            KeyStatus::Mapped,
            Some("layer_sizes"),
            "all layers are like the model",
        );
    } else {
        source.derive(found, "layer_sizes", Value::Text(list.to_string()), "");
    }
}
