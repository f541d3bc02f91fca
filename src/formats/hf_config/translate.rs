//! Translates the keys of a decoder to Megatron's fields, in the order of Megatron's option groups.

use super::compressed_attention;
use super::error::HfProblemKind;
use super::experts;
use super::family::{Activation, Attention, Switch, VocabMultiple};
use super::gated_delta_net;
use super::hybrid;
use super::kimi;
use super::layer_sizes;
use super::source::{Source, last};
use crate::config::hybrid_pattern::{HybridPattern, LayerSymbol};
use crate::formats::node::{Data, Node};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// More layers than any model has; bounds the lists that are made per layer.
const MAX_LAYERS: i128 = 10_000;

/// The key, and the field, of positions.
const POSITIONS: &str = "position_embedding_type";

/// Reads all keys of the model into fields.
pub(super) fn translate(source: &mut Source<'_>) {
    let are_multimodal = multimodal_positions(source);
    for &(field, value) in source.family.fixed {
        if !(are_multimodal && field == POSITIONS) {
            source.fix(field, value);
        }
    }
    for &(key, field) in source.family.flags {
        if let Some((found, on)) = source.flag(key) {
            source.map(&found, field, Value::Bool(on));
        }
    }
    let hybrid = source.family.hybrid;
    let layers = match hybrid {
        None => layers(source),
        Some(_) => None,
    };
    let hidden = source.required("hidden_size", "hidden_size");
    let pattern = hybrid.and_then(|style| hybrid::translate(source, style, hidden));
    let heads = source.required("num_attention_heads", "num_attention_heads");
    let blocks = layer_sizes::of_blocks(source, hidden, heads);
    if hybrid.is_none() {
        layer_sizes::of_windows(source, layers, heads);
        layer_sizes::of_layer_types(source, layers);
    }
    match source.family.attention {
        Attention::Grouped => {
            if !blocks {
                query_groups(source, heads);
            }
            head_width(source, hidden, heads);
            if source.family.gated_delta_net {
                gated_delta_net::translate(source, layers);
            }
            if source.family.mamba_beside_attention {
                hybrid::mixers_beside_attention(source, hidden);
            }
        }
        Attention::Latent => latent_attention(source),
        Attention::Sparse => {
            latent_attention(source);
            indexer(source);
        }
        Attention::Compressed => compressed_attention::translate(source, layers),
        Attention::LatentAndDelta => {
            latent_attention(source);
            kimi::translate(source, layers);
        }
    }
    if let Some(key) = source.family.l2_norm {
        switch(source, Switch::Key(key), "qk_l2_norm", &[]);
    } else {
        switch(source, source.family.qk_norm, "qk_layernorm", &["use_qk_norm"]);
    }
    switch(
        source,
        source.family.qkv_bias,
        "add_qkv_bias",
        &["attention_bias", "qkv_bias"],
    );
    switch(
        source,
        source.family.linear_bias,
        "add_bias_linear",
        &["mlp_bias", "use_bias"],
    );
    activation(source);
    let has_experts = |pattern: &HybridPattern| pattern.has(LayerSymbol::Moe);
    if pattern.as_ref().is_none_or(has_experts) {
        experts::translate(source, layers);
    }
    if !blocks {
        dense_width(source, hidden);
    }
    vocabulary(source);
    let has_labels = labels(source);
    if hybrid.is_none() && !has_labels {
        prediction_layers(source);
    }
    if hybrid.is_some() {
        hybrid_only(source);
    }
    dropout(source, "hidden_dropout");
    dropout(source, "attention_dropout");
    precision(source);
}

/// Keys that models of one kind of layer do not have.
fn hybrid_only(source: &mut Source<'_>) {
    if let Some((found, width)) = source.count("moe_latent_size", 0)
        && width > 0
    {
        source.map(&found, "moe_latent_size", Value::Int(width));
    }
    if let Some(found) = source.find("n_shared_experts") {
        let note = "the width of all of them together counts";
        let field = Some("moe_shared_expert_intermediate_size");
        source.row(&found, KeyStatus::Ignored, field, note);
    }
    if let Some((found, on)) = source.flag("residual_in_fp32") {
        source.map(&found, "fp32_residual_connection", Value::Bool(on));
    }
    match source.text(POSITIONS) {
        Some((found, "rope")) => source.map(&found, POSITIONS, Value::Text(String::from("rope"))),
        Some((found, "nope")) => source.map(&found, POSITIONS, Value::Text(String::from("none"))),
        Some((found, _)) => {
            let note = "positions that Megatron-LM does not have";
            source.row(&found, KeyStatus::NotModelled, Some(POSITIONS), note);
        }
        None => {}
    }
}

