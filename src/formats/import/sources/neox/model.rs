//! Layers of GPT-NeoX (`megatron/model` of its repository).

use super::Keys;
use super::mlp::GATED;
use crate::config::fields::FieldId;
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::{int, is_off, truth};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Reads a key of the model whose value has to be converted. Returns whether the key is one of them.
pub(super) fn key(draft: &mut JobDraft, keys: &Keys, item: &KeyValue) -> bool {
    let value = shown(&item.value).to_ascii_lowercase();
    match item.key.as_str() {
        "norm" => norm(draft, item, &value),
        "pos_emb" => positions(draft, keys, item, &value),
        "activation" => activation(draft, item, &value),
        "attention_config" => attention(draft, keys, item),
        // Read by `side_by_side`, which looks at the vocabulary.
        "gpt_j_residual" if truth(&item.value) == Some(true) => {}
        "gpt_j_residual" => draft.row(item, KeyStatus::Mapped, None, "attention before the MLP"),
        "gpt_j_tied" => {
            let note = "both norms are built, whichever is used";
            draft.row(item, KeyStatus::Ignored, None, note);
        }
        // Read by `mlp::settle`, which adds its row for the width itself.
        "intermediate_size" | "expansion_factor" if !is_off(&item.value) => {}
        "intermediate_size" | "expansion_factor" => {
            draft.row(item, KeyStatus::Ignored, None, "the default");
        }
        "mlp_multiple_of" | "mlp_type" => {
            draft.row(item, KeyStatus::Derived, Some(FieldId::ffn_hidden_size), "");
        }
        "use_bias_in_attn_linear" => {
            draft.row(item, KeyStatus::Derived, Some(FieldId::add_bias_linear), "");
        }
        "use_bias_in_mlp" => {}
        "pipe_parallel_size" => {
            let stages = int(item).unwrap_or(1).max(1);
            let (id, value) = (FieldId::pipeline_model_parallel_size, Value::Int(stages.into()));
            draft.set(item, id, value, KeyStatus::Derived, "");
        }
        "pipe_partition_method" => partition(draft, keys, item, &value),
        "moe_num_experts" if int(item).is_some_and(|experts| experts > 1) => {
            let value = item.value.clone();
            draft.set(item, FieldId::num_experts, value, KeyStatus::Mapped, "");
        }
        "moe_expert_interval" if keys.number("moe_num_experts").is_some_and(|n| n > 1) => {
            let value = item.value.clone();
            draft.set(item, FieldId::moe_layer_freq, value, KeyStatus::Mapped, "");
        }
        "moe_num_experts" | "moe_expert_interval" => {
            draft.row(item, KeyStatus::Ignored, None, "no experts");
        }
        _ => return false,
    }
    true
}

fn norm(draft: &mut JobDraft, item: &KeyValue, value: &str) {
    let (name, note) = match value.trim_start_matches("te_") {
        "rmsnorm" => ("RMSNorm", ""),
        "layernorm" => ("LayerNorm", ""),
        _ => ("LayerNorm", "counted like LayerNorm, which has more weights"),
    };
    let id = FieldId::normalization;
    let name = Value::Text(name.to_owned());
    draft.set(item, id, name, KeyStatus::Derived, note);
}

fn positions(draft: &mut JobDraft, keys: &Keys, item: &KeyValue, value: &str) {
    let name = match value {
        "learned" => "learned_absolute",
        "rotary" => "rope",
        _ => "none",
    };
    if matches!(value, "alibi" | "rpe") {
        // FlashAttention takes slopes of ALiBi; everywhere else biases are added to kept scores.
        let effect = if value == "alibi" && !keys.attends(&["global"]) {
            MemoryEffect::BelowTwoPercent
        } else {
            MemoryEffect::More
        };
        let reason = "biases of attention scores by position are not counted";
        draft.not_modelled(item, effect, reason);
        let name = Value::Text(name.to_owned());
        return draft.settings.set(FieldId::position_embedding_type, name);
    }
    let name = Value::Text(name.to_owned());
    let id = FieldId::position_embedding_type;
    draft.set(item, id, name, KeyStatus::Derived, "");
}

fn activation(draft: &mut JobDraft, item: &KeyValue, value: &str) {
    let id = match value {
        "geglu" => FieldId::geglu,
        name if GATED.contains(&name) => FieldId::swiglu,
        "gelu" => return draft.row(item, KeyStatus::Mapped, None, "GELU, not gated"),
        _ => {
            return draft.row(item, KeyStatus::Mapped, None, "not gated, counted like GELU");
        }
    };
    let note = match value {
        "geglu" | "swiglu" => "",
        _ => "counted like SwiGLU",
    };
    draft.set(item, id, Value::Bool(true), KeyStatus::Derived, note);
}

/// The kinds of attention in a list such as `[[["global", "flash"], 12]]`.
pub(super) fn kinds_of_attention(item: &KeyValue) -> Vec<String> {
    fn collect(value: &Value, kinds: &mut Vec<String>) {
        match value {
            Value::List(items) => items.iter().for_each(|item| collect(item, kinds)),
            Value::Text(kind) if kind != "all" => kinds.push(kind.to_ascii_lowercase()),
            _ => {}
        }
    }
    let mut kinds = Vec::new();
    collect(&item.value, &mut kinds);
    kinds
}

