//! Configurations of GPT-NeoX: YAML files that its launcher merges (`NeoXArgs.from_ymls` in
//! `megatron/neox_arguments/arguments.py`).

mod files;
mod mlp;
mod model;
mod training;

use super::{finish, fits, limit_keys};
use crate::config::not_modelled::NotModelled;
use crate::formats::detect::Format;
use crate::formats::dialects::{Dialect, neox as dialect};
use crate::formats::import::combined::{self, CombinedKeys};
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::rules;
use crate::formats::import::values::{int, is_off, truth};
use crate::formats::import::{Import, ImportError, Options};
use crate::formats::report::{KeyStatus, shown};

/// One or several configurations of GPT-NeoX, one after another.
pub(in crate::formats::import) fn neox(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let keys = Keys(files::leaves(text)?);
    limit_keys(keys.0.len())?;
    refuse(&keys)?;
    let mut draft = JobDraft::new(Dialect::Neox);
    draft.warning = Some(dialect::WARNING);
    let mut combined = CombinedKeys::default();
    for item in &keys.0 {
        if model::key(&mut draft, &keys, item) || training::key(&mut draft, &keys, item) {
            continue;
        }
        rules::apply(&mut draft, &mut combined, item, &item.key);
        let is_unknown = |status| status == KeyStatus::Unknown;
        if draft.report.last().is_some_and(|row| is_unknown(row.status)) && !is_off(&item.value) {
            let reason = "a setting that is not read";
            draft.marks.push(NotModelled::new(&item.key, reason));
        }
    }
    mlp::settle(&mut draft, &keys);
    training::settle(&mut draft, &keys);
    model::settle(&mut draft, &keys);
    combined::combine(&mut draft, combined);
    fits(&draft, Format::NeoxYaml)?;
    finish(draft, Format::NeoxYaml, options)
}

/// The keys of all files, with underscores for dashes.
struct Keys(Vec<KeyValue>);

impl Keys {
    /// The key with this path.
    fn find(&self, path: &str) -> Option<&KeyValue> {
        self.0.iter().find(|item| item.key == path)
    }

    /// Whether the key is true; `default` where it is not there.
    fn is_on(&self, path: &str, default: bool) -> bool {
        let value = self.find(path).and_then(|item| truth(&item.value));
        value.unwrap_or(default)
    }

    /// The value as a whole number.
    fn number(&self, path: &str) -> Option<u64> {
        self.find(path).and_then(int)
    }

    /// The value in lower case; empty where there is none.
    fn word(&self, path: &str) -> String {
        let item = self.find(path).filter(|item| !is_off(&item.value));
        item.map(|item| shown(&item.value).to_ascii_lowercase())
            .unwrap_or_default()
    }

    /// Whether some or all layers have this kind of attention; all have `global` where the file names none.
    fn attends(&self, kinds: &[&str]) -> bool {
        let found = self.find("attention_config").map(model::kinds_of_attention);
        match found {
            Some(found) if !found.is_empty() => found.iter().any(|kind| kinds.contains(&kind.as_str())),
            _ => kinds.contains(&"global"),
        }
    }
}

/// Refuses models that are no GPT of Megatron-Core.
fn refuse(keys: &Keys) -> Result<(), ImportError> {
    let kinds: [(&[&str], &'static str); 3] = [
        (
            &["mamba"],
            "a GPT-NeoX configuration of Mamba 1, where Megatron-Core has Mamba 2",
        ),
        (&["rwkv"], "a GPT-NeoX configuration of RWKV"),
        (&["gmlp", "amlp"], "a GPT-NeoX configuration of gMLP"),
    ];
    let found = kinds.into_iter().find(|(names, _)| keys.attends(names));
    match found {
        Some((_, what)) => Err(ImportError::NotRead(what)),
        None => Ok(()),
    }
}