/// Sets multimodal positions where a file says how many rotary angles belong to time, height and width. Whether it does.
fn multimodal_positions(source: &mut Source<'_>) -> bool {
    for key in ["rope_scaling", "rope_parameters"] {
        if let Some(found) = source.find(key)
            && let Data::Map(entries) = found.data
            && last(entries, "mrope_section").is_some()
        {
            let note = "angles for time, height and width";
            source.derive(&found, POSITIONS, Value::Text(String::from("mrope")), note);
            return true;
        }
    }
    false
}

fn layers(source: &mut Source<'_>) -> Option<i128> {
    let layers = source.required("num_hidden_layers", "num_layers")?;
    if layers > MAX_LAYERS {
        let found = source.find("num_hidden_layers")?;
        source.problem(
            &found,
            HfProblemKind::OutOfRange {
                min: 1,
                max: MAX_LAYERS,
            },
        );
        return None;
    }
    Some(layers)
}

fn query_groups(source: &mut Source<'_>, heads: Option<i128>) {
    match source.count("num_key_value_heads", 1) {
        Some((found, groups)) if Some(groups) != heads => {
            source.derive(
                &found,
                "group_query_attention",
                Value::Bool(true),
                "fewer than the query heads",
            );
            source.map(&found, "num_query_groups", Value::Int(groups));
        }
        Some((found, _)) => {
            let note = "as many as the query heads";
            source.derive(&found, "group_query_attention", Value::Bool(false), note);
        }
        None => {
            let note = "without `num_key_value_heads` there are as many as query heads";
            let value = Value::Bool(false);
            match source.find("num_key_value_heads") {
                Some(found) => source.derive(&found, "group_query_attention", value, note),
                None => source.derive_from_family("group_query_attention", value, note),
            }
        }
    }
}

fn head_width(source: &mut Source<'_>, hidden: Option<i128>, heads: Option<i128>) {
    if let Some((found, width)) = source.count("head_dim", 1) {
        source.map(&found, "kv_channels", Value::Int(width));
    } else if let (Some(hidden), Some(heads)) = (hidden, heads) {
        let note = "without `head_dim` it is `hidden_size` / `num_attention_heads`";
        let width = Value::Int(hidden / heads);
        match source.find("head_dim") {
            Some(found) => source.derive(&found, "kv_channels", width, note),
            None => source.derive_from_family("kv_channels", width, note),
        }
    }
}

fn latent_attention(source: &mut Source<'_>) {
    source.derive_from_family("multi_latent_attention", Value::Bool(true), "");
    match source.find("q_lora_rank") {
        Some(found) if *found.data == Data::Null => {
            source.derive(&found, "q_lora_rank", Value::Null, "queries are not compressed");
        }
        Some(found) => {
            if let Some(rank) = source.integer(&found, 1, MAX_LAYERS * MAX_LAYERS) {
                source.map(&found, "q_lora_rank", Value::Int(rank));
            }
        }
        None => source.missing("q_lora_rank"),
    }
    for (key, field) in [
        ("kv_lora_rank", "kv_lora_rank"),
        ("qk_nope_head_dim", "qk_head_dim"),
        ("qk_rope_head_dim", "qk_pos_emb_head_dim"),
        ("v_head_dim", "v_head_dim"),
    ] {
        source.required(key, field);
    }
    for key in ["num_key_value_heads", "head_dim", "qk_head_dim"] {
        if let Some(found) = source.find(key) {
            source.row(&found, KeyStatus::Ignored, None, "latent attention has its own widths");
        }
    }
}

/// The indexer of sparse attention.
fn indexer(source: &mut Source<'_>) {
    let variant = Value::Text("dsa".to_owned());
    source.derive_from_family("experimental_attention_variant", variant, "");
    for (key, field) in [
        ("index_n_heads", "dsa_indexer_n_heads"),
        ("index_head_dim", "dsa_indexer_head_dim"),
        ("index_topk", "dsa_indexer_topk"),
    ] {
        source.required(key, field);
    }
    for (key, field, least) in [
        ("index_topk_freq", "dsa_indexer_topk_freq", 1),
        ("index_skip_topk_offset", "dsa_indexer_skip_topk_offset", 0),
    ] {
        if let Some((found, count)) = source.count(key, least) {
            source.map(&found, field, Value::Int(count));
        }
    }
}

