//! The layers of a hybrid model, which several keys say together (`validate_args` in `megatron/training/arguments.py`,
//! `HybridModelProvider.finalize` in Megatron-Bridge).

use super::model::PROGRAM;
use crate::config::canonical::is_on;
use crate::config::fields::FieldId;
use crate::config::hybrid_pattern::HybridPattern;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::dialects::meaning::{Decides, KeyMeaning, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{is_off, word};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

const ID: FieldId = FieldId::hybrid_layer_pattern;
const DECIDES: Decides = Decides::field(ID);

/// `hybrid_layer_pattern`: the layers of a hybrid model.
const PATTERN: KeyRole = KeyRole::kept("hybrid_layer_pattern", DECIDES);
/// `hybrid_override_pattern`: the older name of `hybrid_layer_pattern`.
pub(in crate::formats) const OLDER_PATTERN: KeyRole = KeyRole::kept("hybrid_override_pattern", DECIDES);
/// `mtp_hybrid_override_pattern`: the layers of one MTP depth of a hybrid model.
const MTP_PATTERN: KeyRole = KeyRole::kept("mtp_hybrid_override_pattern", DECIDES);
/// `hybrid_attention_ratio`: the part of a hybrid model's layers that are attention.
const ATTENTION_RATIO: KeyRole = KeyRole::kept("hybrid_attention_ratio", DECIDES);
/// `hybrid_mlp_ratio`: the part of a hybrid model's layers that are MLPs.
const MLP_RATIO: KeyRole = KeyRole::kept("hybrid_mlp_ratio", DECIDES);
/// Programs that train hybrid models alone.
const PROGRAMS: [&str; 2] = ["pretrain_hybrid.py", "pretrain_mamba.py"];
/// `spec`: the module and the function that says what the letters of a pattern stand for.
const SPEC: KeyRole = KeyRole::read("layer_spec", Decides::field(FieldId::spec), |draft, _, item| {
    spec(draft, item);
});

/// The meaning of a key that says something about the layers of a hybrid model, in all front ends.
pub(in crate::formats) fn find(name: &str) -> Option<KeyMeaning> {
    Some(KeyMeaning::Role(match name {
        "hybrid_layer_pattern" => PATTERN,
        "hybrid_override_pattern" => OLDER_PATTERN,
        "mtp_hybrid_override_pattern" => MTP_PATTERN,
        "hybrid_attention_ratio" => ATTENTION_RATIO,
        "hybrid_mlp_ratio" => MLP_RATIO,
        "spec" | "hybrid_stack_spec" | "mamba_stack_spec" => SPEC,
        // It changes how weights are initialized.
        "is_hybrid_model" => return Some(KeyMeaning::Irrelevant),
        _ => return None,
    }))
}

/// What becomes of the MTP part of a pattern beside a key for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MtpPart {
    /// Megatron-LM adds the part to a pattern that has none.
    Added,
    /// Megatron-Bridge replaces the part.
    Replaced,
}

/// Sets `hybrid_layer_pattern` as Megatron-LM does.
pub(in crate::formats) fn layers(draft: &mut JobDraft, keys: &Keys<'_>) {
    set(draft, keys, MtpPart::Added);
}

/// Sets `hybrid_layer_pattern` as Megatron-Bridge does.
pub(in crate::formats) fn layers_of_bridge(draft: &mut JobDraft, keys: &Keys<'_>) {
    set(draft, keys, MtpPart::Replaced);
}

fn set(draft: &mut JobDraft, keys: &Keys<'_>, part: MtpPart) {
    let given = |draft: &mut JobDraft, role: KeyRole| {
        let item = keys.get(role)?;
        if is_off(&item.value) {
            draft.row(item, KeyStatus::Ignored, None, "switched off");
            return None;
        }
        Some(item)
    };
    let pattern = given(draft, PATTERN);
    let older = given(draft, OLDER_PATTERN);
    let mtp = given(draft, MTP_PATTERN);
    let pattern = match (pattern, older) {
        (Some(pattern), Some(older)) => {
            let note = "hybrid_layer_pattern counts; Megatron-LM refuses both together";
            draft.row(older, KeyStatus::Conflicting, Some(ID), note);
            Some(pattern)
        }
        (pattern, older) => pattern.or(older),
    };
    let ratios = [given(draft, ATTENTION_RATIO), given(draft, MLP_RATIO)];
    match pattern {
        Some(item) => {
            let text = with_mtp(draft, &shown_whole(&item.value), mtp, part);
            let depths = text.parse::<HybridPattern>().map_or(0, |p| p.depths());
            draft.set(item, ID, Value::Text(text), KeyStatus::Mapped, "");
            // The pattern says it.
            let said = FieldId::mtp_num_layers;
            if depths > 0 && draft.number(said) == Some(depths) {
                draft.settings.unset(said);
            }
            for ratio in ratios.into_iter().flatten() {
                let note = "the pattern says which layers there are";
                draft.row(ratio, KeyStatus::Ignored, None, note);
            }
        }
        None if ratios.iter().any(Option::is_some) => from_ratios(draft, ratios, mtp, part),
        None => {
            let program = keys.get(PROGRAM);
            if let Some(program) = program.filter(|item| PROGRAMS.contains(&item.key.as_str())) {
                only_mamba(draft, program);
            }
            if let Some(mtp) = mtp {
                let note = "only for models with a hybrid_layer_pattern";
                draft.row(mtp, KeyStatus::Ignored, None, note);
            }
        }
    }
}

