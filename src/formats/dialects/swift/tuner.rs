//! What ms-swift trains beside frozen weights (`prepare_adapter` in `swift/megatron/utils/utils.py`): adapters, and whole
//! copies of modules.

use crate::config::canonical::{self, Meaning};
use crate::config::choices::{AdapterType, ModuleToSave};
use crate::config::fields::FieldId;
use crate::config::not_modelled::MemoryEffect;
use crate::config::parse::Parsed;
use crate::config::raw::Settings;
use crate::formats::derivations::adapters;
use crate::formats::dialects::meaning::{Decides, KeyRole};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{is_off, word};
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The adapters that `tuner_type` asks for.
pub(super) fn of_tuner(draft: &mut JobDraft, keys: &Keys<'_>) {
    /// Its experts have adapters of their own.
    const DEFAULTS: &[(FieldId, Value)] = &[
        (FieldId::peft_dim, Value::Int(8)),
        (FieldId::peft_dropout, Value::Float(0.05)),
        (FieldId::peft_share_expert_adapters, Value::Bool(false)),
        // `LoraParallelLinear` of mcore-bridge.
        (FieldId::peft_whole_matrices, Value::Bool(true)),
    ];
    let tuner = adapters::find(keys, "tuner_type").or_else(|| adapters::find(keys, "train_type"));
    let kind = match tuner.map(|item| (word(&item.value), item)) {
        Some((tuner, _)) if tuner == "lora" || tuner == adapters::LANGUAGE_ALONE => {
            let dora = adapters::find(keys, "use_dora").is_some_and(|on| !is_off(&on.value));
            let kind = if dora { AdapterType::Dora } else { AdapterType::Lora };
            Ok(Some(adapters::named(kind)))
        }
        Some((tuner, item)) if tuner != "full" && !is_off(&item.value) => Err(item),
        _ => Ok(None),
    };
    adapters::set(draft, keys, kind, DEFAULTS);
}

/// `modules_to_save`: modules of which a whole copy is trained beside the adapters.
pub(super) const MODULES_TO_SAVE: KeyRole =
    KeyRole::kept("modules_to_save", Decides::field(FieldId::peft_modules_to_save));

/// Sets the modules that are trained as a whole (`get_modules_to_save` in `swift/megatron/utils/utils.py`).
pub(super) fn modules_to_save(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(MODULES_TO_SAVE) else { return };
    if draft.settings.get(FieldId::peft_type).is_none() {
        return draft.row(item, KeyStatus::Ignored, None, "there are no adapters");
    }
    let given = match &item.value {
        Value::List(names) => names.iter().map(word).collect::<Vec<_>>().join(" "),
        other => word(other),
    };
    let mut modules = Vec::new();
    for name in given.split([' ', ',']).filter(|name| !name.is_empty()) {
        modules.push(match name {
            "word_embeddings" | "embedding.word_embeddings" | "all-embedding" => ModuleToSave::WordEmbeddings,
            "output_layer" => ModuleToSave::OutputLayer,
            _ => {
                let reason =
                    "whole trained copies of modules other than word_embeddings and output_layer are not counted";
                return draft.not_modelled(item, MemoryEffect::More, reason);
            }
        });
    }
    let names = modules
        .iter()
        .map(|module| Value::Text(module.name().to_owned()))
        .collect();
    let note = "a whole copy of each is trained beside the adapters";
    draft.set(
        item,
        FieldId::peft_modules_to_save,
        Value::List(names),
        KeyStatus::Derived,
        note,
    );
}

/// `all-linear`, which is the default too: adapters beside all linear layers but the output layer (`find_all_linears` in
/// `swift/megatron/utils/utils.py`), those of latent attention, of linear attention and of MTP depths among them.
pub(super) fn all_linear(shared: &mut Settings) {
    let id = FieldId::peft_target_modules;
    if shared.get(FieldId::peft_type).is_none() || shared.get(id).is_some() {
        return;
    }
    let variant = shared.get(FieldId::experimental_attention_variant).map(word);
    let has_depths = matches!(
        canonical::meaning(FieldId::mtp_num_layers, shared.get(FieldId::mtp_num_layers)),
        Meaning::Is(Parsed::Int(1..))
    );
    let mut names = vec!["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"];
    let usual = names.len();
    if canonical::is_on(shared, FieldId::multi_latent_attention) {
        let queries: &[&str] = if shared.get(FieldId::q_lora_rank).is_some() {
            &["linear_q_down_proj", "linear_q_up_proj"]
        } else {
            &["linear_q_proj"]
        };
        names.extend(queries);
        names.extend(["linear_kv_down_proj", "linear_kv_up_proj"]);
    }
    match variant.as_deref() {
        Some("gated_delta_net") => names.extend(["in_proj", "out_proj"]),
        Some("dsa") => names.extend(["linear_wq_b", "linear_wk", "linear_weights_proj"]),
        _ => {}
    }
    if has_depths {
        names.push("eh_proj");
    }
    if names.len() > usual {
        shared.set(id, Value::Text(names.join(", ")));
    }
}
