//! Adapters in the configurations of front ends. Whether there are any is said by one key, which may come after the
//! others, and which is another in every front end.

use crate::config::adapters::{PeftSetting, read_setting};
use crate::config::choices::AdapterType;
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{is_off, word};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// A setting of adapters, which counts only where there are any.
pub(in crate::formats) const SETTING: KeyRole = KeyRole::kept("adapters", Decides::field(FieldId::peft_type));

/// What other ways to train few parameters leave out.
const OTHER_TUNERS: &str = "only adapters are trained: all other weights need no gradients and no optimizer states";

/// ms-swift's name for adapters in the language model beside a vision tower that is trained in full.
pub(in crate::formats) const LANGUAGE_ALONE: &str = "lora_llm";

/// The kind of adapters that keys ask for: its name, nothing, or the key that asks for something else.
pub(in crate::formats) type Kind<'k> = Result<Option<Value>, &'k KeyValue>;

/// The last key whose setting has this name.
pub(in crate::formats) fn find<'k>(keys: &'k Keys<'_>, name: &str) -> Option<&'k KeyValue> {
    keys.with_role(SETTING).rev().find(|item| setting_of(item) == name)
}

/// The name of a kind.
pub(in crate::formats) fn named(kind: AdapterType) -> Value {
    Value::Text(kind.name().to_owned())
}

/// The name of a setting in the configuration of its adapters.
fn setting_of(item: &KeyValue) -> &str {
    let key = item.key.trim_start_matches(['-', '+']);
    key.rsplit('.').next().unwrap_or(key)
}

/// Megatron-Bridge's name of a setting.
fn bridge_name(name: &str) -> &str {
    match name {
        "lora_rank" => "rank",
        "lora_alpha" => "alpha",
        "lora_dropout" => "dropout",
        "lora_dim" => "dim",
        "lora_dropout_position" => "dropout_position",
        "lora_target_modules" => "target_modules",
        "lora_in_init_method" => "lora_A_init_method",
        "lora_out_init_method" => "lora_B_init_method",
        "peft" | "tuner_type" | "train_type" | "_class" | "peft_type" => "type",
        name => name,
    }
}

/// Sets the fields of Megatron-Bridge's adapters: their class says the kind.
pub(in crate::formats) fn of_bridge(draft: &mut JobDraft, keys: &Keys<'_>) {
    let names = ["type", "_target_", "_class", "peft"];
    let kind = names.into_iter().find_map(|name| find(keys, name));
    let off = kind.is_some_and(|item| is_off(&item.value));
    let given = kind.map_or_else(|| named(AdapterType::Lora), |item| item.value.clone());
    set(draft, keys, Ok((!off).then_some(given)), &[]);
}

/// Sets the fields of adapters. `defaults` are those of the front end.
pub(in crate::formats) fn set(draft: &mut JobDraft, keys: &Keys<'_>, kind: Kind<'_>, defaults: &[(FieldId, Value)]) {
    if keys.with_role(SETTING).next().is_none() {
        return;
    }
    let kind = kind.unwrap_or_else(|item| {
        draft.not_modelled(item, MemoryEffect::More, OTHER_TUNERS);
        None
    });
    let Some(kind) = kind else {
        for item in keys.with_role(SETTING) {
            if draft.report.iter().all(|row| row.key != item.key) {
                let decides = matches!(bridge_name(setting_of(item)), "type" | "rank" | "enabled");
                let note = if decides {
                    "switched off"
                } else {
                    "there are no adapters"
                };
                draft.row(item, KeyStatus::Ignored, None, note);
            }
        }
        return;
    };
    if let PeftSetting::Field(id, value) = read_setting("type", &kind) {
        draft.settings.set(id, value);
    }
    for (id, value) in defaults {
        draft.settings.set(*id, value.clone());
    }
    for item in keys.with_role(SETTING) {
        one(draft, item, &kind);
    }
}

/// Sets the adapters that a flag or the name of a recipe of Megatron-Bridge asks for, where no key says which.
pub(in crate::formats) fn of_recipe(draft: &mut JobDraft, item: &KeyValue) {
    let id = FieldId::peft_type;
    if draft.has(id) {
        draft.row(item, KeyStatus::Ignored, Some(id), "other keys say it");
        return;
    }
    let kind = if word(&item.value).contains("dora") {
        AdapterType::Dora
    } else {
        AdapterType::Lora
    };
    let value = Value::Text(kind.name().to_owned());
    draft.set(item, id, value, KeyStatus::Derived, "only adapters are trained");
}

/// Sets the field of one key.
fn one(draft: &mut JobDraft, item: &KeyValue, kind: &Value) {
    let name = bridge_name(setting_of(item));
    if name == "enabled" {
        let note = "LoRA";
        draft.row(item, KeyStatus::Derived, Some(FieldId::peft_type), note);
        return;
    }
    let value = match (name, &item.value) {
        ("type", _) => kind,
        (_, value) => value,
    };
    if name == "type" && word(&item.value) == LANGUAGE_ALONE {
        let reason = "the vision tower, which is trained in full, is not counted";
        draft.not_modelled(item, MemoryEffect::More, reason);
        return;
    }
    let all = match value {
        Value::Text(text) => text == "all-linear",
        Value::List(items) => items.iter().any(|one| word(one) == "all-linear"),
        _ => false,
    };
    let routers = matches!(value, Value::List(items) if items.iter().any(|one| word(one) == "all-router"));
    if all && routers {
        let reason = "adapters of routers";
        draft.not_modelled(item, MemoryEffect::BelowTwoPercent, reason);
        return;
    }
    match read_setting(name, value) {
        PeftSetting::Field(FieldId::peft_target_modules, _) if all => {
            let note = "the projections of attention, MLPs and experts";
            let id = Some(FieldId::peft_target_modules);
            draft.row(item, KeyStatus::Derived, id, note);
        }
        PeftSetting::Field(id, Value::Null) => {
            draft.row(item, KeyStatus::Ignored, Some(id), "not set");
        }
        // Words of a shell script.
        PeftSetting::Field(id @ FieldId::peft_target_modules, Value::Text(text)) => {
            let names: Vec<&str> = text.split([' ', ',']).filter(|name| !name.is_empty()).collect();
            let value = Value::Text(names.join(", "));
            draft.set(item, id, value, KeyStatus::Mapped, "");
        }
        PeftSetting::Field(id, value) => draft.set(item, id, value, KeyStatus::Mapped, ""),
        PeftSetting::Ignored => {
            draft.row(item, KeyStatus::Ignored, None, "does not change memory");
        }
        PeftSetting::Unknown => {
            draft.not_modelled(item, MemoryEffect::BelowTwoPercent, "not followed");
        }
    }
}
