//! Configurations of frameworks that hold Megatron's arguments below sections of their own.

use super::trees::leaves_of;
use super::{derive, finish, limit_keys};
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::detect::Format;
use crate::formats::dialects::framework::{Files, Framework};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::{Import, Question};
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::is_off;
use crate::formats::import::{ImportError, Options};
use crate::formats::interpolation;
use crate::formats::node::Node;
use crate::formats::report::{KeyStatus, shown};
use crate::formats::yaml;

/// A configuration of one of the frameworks.
pub(in crate::formats::import) fn sections(
    text: &str,
    format: Format,
    options: &Options<'_>,
) -> Result<Import, ImportError> {
    let Format::FrameworkYaml(framework) = format else {
        return Err(ImportError::NotRecognized);
    };
    let files = framework.files.as_ref().ok_or(ImportError::NotRecognized)?;
    let mut root = yaml::parse(text).map_err(ImportError::Yaml)?.root;
    let variables = interpolation::resolve(&mut root, options.variables);
    let mut draft = draft(framework, files, &root, leaves_of(&root))?;
    draft.ask_for(variables);
    super::fits(&draft, format)?;
    finish(draft, format, options)
}

/// The job of a command that changes a file of a framework by overrides; `config` is the key that names the file.
pub(super) fn of_overrides(
    framework: &'static Framework,
    root: &Node,
    config: KeyValue,
) -> Result<JobDraft, ImportError> {
    let files = framework.files.as_ref().ok_or(ImportError::NotRecognized)?;
    let mut leaves = leaves_of(root);
    leaves.push(config);
    draft(framework, files, root, leaves)
}

fn draft(
    framework: &'static Framework,
    files: &Files,
    root: &Node,
    mut leaves: Vec<KeyValue>,
) -> Result<JobDraft, ImportError> {
    limit_keys(leaves.len())?;
    (files.complete)(&mut leaves)?;
    refuse(files, &leaves)?;
    let mut draft = JobDraft::new(framework);
    let mut keys = Keys::of_tree(&leaves);
    (framework.begin)(&mut draft, root, &keys)?;
    for item in &leaves {
        leaf(&mut draft, &mut keys, files, item);
    }
    derive(&mut draft, &keys);
    Ok(draft)
}

/// Refuses files of the framework that are no job which is read, by the keys that tell them.
fn refuse(files: &Files, leaves: &[KeyValue]) -> Result<(), ImportError> {
    let mut refused = files.refused.iter();
    let found = refused.find(|(wanted, _)| {
        let (path, value) = match wanted.split_once('=') {
            Some((path, value)) => (path, Some(value)),
            None => (*wanted, None),
        };
        let mut items = leaves.iter();
        items.any(|item| match item.key.strip_prefix(path) {
            Some("") => match value {
                Some(value) => shown(&item.value) == value,
                None => !is_off(&item.value),
            },
            Some(rest) => rest.starts_with('.') && value.is_none(),
            None => false,
        })
    });
    match found {
        Some((_, what)) => Err(ImportError::NotRead(what)),
        None => Ok(()),
    }
}

/// Applies one key with its value.
pub(super) fn leaf(draft: &mut JobDraft, keys: &mut Keys<'_>, files: &Files, item: &KeyValue) {
    let path = item.key.as_str();
    let single = files.keys.iter().find(|(key, _)| *key == path);
    let is_ignored = files.ignored.iter().any(|start| path.starts_with(start));
    let mut places = files.places.iter();
    let place = places.find_map(|(start, to)| Some((path.strip_prefix(start)?, *to)));
    let name = match (single, place) {
        (Some((_, name)), _) => (*name).to_owned(),
        (None, Some((rest, ""))) => rest.rsplit('.').next().unwrap_or_default().to_owned(),
        (None, Some((rest, section))) => format!("{section}{rest}"),
        (None, None) => String::new(),
    };
    if (draft.framework.special)(draft, keys, item, &name) {
        return;
    }
    if path == files.model && !path.is_empty() {
        let name = shown(&item.value);
        draft.questions.push(Question::Model { name });
        let note = "the architecture is in the model's own file";
        draft.not_modelled(item, MemoryEffect::Nothing, note);
    } else if single.is_some() || !is_ignored && place.is_some() {
        let rows = draft.report.len();
        draft.apply_referring(keys, item, &name);
        let new = draft.report.get(rows..).unwrap_or_default();
        if new.iter().any(|row| row.status == KeyStatus::Unknown) {
            mark(draft, item);
        }
    } else if is_ignored {
        draft.row(item, KeyStatus::Ignored, None, "does not change memory");
    } else {
        let note = format!("no setting of {} that is read", draft.framework.name);
        draft.row(item, KeyStatus::Unknown, None, note);
        mark(draft, item);
    }
}

/// Marks the job: a key that is not read may change memory.
fn mark(draft: &mut JobDraft, item: &KeyValue) {
    if !is_off(&item.value) {
        let reason = "a setting that is not read";
        draft.marks.push(NotModelled::new(&item.key, reason));
    }
}
