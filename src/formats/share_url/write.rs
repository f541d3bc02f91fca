//! Writes a state in canonical form as the tokens of a link.

use super::keys::{self, Key};
use super::{marks, notation, text};
use crate::config::canonical::{Meaning, canonical_offset, differences, module_differences};
use crate::config::fields::FieldId;
use crate::config::raw::{RawJob, RawModule};
use crate::formats::state::{Setup, ShareState};
use crate::value::Value;

/// The tokens of a link, from the version on.
pub(super) fn tokens(state: &ShareState) -> Vec<String> {
    let mut tokens = vec!["v1".to_owned()];
    if let Some(preset) = &state.setup.preset {
        tokens.push(token(keys::PRESET, &preset.to_string()));
    }
    setup(&mut tokens, &state.setup, &state.setup.base());
    if let Some(tab) = &state.view.tab {
        tokens.push(token(keys::TAB, tab));
    }
    if let Some(stage) = state.view.stage {
        let place = match stage.module {
            0 => stage.pp_rank.to_string(),
            module => format!("{module}.{}", stage.pp_rank),
        };
        tokens.push(token(keys::STAGE, &place));
    }
    for pinned in &state.pinned {
        tokens.push(keys::COMPARE.to_owned());
        let first = &state.setup;
        let plain = first.job.modules.is_empty() && pinned.job.modules.is_empty();
        if plain && first.preset == pinned.preset {
            setup(&mut tokens, pinned, &first.job);
        } else {
            let name = pinned.preset.as_ref().map(ToString::to_string);
            let name = name.as_deref().unwrap_or(notation::NULL);
            tokens.push(token(keys::PRESET, name));
            setup(&mut tokens, pinned, &pinned.base());
        }
    }
    tokens
}

fn setup(tokens: &mut Vec<String>, setup: &Setup, base: &RawJob) {
    let job = &setup.job;
    for (id, meaning) in differences(&job.shared, &base.shared) {
        tokens.push(token(id.field().key, &value(id, &meaning)));
    }
    if !job.modules.is_empty() {
        let list = module_list(&job.modules);
        if list != module_list(&base.modules) {
            tokens.push(list);
        }
    }
    for (index, module) in job.modules.iter().enumerate() {
        let prefix = keys::prefix(index, &job.modules);
        let started = base.settings_of(&module.name);
        for (id, meaning) in module_differences(&module.settings, &started, &job.shared) {
            let mut token = format!("{prefix}.{}=", id.field().key);
            text::encode(&mut token, &value(id, &meaning));
            tokens.push(token);
        }
    }
    if job.not_modelled != base.not_modelled {
        let marks = marks::write(&job.not_modelled);
        tokens.push(format!("{}={marks}", keys::NOT_MODELLED));
    }
    for (key, value) in &job.unknown {
        let mut token = String::new();
        text::encode(&mut token, key);
        // A key that means something in a link did not mean that where it comes from.
        if token.is_empty() || keys::resolve(&token, &job.modules) != Key::Unknown {
            continue;
        }
        if let Value::Text(value) = value {
            token.push('=');
            text::encode(&mut token, value);
        }
        tokens.push(token);
    }
}

fn module_list(modules: &[RawModule]) -> String {
    let mut list = format!("{}=", keys::MODULES);
    for (index, module) in modules.iter().enumerate() {
        if index > 0 {
            list.push(',');
        }
        if module.name.is_empty() {
            list.push_str("@0");
        }
        text::encode_name(&mut list, &module.name);
        match canonical_offset(module) {
            Some(Value::Int(offset)) => {
                list.push(':');
                list.push_str(&offset.to_string());
            }
            Some(Value::Text(text)) => {
                // A question mark, so that the list does not end with a colon.
                list.push_str(":%3F");
                text::encode_name(&mut list, &text);
            }
            _ => {}
        }
    }
    list
}

fn value(id: FieldId, meaning: &Meaning) -> String {
    match meaning {
        Meaning::Is(parsed) => notation::write(id, parsed),
        Meaning::Nothing => notation::NULL.to_owned(),
        Meaning::Bad(text) => notation::write_bad(id, text),
    }
}

fn token(key: &str, value: &str) -> String {
    let mut token = format!("{key}=");
    text::encode(&mut token, value);
    token
}
