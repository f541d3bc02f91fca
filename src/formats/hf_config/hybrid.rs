//! Models whose layers are Mamba-2 mixers, attention, MLPs and experts: the pattern of Megatron-LM's `HybridModel`.

use super::error::HfProblemKind;
use super::family::HybridLayers;
use super::source::{KeyedValue, Source};
use crate::config::hybrid_pattern::{HybridPattern, LayerSymbol};
use crate::formats::node::Data;
use crate::formats::report::{KeyStatus, shown_data};
use crate::value::Value;

/// The width of the convolution that Megatron-LM's Mamba mixer has.
const CONVOLUTION: i128 = 4;

/// More layers than any model has.
const MAX_LAYERS: usize = 2_000;

/// Sets the pattern, and the sizes of Mamba layers. Returns the pattern, where the file has one.
pub(super) fn translate(source: &mut Source<'_>, style: HybridLayers, hidden: Option<i128>) -> Option<HybridPattern> {
    let (found, layers) = layers(source, style)?;
    let total = source.count("num_hidden_layers", 1);
    let named = match style {
        HybridLayers::OneLetter => layers.len(),
        HybridLayers::MixerAndMlp => layers.len() / 2,
    };
    if let Some((total, count)) = total {
        let (status, note) = if usize::try_from(count) == Ok(named) {
            (KeyStatus::Mapped, "as many as the pattern has")
        } else {
            (KeyStatus::Conflicting, "the list of layers counts")
        };
        source.row(&total, status, Some("num_layers"), note);
    }
    let (mtp, depths) = prediction_layers(source);
    let pattern = HybridPattern::new(vec![layers], mtp, depths);
    let value = Value::Text(pattern.to_string());
    source.derive(&found, "hybrid_layer_pattern", value, "one letter a layer");
    if pattern.has(LayerSymbol::Mamba) {
        mamba(source, hidden);
    }
    Some(pattern)
}

/// The layers of the decoder, and where they stand.
fn layers<'a>(source: &mut Source<'a>, style: HybridLayers) -> Option<(KeyedValue<'a>, Vec<LayerSymbol>)> {
    let key = match style {
        HybridLayers::OneLetter => "hybrid_override_pattern",
        HybridLayers::MixerAndMlp => "layer_types",
    };
    let Some(found) = source.find(key) else {
        source.missing(key);
        return None;
    };
    let total = source.count("num_hidden_layers", 1);
    let layers = match (found.data, total) {
        // Mamba layers alone, where the file does not list them.
        (Data::Null, Some((_, total))) => {
            let total = usize::try_from(total).ok().filter(|n| *n <= MAX_LAYERS)?;
            Some(vec![LayerSymbol::Mamba; total])
        }
        (data, _) => symbols(data),
    };
    let Some(layers) = layers.filter(|layers| layers.len() <= MAX_LAYERS) else {
        let expected = "a list of mamba, attention, mlp and moe, or a pattern of M, *, - and E";
        source.problem(&found, HfProblemKind::WrongType { expected });
        return None;
    };
    if style == HybridLayers::OneLetter {
        return Some((found, layers));
    }
    let experts = source.count("num_experts", 0);
    let mlp = match experts {
        Some((_, experts)) if experts > 0 => LayerSymbol::Moe,
        _ => LayerSymbol::Mlp,
    };
    let pairs = layers.into_iter().flat_map(|mixer| [mixer, mlp]);
    Some((found, pairs.collect()))
}

/// Layers as a pattern, or as a list of names.
fn symbols(data: &Data) -> Option<Vec<LayerSymbol>> {
    match data {
        Data::Text(text) => text.chars().filter(|c| *c != '|').map(LayerSymbol::of).collect(),
        Data::List(items) => {
            let symbol = |name: &str| match name {
                "mamba" | "linear_attention" => Some(LayerSymbol::Mamba),
                "attention" | "full_attention" => Some(LayerSymbol::Attention),
                "mlp" => Some(LayerSymbol::Mlp),
                "moe" => Some(LayerSymbol::Moe),
                letter => match letter.chars().collect::<Vec<_>>().as_slice() {
                    [letter] => LayerSymbol::of(*letter),
                    _ => None,
                },
            };
            let names = items.iter().map(|item| match &item.data {
                Data::Text(name) => symbol(name),
                _ => None,
            });
            names.collect()
        }
        _ => None,
    }
}

