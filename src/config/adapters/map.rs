//! `peft` as a map of Megatron-Bridge's own names: `{"type": "lora", "dim": 16, "target_modules": ["linear_qkv"]}`.

use super::super::choices::AdapterType;
use super::super::fields::FieldId;
use crate::value::Value;

/// What an entry of the map means.
#[derive(Clone, Debug, PartialEq)]
pub enum PeftSetting {
    /// A field gets a value.
    Field(FieldId, Value),
    /// It changes no memory.
    Ignored,
    /// There is no such setting.
    Unknown,
}

/// Keys without influence on memory: how matrices are initialized, and dtypes of torch's own linear layers, of which
/// Megatron's models have none. A vision model that is not frozen is a module of its own here.
const IGNORED: [&str; 12] = [
    "lora_A_init_method",
    "lora_B_init_method",
    "column_init_method",
    "row_init_method",
    "lora_dtype",
    "dtype",
    "canonical_mapping",
    "params_to_save",
    "freeze_vision_model",
    "freeze_vision_projection",
    "freeze_language_model",
    "use_rslora",
];

/// The fields that a value of `peft` sets, and the entries that mean nothing here with whether they are known. A text
/// is the type; without one it is `LoRA` (`create_peft`).
#[must_use]
pub fn read_peft(value: &Value) -> Vec<(String, PeftSetting)> {
    let kind = |name: &str| PeftSetting::Field(FieldId::peft_type, type_name(name));
    match value {
        Value::Null => Vec::new(),
        Value::Text(name) => vec![("type".to_owned(), kind(name))],
        Value::Map(entries) => {
            let setting = |(key, value): &(String, Value)| (key.clone(), read_setting(key, value));
            let mut out: Vec<(String, PeftSetting)> = entries.iter().map(setting).collect();
            let typed =
                |(_, setting): &(String, PeftSetting)| matches!(setting, PeftSetting::Field(FieldId::peft_type, _));
            if !out.iter().any(typed) {
                out.push(("type".to_owned(), kind(AdapterType::Lora.name())));
            }
            out
        }
        other => vec![("type".to_owned(), PeftSetting::Field(FieldId::peft_type, other.clone()))],
    }
}

/// What one entry means.
#[must_use]
pub fn read_setting(key: &str, value: &Value) -> PeftSetting {
    let field = match key {
        "type" | "_target_" | "_class" | "peft_scheme" => FieldId::peft_type,
        "dim" | "rank" => FieldId::peft_dim,
        "alpha" => FieldId::peft_alpha,
        "dropout" => FieldId::peft_dropout,
        "dropout_position" => FieldId::peft_dropout_position,
        "target_modules" => FieldId::peft_target_modules,
        "exclude_modules" => FieldId::peft_exclude_modules,
        "sequence_parallel_input_regather" => FieldId::peft_sequence_parallel_input_regather,
        "a2a_experimental" => FieldId::peft_a2a_experimental,
        "normalize_moe_lora" => FieldId::peft_normalize_moe_lora,
        "share_expert_adapters" => FieldId::peft_share_expert_adapters,
        "experts_shared_outer_loras" => FieldId::peft_experts_shared_outer_loras,
        _ if IGNORED.contains(&key) => return PeftSetting::Ignored,
        _ => return PeftSetting::Unknown,
    };
    let value = match (field, value) {
        (FieldId::peft_type, Value::Text(name)) => type_name(name),
        (FieldId::peft_target_modules | FieldId::peft_exclude_modules, Value::List(names)) => list(names),
        _ => value.clone(),
    };
    PeftSetting::Field(field, value)
}

/// The name of a type: Megatron-Bridge's own (`canonical_lora`), its class (`CanonicalLoRA`), or the class with its
/// module.
fn type_name(given: &str) -> Value {
    let class = given.rsplit('.').next().unwrap_or(given);
    let plain: String = class.chars().filter(|c| *c != '_' && *c != '-').collect();
    let known = match plain.to_ascii_lowercase().as_str() {
        "lora" | "vlmlora" => Some(AdapterType::Lora),
        "canonicallora" => Some(AdapterType::CanonicalLora),
        "dora" => Some(AdapterType::Dora),
        "none" | "" => Some(AdapterType::None),
        _ => None,
    };
    Value::Text(known.map_or_else(|| given.to_owned(), |kind| kind.name().to_owned()))
}

/// Names as a text. No names at all mean that the list is left out.
fn list(names: &[Value]) -> Value {
    let name = |value: &Value| match value {
        Value::Text(name) => name.clone(),
        other => other.to_string(),
    };
    let names: Vec<String> = names.iter().map(name).collect();
    if names.is_empty() {
        Value::Null
    } else {
        Value::Text(names.join(", "))
    }
}