/// The pattern with an MTP part.
fn with_mtp(draft: &mut JobDraft, pattern: &str, mtp: Option<&KeyValue>, part: MtpPart) -> String {
    let Some(mtp) = mtp else {
        return pattern.to_owned();
    };
    let is_replaced = part == MtpPart::Replaced;
    // Written out where it is an expression of quoted parts.
    let expanded = |text: &str| {
        let parsed = text.parse::<HybridPattern>();
        parsed.map_or_else(|_| text.to_owned(), |pattern| pattern.to_string())
    };
    let main = expanded(pattern);
    let (main, has_mtp) = match main.split_once('/') {
        Some((main, _)) => (main.to_owned(), true),
        None => (main, false),
    };
    if has_mtp && !is_replaced {
        let note = "hybrid_layer_pattern has MTP depths already";
        draft.row(mtp, KeyStatus::Ignored, None, note);
        return pattern.to_owned();
    }
    let given = draft.number(FieldId::mtp_num_layers).unwrap_or(0);
    let repeated = is_on(&draft.settings, FieldId::mtp_use_repeated_layer);
    let depths = if is_replaced && repeated { given.max(1) } else { given };
    if depths == 0 {
        let note = "without mtp_num_layers it builds nothing";
        draft.row(mtp, KeyStatus::Ignored, None, note);
        return main;
    }
    let depth = expanded(&shown_whole(&mtp.value));
    let note = "the layers of each MTP depth";
    draft.row(mtp, KeyStatus::Derived, Some(ID), note);
    // No job has more depths; the number comes from the text.
    let depths = usize::try_from(depths.min(100)).unwrap_or_default();
    main + &format!("/{depth}").repeat(depths)
}

/// The pattern that Megatron-LM makes of the parts of all layers that are attention and MLPs.
fn from_ratios(draft: &mut JobDraft, ratios: [Option<&KeyValue>; 2], mtp: Option<&KeyValue>, part: MtpPart) {
    let ratio = |item: Option<&KeyValue>| match item {
        Some(item) => shown(&item.value).parse::<f64>().ok(),
        None => Some(0.0),
    };
    let [attention, mlp] = ratios;
    let layers = draft.number(FieldId::num_layers);
    let pattern = match (layers, ratio(attention), ratio(mlp)) {
        (Some(layers), Some(attention), Some(mlp)) => HybridPattern::from_ratios(layers, attention, mlp),
        _ => None,
    };
    let Some(pattern) = pattern else {
        for item in ratios.into_iter().chain([mtp]).flatten() {
            let why = match layers {
                Some(_) => "Megatron-LM takes parts of 1 that are no more than 1 together",
                None => "num_layers is missing",
            };
            draft.add_missing(item, Some(ID), why.to_owned());
        }
        return;
    };
    let pattern = with_mtp(draft, &pattern.to_string(), mtp, part);
    for item in ratios.into_iter().flatten() {
        let note = "the layers spread over num_layers";
        if draft.has(ID) {
            draft.row(item, KeyStatus::Derived, Some(ID), note);
        } else {
            let value = Value::Text(pattern.clone());
            draft.set(item, ID, value, KeyStatus::Derived, note);
        }
    }
}

/// The layers of a program for hybrid models whose job says nothing about them: older versions of Megatron-LM built
/// Mamba layers alone.
fn only_mamba(draft: &mut JobDraft, program: &KeyValue) {
    let layers = draft.number(FieldId::num_layers);
    let pattern = layers.and_then(|layers| HybridPattern::from_ratios(layers, 0.0, 0.0));
    if let Some(pattern) = pattern {
        let value = Value::Text(pattern.to_string());
        let note = "without a pattern every layer is a Mamba layer";
        draft.set(program, ID, value, KeyStatus::Derived, note);
    }
}

/// Applies `spec`: the module and the function that says what the letters of a pattern stand for. Only the function's
/// name counts.
fn spec(draft: &mut JobDraft, item: &KeyValue) {
    if is_off(&item.value) {
        return draft.row(item, KeyStatus::Ignored, None, "switched off");
    }
    let words = match &item.value {
        Value::List(words) => words.last().map(shown_whole).unwrap_or_default(),
        Value::Map(_) => word(&item.value),
        other => shown_whole(other),
    };
    let separates = |c: char| c.is_whitespace() || matches!(c, '.' | ',' | '[' | ']' | '\'' | '"');
    let function = words.split(separates).rfind(|word| !word.is_empty());
    let name = match function.unwrap_or_default() {
        "hybrid_stack_spec"
        | "mamba_stack_spec"
        | "transformer_engine_hybrid_stack_spec"
        | "transformer_engine_mamba_stack_spec"
        | "get_default_hybrid_stack_spec"
        | "get_default_mamba_stack_spec" => "hybrid_stack_spec",
        "gated_delta_product_stack_spec" | "gdp_stack_spec" => "gated_delta_product_stack_spec",
        _ => {
            let note = "layers of a specification that the estimate does not follow";
            return draft.not_modelled(item, MemoryEffect::More, note);
        }
    };
    let value = Value::Text(name.to_owned());
    draft.set(item, FieldId::spec, value, KeyStatus::Mapped, "");
}

/// A text as it is, without the limit of a report; anything else as a report shows it.
fn shown_whole(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => shown(other),
    }
}