/// The layers of one MTP depth, and the number of depths.
fn prediction_layers(source: &mut Source<'_>) -> (Vec<LayerSymbol>, u64) {
    let field = Some("hybrid_layer_pattern");
    let depths = source.count("num_nextn_predict_layers", 0);
    let pattern = source.find("mtp_hybrid_override_pattern");
    let Some((found, depths)) = depths.filter(|(_, depths)| *depths > 0) else {
        if let Some(found) = source.find("num_nextn_predict_layers") {
            source.row(&found, KeyStatus::Mapped, Some("mtp_num_layers"), "none");
        }
        if let Some(found) = pattern.filter(KeyedValue::in_file) {
            let note = "without `num_nextn_predict_layers` it builds nothing";
            source.row(&found, KeyStatus::Ignored, field, note);
        }
        return (Vec::new(), 0);
    };
    let Some(pattern) = pattern.filter(|found| *found.data != Data::Null) else {
        source.missing("mtp_hybrid_override_pattern");
        return (Vec::new(), 0);
    };
    let Some(layers) = symbols(pattern.data) else {
        let expected = "a pattern of M, *, - and E";
        source.problem(&pattern, HfProblemKind::WrongType { expected });
        return (Vec::new(), 0);
    };
    source.row(&found, KeyStatus::Derived, field, "the MTP depths behind /");
    source.row(&pattern, KeyStatus::Derived, field, "the layers of each MTP depth");
    // Megatron-Bridge shares one layer unless the file says otherwise.
    let repeated = "mtp_use_repeated_layer";
    if let Some((found, on)) = source.flag(repeated) {
        source.map(&found, repeated, Value::Bool(on));
    } else {
        let note = "as Megatron-Bridge sets it where the file says nothing";
        source.derive(&found, repeated, Value::Bool(true), note);
    }
    (layers, u64::try_from(depths).unwrap_or_default())
}

/// The sizes of Mamba mixers beside attention, and whether these have a norm.
pub(super) fn mixers_beside_attention(source: &mut Source<'_>, hidden: Option<i128>) {
    mamba(source, hidden);
    if let Some(found) = source.find("mamba_d_ssm") {
        let note = "the width of all heads together counts";
        source.row(&found, KeyStatus::Ignored, Some("mamba_num_heads"), note);
    }
    if let Some((found, on)) = source.flag("mamba_rms_norm") {
        source.map(&found, "mamba_rms_norm", Value::Bool(on));
    }
    if let Some((found, tokens)) = source.count("mamba_chunk_size", 1) {
        source.map(&found, "mamba_chunk_size", Value::Int(tokens));
    }
}

/// The sizes of Mamba layers.
fn mamba(source: &mut Source<'_>, hidden: Option<i128>) {
    source.required("ssm_state_size", "mamba_state_dim");
    let groups = source.required("n_groups", "mamba_num_groups");
    let heads = source.required("mamba_num_heads", "mamba_num_heads");
    let width = source.find("mamba_head_dim");
    match width {
        // Granite's files may leave it to the program.
        Some(found) if shown_data(found.data) == "auto" => {
            let expand = source.count("mamba_expand", 1).map_or(2, |(_, expand)| expand);
            if let (Some(hidden), Some(heads @ 1..)) = (hidden, heads) {
                let width = Value::Int(expand.saturating_mul(hidden) / heads);
                let note = "the inner width over the heads";
                source.derive(&found, "mamba_head_dim", width, note);
            }
        }
        _ => {
            source.required("mamba_head_dim", "mamba_head_dim");
        }
    }
    if groups.is_some()
        && let Some((found, width)) = source.count("conv_kernel", 1)
    {
        if width == CONVOLUTION {
            source.row(&found, KeyStatus::Ignored, None, "as in Megatron-LM's mixer");
        } else {
            let note = "Megatron-LM's mixer has a convolution of width 4";
            source.row(&found, KeyStatus::NotModelled, None, note);
        }
    }
}
