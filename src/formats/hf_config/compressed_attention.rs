//! Models of compressed attention between hyper-connections, whose first routers look experts up: DeepSeek-V4.

use super::error::HfProblemKind;
use super::source::Source;
use crate::config::compress_ratios::{CompressRatio, CompressRatios};
use crate::formats::node::Data;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The keys of compressed attention, and the fields of the same meaning.
const SIZES: [(&str, &str); 9] = [
    ("q_lora_rank", "q_lora_rank"),
    ("head_dim", "v_head_dim"),
    ("qk_rope_head_dim", "qk_pos_emb_head_dim"),
    ("o_groups", "o_groups"),
    ("o_lora_rank", "o_lora_rank"),
    ("sliding_window", "csa_window_size"),
    ("index_n_heads", "dsa_indexer_n_heads"),
    ("index_head_dim", "dsa_indexer_head_dim"),
    ("index_topk", "dsa_indexer_topk"),
];

const RATIOS: &str = "csa_compress_ratios";

pub(super) fn translate(source: &mut Source<'_>, layers: Option<i128>) {
    source.derive_from_family("multi_latent_attention", Value::Bool(true), "");
    let variant = Value::Text("dsv4_hybrid".to_owned());
    source.derive_from_family("experimental_attention_variant", variant, "");
    let stack = Value::Text("megatron_dev".to_owned());
    let note = "of Megatron-LM only the dev branch builds such layers";
    source.derive_from_family("software_stack", stack, note);
    for (key, field) in SIZES {
        source.required(key, field);
    }
    if let Some(found) = source.find("num_key_value_heads") {
        source.row(&found, KeyStatus::Ignored, None, "all heads share one key and value");
    }
    ratios(source, layers);
    source.derive_from_family("enable_mhc_connections", Value::Bool(true), "");
    source.required("hc_mult", "mhc_num_residual_streams");
    hash_layers(source);
    if let Some(found) = source.find("swiglu_limit") {
        source.map(&found, "activation_func_clamp_value", found.data.to_value());
    }
}

/// The ratio of each layer and MTP depth. A list for the layers alone leaves MTP depths a window
/// (`_dsv4_compress_ratios`).
fn ratios(source: &mut Source<'_>, layers: Option<i128>) {
    let depths = source
        .count("num_nextn_predict_layers", 0)
        .map_or(0, |(_, depths)| depths);
    let count = |n: i128| usize::try_from(n).unwrap_or(0);
    let layers = layers.map_or(0, count);
    let whole = layers + count(depths);
    let (found, read) = if let Some(found) = source.find("compress_ratios") {
        let read = listed(found.data);
        (found, read)
    } else if let Some(found) = source.find("layer_types") {
        let read = of_types(found.data);
        (found, read)
    } else {
        return source.missing("compress_ratios");
    };
    let Some(CompressRatios(mut ratios)) = read.filter(|CompressRatios(ratios)| ratios.len() >= layers) else {
        let expected = "a ratio of 0, 4 or 128 for each layer";
        return source.problem(&found, HfProblemKind::WrongType { expected });
    };
    ratios.resize(whole, CompressRatio::Window);
    let value = Value::Text(CompressRatios(ratios).to_string());
    source.derive(&found, RATIOS, value, "a ratio for each layer and each MTP depth");
}

/// A list of ratios.
fn listed(data: &Data) -> Option<CompressRatios> {
    let Data::List(items) = data else { return None };
    let ratios = items.iter().map(|item| match item.data {
        Data::Int(0) => Some(CompressRatio::Window),
        Data::Int(4) => Some(CompressRatio::Sparse),
        Data::Int(128) => Some(CompressRatio::Heavy),
        _ => None,
    });
    ratios.collect::<Option<Vec<_>>>().map(CompressRatios)
}

/// A list of the kinds of layers.
fn of_types(data: &Data) -> Option<CompressRatios> {
    let Data::List(items) = data else { return None };
    let ratios = items.iter().map(|item| match &item.data {
        Data::Text(kind) if kind == "sliding_attention" => Some(CompressRatio::Window),
        Data::Text(kind) if kind == "compressed_sparse_attention" => Some(CompressRatio::Sparse),
        Data::Text(kind) if kind == "heavily_compressed_attention" => Some(CompressRatio::Heavy),
        _ => None,
    });
    ratios.collect::<Option<Vec<_>>>().map(CompressRatios)
}

/// The first layers whose routers look experts up.
fn hash_layers(source: &mut Source<'_>) {
    let field = "moe_n_hash_layers";
    if let Some((found, count)) = source.count("num_hash_layers", 0) {
        return source.map(&found, field, Value::Int(count));
    }
    let Some(found) = source.find("mlp_layer_types") else {
        return;
    };
    let Data::List(items) = found.data else { return };
    let is_hashed = |data: &Data| matches!(data, Data::Text(kind) if kind == "hash_moe");
    let hashed = items.iter().take_while(|item| is_hashed(&item.data)).count();
    let value = Value::Int(i128::try_from(hashed).unwrap_or(0));
    source.derive(&found, field, value, "the first layers with hash_moe");
}