/// `flash` keeps no scores and `global` does. Other kinds are sparse.
fn attention(draft: &mut JobDraft, keys: &Keys, item: &KeyValue) {
    let kinds = kinds_of_attention(item);
    let is_sparse = |kind: &String| !matches!(kind.as_str(), "global" | "flash");
    if kinds.iter().any(is_sparse) {
        let reason = "sparse attention is counted as full attention";
        return draft.not_modelled(item, MemoryEffect::More, reason);
    }
    if keys.attends(&["global"]) && keys.attends(&["flash"]) {
        let reason = "layers without FlashAttention keep their scores, which are not counted";
        return draft.not_modelled(item, MemoryEffect::More, reason);
    }
    if keys.attends(&["flash"]) {
        let id = FieldId::attention_backend;
        let name = Value::Text("flash".to_owned());
        draft.set(item, id, name, KeyStatus::Derived, "");
    } else {
        // Set by `settle`, as where nothing is said.
        let id = FieldId::attention_backend;
        draft.row(item, KeyStatus::Derived, Some(id), "");
    }
}

/// Attention and MLP that both read the layer's input. Megatron-Core has no such layers. The parameters are the same;
/// the input of the second norm is no tensor of its own.
fn side_by_side(draft: &mut JobDraft, keys: &Keys) {
    let Some(item) = keys.find("gpt_j_residual") else {
        return;
    };
    if truth(&item.value) != Some(true) {
        return;
    }
    let size = |id| draft.number(id).unwrap_or(1);
    // Two bytes a token in each layer, beside logits in fp32, which are split over the ranks of tensor parallelism.
    let kept = size(FieldId::num_layers)
        .saturating_mul(size(FieldId::hidden_size))
        .saturating_mul(size(FieldId::tensor_model_parallel_size))
        .saturating_mul(2);
    let logits = draft.number(FieldId::vocab_size).unwrap_or(0).saturating_mul(4);
    let is_small = size(FieldId::pipeline_model_parallel_size) == 1 && kept.saturating_mul(50) <= logits;
    // Layers that are recomputed keep it one at a time.
    let effect = if is_small || keys.is_on("checkpoint_activations", false) {
        MemoryEffect::BelowTwoPercent
    } else {
        MemoryEffect::More
    };
    let reason = "attention and MLP side by side are counted one after the other: the same weights, and in each layer one more tensor";
    draft.not_modelled(item, effect, reason);
}

fn partition(draft: &mut JobDraft, keys: &Keys, item: &KeyValue, value: &str) {
    let has_stages = keys.number("pipe_parallel_size").is_some_and(|stages| stages > 1);
    if has_stages && !value.starts_with("type:transformer") {
        let reason = "stages are counted with the same number of layers each";
        draft.not_modelled(item, MemoryEffect::More, reason);
    } else {
        draft.row(item, KeyStatus::Ignored, None, "the same layers on each stage");
    }
}

/// Sets what several keys decide, or what the files leave out.
pub(super) fn settle(draft: &mut JobDraft, keys: &Keys) {
    if !draft.has(FieldId::attention_backend) && keys.attends(&["global"]) && !keys.attends(&["flash"]) {
        let id = FieldId::attention_backend;
        draft.default(id, Value::Text("unfused".to_owned()));
    }
    side_by_side(draft, keys);
    biases(draft, keys);
    experts(draft, keys);
}

/// Megatron-LM has one switch for the biases of all linear layers, and one for queries, keys and values beside it.
fn biases(draft: &mut JobDraft, keys: &Keys) {
    let (linear, queries) = (FieldId::add_bias_linear, FieldId::add_qkv_bias);
    let attends = keys.is_on("use_bias_in_attn_linear", true);
    let in_mlp = keys.is_on("use_bias_in_mlp", true);
    let item = keys.find("use_bias_in_mlp").cloned();
    let item = item.unwrap_or_else(|| KeyValue {
        key: "use_bias_in_mlp".to_owned(),
        value: Value::Bool(true),
        line: 0,
    });
    draft.settings.set(linear, Value::Bool(attends && in_mlp));
    match (attends, in_mlp) {
        (true, false) => {
            draft.settings.set(queries, Value::Bool(true));
            let reason = "biases behind attention are not counted";
            draft.not_modelled(&item, MemoryEffect::BelowTwoPercent, reason);
        }
        (false, true) => {
            let reason = "biases in MLPs alone are not counted";
            draft.not_modelled(&item, MemoryEffect::BelowTwoPercent, reason);
        }
        _ => draft.row(&item, KeyStatus::Derived, Some(linear), ""),
    }
}

/// Experts, which GPT-NeoX splits over the ranks of tensor parallelism whole (`ParallelDroplessMLP` in
/// `megatron/model/moe.py`).
fn experts(draft: &mut JobDraft, keys: &Keys) {
    if !draft.has(FieldId::num_experts) {
        return;
    }
    let tensor = draft.number(FieldId::tensor_model_parallel_size).unwrap_or(1);
    let hidden = draft.number(FieldId::hidden_size).unwrap_or(0);
    let own = keys.number("intermediate_size");
    let width = own.unwrap_or_else(|| hidden.saturating_mul(4).div_ceil(256).saturating_mul(256));
    draft.default(FieldId::moe_grouped_gemm, Value::Bool(true));
    draft.default(FieldId::moe_ffn_hidden_size, Value::Int(width.into()));
    draft.default(FieldId::expert_model_parallel_size, Value::Int(tensor.into()));
    draft.default(FieldId::expert_tensor_parallel_size, Value::Int(1));
    if GATED.contains(&keys.word("activation").as_str()) {
        let reason = "experts have no gate, and are counted with one";
        draft.marks.push(NotModelled::new("moe_num_experts", reason));
    }
}
