//! The keys of a link: the left sides of its tokens.

use super::text;
use crate::config::field::Scope;
use crate::config::fields::FieldId;
use crate::config::raw::RawModule;

/// The key of the preset.
pub(super) const PRESET: &str = "m";
/// The key of the list of modules.
pub(super) const MODULES: &str = "mod";
/// The key of the chosen tab.
pub(super) const TAB: &str = "tab";
/// The key of the chosen pipeline stage.
pub(super) const STAGE: &str = "stage";
/// The key of the list of what is not modelled.
pub(super) const NOT_MODELLED: &str = "nm";
/// The token after which the tokens of a pinned job stand.
pub(super) const COMPARE: &str = "vs";

/// The field or setting that a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Preset,
    Modules,
    NotModelled,
    Tab,
    Stage,
    Compare,
    /// A field of the job, or of the module with this index.
    Field(Option<usize>, FieldId),
    Unknown,
}

/// Reads a key as it stands in the link.
pub(super) fn resolve(raw: &str, modules: &[RawModule]) -> Key {
    if let Some((prefix, rest)) = raw.split_once('.')
        && let Some(module) = module(prefix, modules)
    {
        return match field(&text::decode(rest)) {
            Some(id) if id.field().scope == Scope::Module => Key::Field(Some(module), id),
            _ => Key::Unknown,
        };
    }
    match text::decode(raw).as_str() {
        PRESET => Key::Preset,
        MODULES => Key::Modules,
        NOT_MODELLED => Key::NotModelled,
        TAB => Key::Tab,
        STAGE => Key::Stage,
        COMPARE => Key::Compare,
        other => field(other).map_or(Key::Unknown, |id| Key::Field(None, id)),
    }
}

fn field(name: &str) -> Option<FieldId> {
    FieldId::by_key(name).or_else(|| FieldId::by_name(name))
}

/// The module that a prefix names: by name, or `@2` for the second.
fn module(prefix: &str, modules: &[RawModule]) -> Option<usize> {
    if let Some(number) = prefix.strip_prefix('@') {
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        return (index < modules.len()).then_some(index);
    }
    let name = text::decode(prefix);
    modules.iter().position(|module| module.name == name)
}

/// The prefix of a module's keys, without its dot: the module's name, or its number where names are not unique.
pub(super) fn prefix(index: usize, modules: &[RawModule]) -> String {
    let name = modules.get(index).map_or("", |module| module.name.as_str());
    let first = modules.iter().position(|module| module.name == name);
    let mut prefix = String::new();
    if name.is_empty() || first != Some(index) {
        prefix = format!("@{}", index + 1);
    } else {
        text::encode_name(&mut prefix, name);
    }
    prefix
}
