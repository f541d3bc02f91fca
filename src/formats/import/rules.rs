//! Applies one key: sets the field that it names or decides, and adds its report row.

mod decides;
mod destination;

pub(in crate::formats) use decides::decides;

use destination::{field, opposite};

use super::draft::JobDraft;
use super::key_value::KeyValue;
use super::keys::Keys;
use super::values::{is_off, word};
use crate::config::fields::FieldId;
use crate::config::not_modelled::{Feature, MemoryEffect};
use crate::formats::dialects::destinations::field_of;
use crate::formats::dialects::meaning::KeyMeaning;
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Applies one key.
pub(in crate::formats) fn apply(draft: &mut JobDraft, keys: &mut Keys<'_>, item: &KeyValue, name: &str) {
    let meaning = (draft.framework.find)(name);
    let follows = match meaning {
        Some(KeyMeaning::Field(destination) | KeyMeaning::Opposite(destination)) => field_of(destination).is_some(),
        Some(_) => true,
        None => false,
    };
    if let Some(feature) = Feature::of_key(name).filter(|_| !follows) {
        return self::feature(draft, item, feature);
    }
    match meaning {
        None => {
            let dialect = draft.framework.name;
            let note = format!("no setting of {dialect} in the modeled version");
            draft.row(item, KeyStatus::Unknown, None, note);
        }
        Some(KeyMeaning::Retired(successor)) => retired(draft, item, successor),
        Some(KeyMeaning::Irrelevant) => {
            draft.row(item, KeyStatus::Ignored, None, "does not change memory");
        }
        // Training of all parameters is a kind of adapter to ms-swift.
        Some(KeyMeaning::NotModelled { .. })
            if is_off(&item.value) || matches!(word(&item.value).as_str(), "full" | "0") =>
        {
            draft.row(item, KeyStatus::Ignored, None, "switched off");
        }
        Some(KeyMeaning::NotModelled { effect, reason }) => {
            draft.not_modelled(item, effect, reason);
        }
        Some(KeyMeaning::Field(destination)) => field(draft, item, destination),
        Some(KeyMeaning::Opposite(destination)) => opposite(draft, item, destination),
        Some(KeyMeaning::Role(role)) => match role.reader {
            Some(read) => read(draft, keys, item),
            None => keys.keep(role, item),
        },
    }
}

/// Applies a key of a feature that is not modelled.
fn feature(draft: &mut JobDraft, item: &KeyValue, feature: &Feature) {
    if feature.is_off(&item.value) {
        draft.row(item, KeyStatus::Ignored, None, "switched off");
    } else {
        draft.not_modelled(item, MemoryEffect::More, feature.reason);
    }
}

fn retired(draft: &mut JobDraft, item: &KeyValue, successor: Option<&'static str>) {
    let Some(successor) = successor else {
        let note = "this version of Megatron-LM does not have it";
        return draft.row(item, KeyStatus::Ignored, None, note);
    };
    if let Some(feature) = Feature::of_key(successor) {
        return self::feature(draft, item, feature);
    }
    match (draft.framework.find)(successor) {
        Some(KeyMeaning::Field(destination)) if field_of(destination).is_some() => {
            field(draft, item, destination);
        }
        _ => draft.row(item, KeyStatus::Ignored, None, format!("now called {successor}")),
    }
}

/// Moves names in `cuda_graph_modules` that belong to other fields there, as Megatron-LM's
/// `normalize_cuda_graph_modules` does.
pub(super) fn graphs(draft: &mut JobDraft) {
    let id = FieldId::cuda_graph_modules;
    let words: Vec<String> = match draft.settings.get(id) {
        Some(Value::Text(text)) => text.split([',', ' ']).map(str::to_owned).collect(),
        Some(Value::List(items)) => items.iter().map(shown).collect(),
        _ => return,
    };
    let is = |word: &str| words.iter().any(|other| other == word);
    if is("full_iteration") {
        let name = Value::Text(String::from("full_iteration"));
        draft.settings.set(FieldId::cuda_graph_impl, name);
    }
    if is("full") || is("full_iteration") || is("full_iteration_inference") {
        draft.settings.unset(id);
    }
}
