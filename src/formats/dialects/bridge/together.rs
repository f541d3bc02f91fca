//! The fields that several settings of a Megatron-Bridge configuration decide together. It writes down every field of
//! its classes, also those that other fields switch off.

use super::tower;
use crate::config::canonical::{is_on, meaning};
use crate::config::field::Kind;
use crate::config::fields::FieldId;
use crate::config::layer_sizes::{LayerSize, LayerSizes, LayerSizesList};
use crate::config::not_modelled::NotModelled;
use crate::config::relevance::is_switched_off;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::ImportError;
use crate::formats::import::draft::{JobDraft, python};
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::towers::sizes::int;
use crate::formats::import::values::{truth, word};
use crate::formats::node::{Data, Node};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// `cpu_offloading`: without it, `cpu_offloading_num_layers` says nothing.
pub(super) const CPU_OFFLOADING: KeyRole =
    KeyRole::kept("cpu_offloading", Decides::field(FieldId::cpu_offloading_num_layers));

/// Takes out the fields that others switch off.
pub(in crate::formats) fn without_what_is_off(draft: &mut JobDraft, keys: &Keys<'_>) {
    if let Some(item) = keys.get(CPU_OFFLOADING) {
        let on = truth(&item.value) == Some(true);
        let note = if on {
            "as many layers as cpu_offloading_num_layers"
        } else {
            forget(draft, FieldId::cpu_offloading_num_layers, "cpu_offloading is off");
            "switched off"
        };
        let id = FieldId::cpu_offloading_num_layers;
        draft.row(item, KeyStatus::Derived, Some(id), note);
    }
    if is_on(&draft.settings, FieldId::multi_latent_attention) {
        // Bridge fills in the number of heads.
        let why = "latent attention has no groups of queries";
        forget(draft, FieldId::group_query_attention, why);
        forget(draft, FieldId::num_query_groups, why);
    }
    built_by_class(draft);
    layer_wise_muon(draft);
    overlap(draft, keys);
    if draft.nothing_offloaded {
        let why = "none of its modules is followed";
        forget(draft, FieldId::fine_grained_activation_offloading, why);
    }
    let fp8 = FieldId::fp8_format;
    if draft.has(fp8) && meaning(fp8, draft.settings.get(fp8)) == meaning(fp8, None) {
        let why = "there is no training in fp8";
        forget(draft, FieldId::moe_router_padding_for_quantization, why);
    }
    for id in [
        FieldId::optimizer_offload_fraction,
        FieldId::data_parallel_sharding_strategy,
    ] {
        if draft.has(id) && is_switched_off(&draft.settings, id) {
            forget(draft, id, "what it belongs to is off");
        }
    }
    let deferred = FieldId::defer_embedding_wgrad_compute;
    if draft.has(deferred) && !is_on(&draft.settings, deferred) {
        forget(draft, FieldId::wgrad_deferral_limit, "nothing is deferred");
    }
}

/// Takes out what does nothing while gradients are not reduced during the backward pass.
pub(in crate::formats) fn overlap(draft: &mut JobDraft, _: &Keys<'_>) {
    let grad = FieldId::overlap_grad_reduce;
    if draft.has(grad) && !is_on(&draft.settings, grad) {
        let why = "without overlap_grad_reduce it changes no buffers";
        forget(draft, FieldId::overlap_param_gather, why);
    }
}

/// Applies a list of names of which some are not followed: they mark the job, and the others count. Returns whether it is
/// such a list.
pub(super) fn partly_followed(draft: &mut JobDraft, item: &KeyValue, id: FieldId) -> bool {
    let Some((known, unknown)) = known_names(id, &item.value) else {
        return false;
    };
    let note = format!("{} is not followed", unknown.join(", "));
    draft.marks.push(NotModelled::new(&item.key, note.clone()));
    draft.row(item, KeyStatus::NotModelled, Some(id), note);
    let is_empty = known == Value::List(Vec::new());
    draft.settings.set(id, known);
    if is_empty && id == FieldId::offload_modules {
        draft.nothing_offloaded = true;
    }
    true
}