/// Sets a truth value that the family fixes or that a key decides. Where the family fixes it, the keys in `synonyms`
/// are reported as conflicting if they have another value.
fn switch(source: &mut Source<'_>, switch: Switch, field: &'static str, synonyms: &[&'static str]) {
    let fixed = match switch {
        Switch::On => true,
        Switch::Off => false,
        Switch::Key(key) => {
            match source.flag(key) {
                Some((found, on)) => source.map(&found, field, Value::Bool(on)),
                None => source.derive_from_family(field, Value::Bool(false), "off unless the file says so"),
            }
            return;
        }
    };
    source.derive_from_family(field, Value::Bool(fixed), "");
    for &key in synonyms {
        if source.family.not_modelled.iter().any(|(other, _)| *other == key) {
            continue;
        }
        match source.flag(key) {
            Some((found, on)) if on == fixed => {
                source.row(&found, KeyStatus::Ignored, Some(field), "as in the whole family");
            }
            Some((found, _)) => {
                source.row(
                    &found,
                    KeyStatus::Conflicting,
                    Some(field),
                    "the whole family has the opposite",
                );
            }
            None => {}
        }
    }
}

fn activation(source: &mut Source<'_>) {
    let Some((found, name)) = source.text("hidden_act") else {
        let gated = source.family.activation != Activation::Plain;
        source.derive_from_family("swiglu", Value::Bool(gated), "");
        return;
    };
    let is_gelu = matches!(
        name,
        "gelu" | "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" | "gelu_python"
    );
    // The one switch among Megatron-LM's four that is on; GELU without a gate needs none.
    let family = match (source.family.activation, name) {
        (Activation::GatedIfSilu, "silu" | "swish") => Activation::Gated,
        (Activation::GatedIfSilu, _) => Activation::Plain,
        (activation, _) => activation,
    };
    let (on, sure) = match (family, name) {
        (Activation::QuickGated, _) | (Activation::Gated, "quick_gelu") => (Some("quick_geglu"), true),
        (Activation::Gated, "silu" | "swish") => (Some("swiglu"), true),
        // With attention residuals, SwiGLU is SiTU.
        (Activation::Gated, "situ") if source.family.attention == Attention::LatentAndDelta => (Some("swiglu"), true),
        (Activation::Gated, _) if is_gelu => (Some("geglu"), true),
        (Activation::Gated, _) => (Some("swiglu"), false),
        (_, "relu2" | "squared_relu") => (Some("squared_relu"), true),
        (Activation::Plain | Activation::GatedIfSilu, _) => (None, is_gelu),
    };
    if on != Some("swiglu") {
        source.derive(&found, "swiglu", Value::Bool(false), "");
    }
    if let Some(field) = on {
        source.derive(&found, field, Value::Bool(true), "");
    }
    let field = "activation_func_clamp_value";
    if family == Activation::QuickGated
        && !source.family.fixed.iter().any(|(name, _)| *name == field)
        && let Some(limit) = source.find("swiglu_limit")
    {
        source.map(&limit, field, limit.data.to_value());
    }
    if !sure {
        let note = "Megatron-LM has no such activation: counted as SiLU with a gate, GELU without one";
        source.row(&found, KeyStatus::NotModelled, on, note);
    }
}

/// The width of dense MLPs; models of experts alone may leave it out.
fn dense_width(source: &mut Source<'_>, hidden: Option<i128>) {
    let field = "ffn_hidden_size";
    let key = source.family.dense_width;
    let problems = source.problems.len();
    if let Some((found, width)) = source.count(key, 1) {
        source.map(&found, field, Value::Int(width));
    } else if source.family.activation == Activation::Plain
        && let Some(hidden) = hidden
    {
        let (value, note) = (
            Value::Int(4 * hidden),
            "four times `hidden_size` unless the file says otherwise",
        );
        match source.find(key) {
            Some(found) => source.derive(&found, field, value, note),
            None => source.derive_from_family(field, value, note),
        }
    } else if source.problems.len() == problems && !source.settings.iter().any(|s| s.field == "num_experts") {
        source.missing(key);
    }
}

fn vocabulary(source: &mut Source<'_>) {
    if let Some((found, tied)) = source.flag("tie_word_embeddings") {
        source.map(&found, "untie_embeddings_and_output_weights", Value::Bool(!tied));
    } else {
        source.derive_from_family(
            "untie_embeddings_and_output_weights",
            Value::Bool(true),
            "untied unless the file says so",
        );
    }
    if let Some((found, positions)) = source.count("max_position_embeddings", 1) {
        source.map(&found, "max_position_embeddings", Value::Int(positions));
    }
    let Some(vocab_size) = source.required("vocab_size", "vocab_size") else {
        return;
    };
    let Some(found) = source.find("vocab_size") else {
        return;
    };
    let field = "make_vocab_size_divisible_by";
    match source.family.vocab_multiple {
        VocabMultiple::Unset => {}
        VocabMultiple::Of(multiple) => {
            source.derive_from_family(
                field,
                Value::Int(multiple),
                "as Megatron-Bridge sets it for this family",
            );
        }
        VocabMultiple::PowerOfTwo => {
            let multiple = 1_i128 << vocab_size.trailing_zeros().min(7);
            let note = "the largest power of two up to 128 that divides it, as in Megatron-Bridge";
            source.derive(&found, field, Value::Int(multiple), note);
        }
    }
}

/// The end of the name of a class that classifies tokens.
const CLASSIFIES: &str = "ForTokenClassification";
/// Labels where a file names none (`PretrainedConfig.num_labels`).
const LABELS: i128 = 2;

/// The head of a model that classifies tokens, which Megatron-Bridge builds in place of the output layer
/// (`Qwen35TokenClassificationBridge`). Returns whether the model has it.
fn labels(source: &mut Source<'_>) -> bool {
    let around = [source.entries, source.outer];
    let classes = around.into_iter().find_map(|entries| last(entries, "architectures"));
    let names = classes.map_or([].as_slice(), |entry| match &entry.node.data {
        Data::List(names) => names,
        _ => &[],
    });
    let classifies = |node: &Node| matches!(&node.data, Data::Text(name) if name.ends_with(CLASSIFIES));
    if !names.iter().any(classifies) {
        return false;
    }
    let said = |key| around.into_iter().find_map(|entries| last(entries, key));
    let labels = match (said("num_labels"), said("id2label")) {
        (Some(entry), _) if matches!(entry.node.data, Data::Int(1..)) => entry.node.to_value(),
        (_, Some(names)) if !names.node.entries().is_empty() => {
            Value::Int(i128::try_from(names.node.entries().len()).unwrap_or(LABELS))
        }
        _ => Value::Int(LABELS),
    };
    let untied = "untie_embeddings_and_output_weights";
    source.settings.retain(|setting| setting.field != untied);
    let note = "a head for labels, which has weights of its own, takes the place of the output layer";
    source.derive_from_family(untied, Value::Bool(true), note);
    source.derive_from_family("num_labels", labels, note);
    if let Some(found) = source.find("num_nextn_predict_layers") {
        let note = "a model that classifies tokens predicts none";
        source.row(&found, KeyStatus::Ignored, Some("mtp_num_layers"), note);
    }
    true
}

fn prediction_layers(source: &mut Source<'_>) {
    let key = "num_nextn_predict_layers";
    if source.family.without_effect.iter().any(|(other, _)| *other == key) {
        return;
    }
    if let Some((found, depth)) = source.count("num_nextn_predict_layers", 0) {
        if depth == 0 {
            source.row(&found, KeyStatus::Mapped, Some("mtp_num_layers"), "none");
        } else {
            source.map(&found, "mtp_num_layers", Value::Int(depth));
            if source.family.dense_mtp {
                source.derive_from_family("mtp_dense", Value::Bool(true), "");
            }
        }
    } else if let Some(found) = source.find("num_nextn_predict_layers") {
        source.row(&found, KeyStatus::Mapped, Some("mtp_num_layers"), "none");
    }
}

fn dropout(source: &mut Source<'_>, field: &'static str) {
    let Some(found) = source.find(field) else {
        source.derive_from_family(field, Value::Float(0.0), "no dropout unless the file says so");
        return;
    };
    match found.data {
        Data::Int(i @ 0..=1) => source.map(&found, field, Value::Int(*i)),
        Data::Float(x) if (0.0..=1.0).contains(x) => source.map(&found, field, Value::Float(*x)),
        Data::Null => source.derive(&found, field, Value::Float(0.0), "no dropout"),
        _ => source.problem(
            &found,
            HfProblemKind::WrongType {
                expected: "a probability from 0 to 1",
            },
        ),
    }
}

fn precision(source: &mut Source<'_>) {
    let Some((found, name)) = source.text("torch_dtype") else {
        source.derive_from_family(
            "bf16",
            Value::Bool(true),
            "the file names no precision: bf16 is assumed",
        );
        return;
    };
    match name.strip_prefix("torch.").unwrap_or(name) {
        "float16" | "half" => source.map(&found, "fp16", Value::Bool(true)),
        "bfloat16" => source.map(&found, "bf16", Value::Bool(true)),
        "float32" | "float" => {
            source.derive(&found, "bf16", Value::Bool(false), "training in fp32");
        }
        _ => {
            source.derive(&found, "bf16", Value::Bool(true), "");
            source.row(
                &found,
                KeyStatus::NotModelled,
                None,
                "a precision of stored weights: bf16 is assumed for training",
            );
        }
    }
}
