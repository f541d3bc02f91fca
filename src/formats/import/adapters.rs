//! Adapters in the configurations of Megatron-Bridge, verl, ms-swift and `FlagScale`. Whether there are any is said by
//! one key, which may come after the others.

use super::draft::{JobDraft, KeyValue};
use super::values::{int, is_off, word};
use crate::config::adapters::{PeftSetting, read_setting};
use crate::config::choices::AdapterType;
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::formats::dialects::Dialect;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// What other ways to train few parameters leave out.
const OTHER_TUNERS: &str = "only adapters are trained: all other weights need no gradients and no optimizer states";

/// ms-swift's name for adapters in the language model beside a vision tower that is trained in full.
const LANGUAGE_ALONE: &str = "lora_llm";

/// The keys of adapters.
#[derive(Default)]
pub(super) struct AdapterKeys(Vec<KeyValue>);

impl AdapterKeys {
    /// Takes a key.
    pub(super) fn add(&mut self, item: &KeyValue) {
        self.0.push(item.clone());
    }

    /// The last key whose setting has this name.
    fn find(&self, name: &str) -> Option<&KeyValue> {
        self.0.iter().rev().find(|item| setting_of(item) == name)
    }

    /// The kind of adapters that the keys ask for, or what they ask for instead.
    fn kind(&self, dialect: Dialect) -> Result<Option<Value>, &KeyValue> {
        let named = |kind: AdapterType| Some(Value::Text(kind.name().to_owned()));
        match dialect {
            Dialect::Swift => {
                let tuner = self.find("tuner_type").or_else(|| self.find("train_type"));
                match tuner.map(|item| (word(&item.value), item)) {
                    Some((tuner, _)) if tuner == "lora" || tuner == LANGUAGE_ALONE => {
                        let dora = self.find("use_dora").is_some_and(|on| !is_off(&on.value));
                        Ok(named(if dora { AdapterType::Dora } else { AdapterType::Lora }))
                    }
                    Some((tuner, item)) if tuner != "full" && !is_off(&item.value) => Err(item),
                    _ => Ok(None),
                }
            }
            Dialect::Verl => {
                let ranks = ["rank", "lora_rank"].map(|name| self.find(name).and_then(int));
                let on = ranks.into_iter().flatten().any(|rank| rank > 0);
                let given = self.find("type").map(|item| item.value.clone());
                Ok(on.then(|| given.or_else(|| named(AdapterType::Lora)).unwrap_or_default()))
            }
            // `flagscale/train/peft` has LoRA alone. Its second matrix beside a row-parallel layer is whole on every
            // tensor-parallel rank, where Megatron-Bridge's is split: less than 1 % of the memory of a rank.
            Dialect::FlagScale => {
                let kind = self.find("peft_type").filter(|item| !is_off(&item.value));
                Ok(kind.and_then(|_| named(AdapterType::Lora)))
            }
            Dialect::NemoRl => {
                let enabled = self.find("enabled").is_some_and(|on| !is_off(&on.value));
                Ok(enabled.then(|| named(AdapterType::Lora)).flatten())
            }
            _ => {
                let keys = ["type", "_target_", "_class", "peft"];
                let kind = keys.into_iter().find_map(|name| self.find(name));
                let off = kind.is_some_and(|item| is_off(&item.value));
                let given = kind.map(|item| item.value.clone());
                Ok((!off).then(|| given.or_else(|| named(AdapterType::Lora)).unwrap_or_default()))
            }
        }
    }
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

/// Sets the fields of adapters.
pub(super) fn combine(draft: &mut JobDraft, keys: &AdapterKeys) {
    if keys.0.is_empty() {
        return;
    }
    let dialect = draft.dialect;
    let kind = match keys.kind(dialect) {
        Ok(kind) => kind,
        Err(item) => {
            draft.not_modelled(item, MemoryEffect::More, OTHER_TUNERS);
            None
        }
    };
    let Some(kind) = kind else {
        for item in &keys.0 {
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
    if dialect == Dialect::Swift {
        // Defaults of ms-swift, whose experts have adapters of their own.
        let mut set = |id, value| draft.settings.set(id, value);
        set(FieldId::peft_dim, Value::Int(8));
        set(FieldId::peft_dropout, Value::Float(0.05));
        set(FieldId::peft_share_expert_adapters, Value::Bool(false));
    }
    for item in &keys.0 {
        one(draft, item, &kind);
    }
    let names = [FieldId::peft_target_modules, FieldId::peft_exclude_modules];
    if dialect == Dialect::NemoRl && !names.into_iter().any(|id| draft.has(id)) {
        // Lists of no names, which it writes down, mean all linear layers (`ModuleMatcher.match`).
        let none = Value::Text("no_module".to_owned());
        draft.default(FieldId::peft_exclude_modules, none);
    }
}

/// Sets the adapters that a flag or the name of a recipe of Megatron-Bridge asks for, where no key says which.
pub(super) fn of_recipe(draft: &mut JobDraft, item: &KeyValue) {
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
