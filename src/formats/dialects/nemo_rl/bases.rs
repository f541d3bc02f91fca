//! The files of NeMo-RL that its configurations change.

use crate::formats::import::ImportError;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::values::is_off;
use crate::formats::report::shown;
use crate::formats::yaml;
use crate::value::Value;

/// Adds the settings of the file that `defaults` names, where it is one of NeMo-RL's own: the text changes some of
/// them.
pub(super) fn add(leaves: &mut Vec<KeyValue>) -> Result<(), ImportError> {
    let mut named = leaves.iter().filter(|item| item.key == "defaults");
    let Some(named) = named.next().filter(|item| !is_off(&item.value)) else {
        return Ok(());
    };
    let name = match &named.value {
        Value::List(files) if files.len() == 1 => files.first().map(shown).unwrap_or_default(),
        other => shown(other),
    };
    let what = "a NeMo-RL configuration that changes another one, whose settings are not in the text (paste the configuration \
                that NeMo-RL prints when it starts)";
    let mut name = name;
    for _ in 0..MAX_CHANGED {
        let base = settings(&name).ok_or(ImportError::NotRead(what))?;
        match add_file(leaves, base) {
            Some(next) => next.clone_into(&mut name),
            None => return Ok(()),
        }
    }
    Err(ImportError::NotRead(what))
}

/// How many files may change one another.
const MAX_CHANGED: usize = 8;

/// NeMo-RL's own files (`examples` at 7ea279ab): one line each, with its name, the name of the file that it changes
/// after `<`, and its settings that matter. Keys of `policy.megatron_cfg` stand without it.
const FILES: &str = include_str!("bases.txt");

/// The words behind the name of a file in [`FILES`].
fn settings(path: &str) -> Option<impl Iterator<Item = &'static str>> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut lines = FILES.lines().map(|line| line.split(' '));
    lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))
}

/// Adds the settings of a file that the text does not change. Returns the file that it changes itself.
fn add_file(leaves: &mut Vec<KeyValue>, words: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let mut next = None;
    for word in words {
        let Some((path, value)) = word.split_once('=') else {
            next = word.strip_prefix('<');
            continue;
        };
        let path = match path.strip_prefix('.') {
            Some(name) => format!("policy.megatron_cfg.{name}"),
            None => path.to_owned(),
        };
        let section = format!("{path}.");
        let is_changed = |item: &KeyValue| item.key == path || item.key.starts_with(&section);
        if !leaves.iter().any(is_changed) {
            leaves.push(KeyValue {
                value: yaml::plain_scalar(value).to_value(),
                key: path,
                line: 0,
            });
        }
    }
    next
}