/// Parameters in fp8 beside the older name of Muon with sharded states, which Megatron-LM's command line refuses and
/// Megatron-Bridge does not: the newer name says the same.
fn layer_wise_muon(draft: &mut JobDraft) {
    let optimizer = draft.settings.get(FieldId::optimizer).map(word);
    if optimizer.as_deref() == Some("dist_muon") && is_on(&draft.settings, FieldId::fp8_param_gather) {
        let muon = Value::Text(String::from("muon"));
        draft.settings.set(FieldId::optimizer, muon);
        let distributed = FieldId::use_distributed_optimizer;
        draft.settings.set(distributed, Value::Bool(true));
        for row in &mut draft.report {
            if row.field == Some(FieldId::optimizer) || row.field == Some(distributed) {
                row.status = KeyStatus::Derived;
                row.note = "Megatron-LM calls it muon with use_distributed_optimizer".into();
            }
        }
    }
}

/// Takes a field out; its report row says why.
fn forget(draft: &mut JobDraft, id: FieldId, why: &'static str) {
    draft.missing.retain(|missing| !missing.is_of(id));
    draft.settings.unset(id);
    for row in draft.report.iter_mut().filter(|row| row.field == Some(id)) {
        row.status = KeyStatus::Ignored;
        row.note = why.into();
    }
}

/// Parts of a model that Bridge builds around or instead of the language model, told by the model's class.
const CLASSES: &[(&str, &str)] = &[
    ("VL", ENCODER),
    ("Omni", ENCODER),
    ("Audio", ENCODER),
    ("Qwen3ASR", ENCODER),
    ("Ministral3", ENCODER),
    ("Exaone45", ENCODER),
    ("GLM45V", ENCODER),
    (
        "Gemma4Dense",
        "embeddings per layer, shared keys and values, and encoders beside the language model are not counted",
    ),
    ("Gemma4VL", ENCODER),
    (
        "Step37",
        "encoders beside the language model, the gates of heads, and the heads of layers with a window are not counted",
    ),
    (
        "Step35",
        "the gates of heads, and the heads of layers with a window, are not counted",
    ),
];

/// Settings that follow from a model's class alone, since its configuration has no key for them or leaves the key out: a
/// part of the class's name, the field, and its value as Python prints it.
const BUILT_BY_CLASS: &[(&str, FieldId, &str)] = &[
    ("FalconH1", FieldId::mamba_beside_attention, "True"),
    ("MiniMaxM3", FieldId::moe_router_weight_in_fp32, "True"),
    ("Gemma4", FieldId::post_layernorm, "True"),
    ("Gemma4", FieldId::separate_moe_norms, "True"),
    ("Gemma4", FieldId::value_layernorm, "True"),
    ("Gemma4", FieldId::final_logit_softcapping, "30.0"),
    ("Gemma2", FieldId::post_layernorm, "True"),
    ("Gemma3VL", FieldId::image_attention_bias, "True"),
    ("Gemma2", FieldId::final_logit_softcapping, "30.0"),
    ("Gemma3", FieldId::post_layernorm, "True"),
    ("OlMoE", FieldId::qk_layernorm_all_heads, "True"),
    ("ExaoneMoe", FieldId::mtp_dense, "True"),
    ("MiMoV2Flash", FieldId::mtp_dense, "True"),
    ("GLM45V", FieldId::bias_swiglu_fusion, "True"),
    ("LlamaNemotron", FieldId::bias_swiglu_fusion, "True"),
    ("LlamaNemotron", FieldId::apply_rope_fusion, "True"),
    ("Qwen25Omni", FieldId::bias_swiglu_fusion, "True"),
    ("Qwen3ASR", FieldId::bias_swiglu_fusion, "True"),
    ("Qwen3VL", FieldId::bias_swiglu_fusion, "True"),
    ("Qwen35VL", FieldId::bias_swiglu_fusion, "True"),
    ("Qwen35VL", FieldId::attention_output_gate, "True"),
    ("Step35", FieldId::mtp_dense, "True"),
    ("Step37", FieldId::mtp_dense, "True"),
];

/// Sets the fields that the model's class stands for.
fn built_by_class(draft: &mut JobDraft) {
    let Some(item) = draft.model_class.take() else {
        return;
    };
    let class = word(&item.value);
    let name = class.rsplit('.').next().unwrap_or_default();
    let has_mtp = draft.number(FieldId::mtp_num_layers).unwrap_or_default() > 0;
    for (part, id, value) in BUILT_BY_CLASS {
        let is_said = draft.has(*id);
        if name.contains(part) && !is_said && (*id != FieldId::mtp_dense || has_mtp) {
            let note = "the class of the model builds it";
            draft.set(&item, *id, python(value), KeyStatus::Derived, note);
        }
    }
    query_norm(draft, &item);
}

/// Megatron-Core as Megatron-Bridge uses it fuses a norm into the query projection of latent attention that does not
/// compress queries.
fn query_norm(draft: &mut JobDraft, class: &KeyValue) {
    let is_on = |id| is_on(&draft.settings, id);
    let uncompressed = draft.settings.get(FieldId::q_lora_rank) == Some(&Value::Null);
    if is_on(FieldId::multi_latent_attention) && is_on(FieldId::qk_layernorm) && uncompressed {
        let id = FieldId::mla_q_proj_layernorm;
        let note = "Megatron-Core fuses a norm into the query projection";
        draft.set(class, id, Value::Bool(true), KeyStatus::Derived, note);
    }
}

const ENCODER: &str = "encoders and projectors beside the language model are not counted";

/// The mark for the parts of a model that its class has beyond those of a language model.
fn mark_of_class(class: &str) -> Option<NotModelled> {
    let name = class.rsplit('.').next().unwrap_or_default();
    let found = CLASSES.iter().find(|(part, _)| name.contains(part));
    found.map(|(_, reason)| NotModelled::new("model._target_", *reason))
}

/// The name of a model that is no language model, told by its class.
fn other_model(class: &str) -> Option<&'static str> {
    let name = class.rsplit('.').next().unwrap_or_default();
    let others = [
        ("Wan", "a diffusion model for videos"),
        ("Flux", "a diffusion model for images"),
        ("DiT", "a diffusion model"),
    ];
    let found = others.iter().find(|(part, _)| name.starts_with(part));
    found.map(|(_, what)| *what)
}

/// Names in a list that the field does not know: the rest of the list counts.
fn known_names(id: FieldId, value: &Value) -> Option<(Value, Vec<String>)> {
    // Names of graphs that belong to other fields are sorted out at the end.
    if id == FieldId::cuda_graph_modules {
        return None;
    }
    let (Kind::Set(names), Value::List(items)) = (id.field().kind, value) else {
        return None;
    };
    let (known, unknown): (Vec<_>, Vec<_>) = items.iter().map(word).partition(|name| names.contains(&name.as_str()));
    let known = known.into_iter().map(Value::Text).collect();
    (!unknown.is_empty()).then_some((Value::List(known), unknown))
}

/// Marks a job whose model has more than a language model, by the class of the model.
pub(super) fn model_class(draft: &mut JobDraft, root: &Node) -> Result<(), ImportError> {
    draft.towers = tower::read(root);
    let model = root.get("model").map_or([].as_slice(), Node::entries);
    let Some(entry) = model.iter().find(|entry| entry.key == "_target_") else {
        return Ok(());
    };
    let Data::Text(class) = &entry.node.data else {
        return Ok(());
    };
    draft.model_class = Some(KeyValue {
        key: String::from("model._target_"),
        value: Value::Text(class.clone()),
        line: entry.line,
    });
    if let Some(what) = other_model(class) {
        return Err(ImportError::NotRead(what));
    }
    draft.marks.extend(mark_of_class(class));
    if class.contains("Gemma4") {
        sizes_of_full_attention(draft, root);
    }
    Ok(())
}

/// The sizes of Gemma 4's layers with full attention, which the configuration of its text model has.
fn sizes_of_full_attention(draft: &mut JobDraft, root: &Node) {
    let text = root.get("model").and_then(|model| model.get("text_config"));
    let types = text.and_then(|text| text.entry("layer_types"));
    let (Some(text), Some(types)) = (text, types) else {
        return;
    };
    let Data::List(kinds) = &types.node.data else { return };
    let number = |key| int(text, key).and_then(|number| u64::try_from(number).ok());
    let full = LayerSizes {
        num_query_groups: number("num_global_key_value_heads").map(LayerSize::from),
        kv_channels: number("global_head_dim").map(LayerSize::from),
        ..LayerSizes::default()
    };
    let of_kind = |kind: &Node| match &kind.data {
        Data::Text(name) if name == "full_attention" => full,
        _ => LayerSizes::default(),
    };
    let list = LayerSizesList {
        decoder: kinds.iter().map(of_kind).collect(),
        ..LayerSizesList::default()
    };
    if list.is_of_module() {
        return;
    }
    let item = KeyValue {
        key: String::from("model.text_config.layer_types"),
        value: types.node.to_value(),
        line: types.line,
    };
    let note = "heads of layers with full attention";
    draft.set(
        &item,
        FieldId::layer_sizes,
        Value::Text(list.to_string()),
        KeyStatus::Derived,
        note,
    );
}
