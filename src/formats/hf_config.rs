//! Hugging Face `config.json` to Megatron fields.
//!
//! A `config.json` leaves much unsaid: keys that equal the class default are missing, one property has several
//! spellings, and norms, biases, activation and the layers with experts follow from the model family. The
//! tables in [`families`] hold these facts for each family; [`translate`] holds the rules that apply them.
//! Every key of the file gets a row in the report.

mod compressed_attention;
mod error;
mod experts;
mod families;
mod family;
mod gated_delta_net;
mod hybrid;
mod keys;
mod kimi;
mod layer_sizes;
mod pattern;
mod source;
mod translate;
mod unsupported;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub use error::{HfError, HfProblem, HfProblemKind};

use self::family::Family;
use self::source::Source;
use super::json;
use super::node::{Data, Entry, Node};
use super::report::{KeyReport, KeyStatus, Setting, shown_data};
use crate::config::not_modelled::MemoryEffect;

/// A `config.json` as Megatron fields.
#[derive(Clone, Debug, PartialEq)]
pub struct HfImport {
    /// The family as which it was read, for messages.
    pub family: &'static str,
    /// The model's fields; each field occurs once.
    pub settings: Vec<Setting>,
    /// A row for every key: first those of the file, by line, then the defaults of the model's class.
    pub report: Vec<KeyReport>,
}

/// The key with the class of a model of the library diffusers.
const CLASS_NAME: &str = "_class_name";

/// Every `model_type` that has rules of its own, with the name of its family.
pub fn model_types() -> impl Iterator<Item = (&'static str, &'static str)> {
    families::all().flat_map(|family| family.model_types.iter().map(|model_type| (*model_type, family.name)))
}

/// Whether a tree looks like a `config.json`, of whatever family.
#[must_use]
pub fn recognizes(root: &Node) -> bool {
    let has = |key| source::last(root.entries(), key).is_some();
    let nested = keys::NESTED.iter().any(|path| inner(root, path).is_some());
    has("model_type") || has("architectures") || has(CLASS_NAME) || has_layers(root.entries()) || nested
}

/// The `model_type` of a `config.json`, of a model with towers that of the whole.
#[must_use]
pub fn model_type(text: &str) -> Option<String> {
    let root = json::parse(text).ok()?;
    match &root.get("model_type")?.data {
        Data::Text(name) => Some(name.clone()),
        _ => None,
    }
}

/// Reads the tree of a `config.json`.
///
/// # Errors
///
/// All reasons at once why no model can be made of it: a family that cannot be estimated, missing keys for
/// which the family has no default, values of the wrong kind.
pub fn read(root: &Node) -> Result<HfImport, HfError> {
    let Data::Map(top) = &root.data else {
        return Err(whole_file(root, HfProblemKind::NotAnObject));
    };
    let nested = keys::NESTED
        .iter()
        .filter(|_| !has_layers(top))
        .find_map(|path| inner(root, path).map(|node| (*path, node)));
    let (path, entries, outer) = match nested {
        Some((path, node)) => (path, node.entries(), top.as_slice()),
        None => ([].as_slice(), top.as_slice(), [].as_slice()),
    };
    let identity = identify(entries)
        .map(|(family, entry)| (family, entry, false))
        .or_else(|| identify(outer).map(|(family, entry)| (family, entry, true)));
    if identity.is_none() && !has_layers(entries) {
        return Err(whole_file(root, HfProblemKind::NotAModel));
    }
    let family = identity.map_or(&family::UNKNOWN, |(family, ..)| family);
    if let Some(reason) = family.refused {
        return Err(whole_file(
            root,
            HfProblemKind::Refused {
                family: family.name,
                reason,
            },
        ));
    }
    // The defaults are part of the program; a test reads them all.
    let defaults = json::parse(family.defaults).ok();
    let mut source = Source::new(family, entries, defaults.as_ref().map_or(&[], Node::entries));
    source.outer = outer;
    source.prefix = path.iter().flat_map(|key| [*key, "."]).collect();
    let named_by = identity
        .map(|(_, entry, outer)| (entry, outer))
        .or_else(|| source::last(entries, "model_type").map(|entry| (entry, false)));
    if let Some((entry, outer)) = named_by {
        source.named_by(entry, outer);
    }
    if let Some(problem) = unsupported::find(&mut source) {
        return Err(HfError {
            problems: vec![problem],
        });
    }
    translate::translate(&mut source);
    if !source.problems.is_empty() {
        return Err(HfError {
            problems: source.problems,
        });
    }
    report_the_rest(&mut source);
    if let [part, _] = path {
        report_towers_beside(&mut source, root, part);
    }
    if family.name == family::UNKNOWN.name
        && let Some(problem) = unsupported::unlike_llama(&source)
    {
        return Err(HfError {
            problems: vec![problem],
        });
    }
    let Source {
        settings, mut report, ..
    } = source;
    report.sort_by_key(|row| (row.line.is_none(), row.line));
    Ok(HfImport {
        family: family.name,
        settings,
        report,
    })
}

/// How much a key changes memory that is reported as not modelled, by its name and by what is not followed.
pub(crate) fn effect(key: &str, reason: &str) -> MemoryEffect {
    let key = key.rsplit('.').next().unwrap_or_default();
    match key {
        "torch_dtype" | "dtype" | "scoring_func" => MemoryEffect::Nothing,
        "attention_out_bias"
        | "use_bias"
        | "mamba_proj_bias"
        | "residual_multiplier"
        | "attention_multiplier"
        | "embedding_multiplier"
        | "logits_scaling"
        | "indexer_types"
        | "conv_kernel"
        | "position_embedding_type"
        | "lm_head_bias" => MemoryEffect::BelowTwoPercent,
        "model_type" if reason.contains("its norms") => MemoryEffect::BelowTwoPercent,
        _ => MemoryEffect::More,
    }
}

fn whole_file(root: &Node, kind: HfProblemKind) -> HfError {
    let line = match kind {
        HfProblemKind::Refused { .. } => model_type_line(root.entries()),
        _ => None,
    };
    HfError {
        problems: vec![HfProblem {
            key: String::new(),
            line,
            kind,
        }],
    }
}

fn has_layers(entries: &[Entry]) -> bool {
    ["num_hidden_layers", "n_layer"]
        .iter()
        .any(|key| source::last(entries, key).is_some())
}

fn inner<'n>(root: &'n Node, path: &[&str]) -> Option<&'n Node> {
    let node = path.iter().try_fold(root, |node, key| node.get(key))?;
    matches!(node.data, Data::Map(_)).then_some(node)
}

fn model_type_line(entries: &[Entry]) -> Option<u32> {
    source::last(entries, "model_type").map(|entry| entry.line)
}

/// The family that `model_type`, or else `architectures`, names, and the entry that names it.
fn identify(entries: &[Entry]) -> Option<(&'static Family, &Entry)> {
    let by_type = source::last(entries, "model_type").and_then(|entry| match &entry.node.data {
        Data::Text(name) => Some((families::by_model_type(name)?, entry)),
        _ => None,
    });
    let by_class = source::last(entries, CLASS_NAME).and_then(|entry| match &entry.node.data {
        Data::Text(name) => Some((families::by_architecture(name)?, entry)),
        _ => None,
    });
    by_type.or(by_class).or_else(|| {
        let entry = source::last(entries, "architectures")?;
        let Data::List(names) = &entry.node.data else {
            return None;
        };
        let family = names.iter().find_map(|name| match &name.data {
            Data::Text(name) => families::by_architecture(name),
            _ => None,
        })?;
        Some((family, entry))
    })
}

/// Adds report rows for the keys that no rule has read.
fn report_the_rest(source: &mut Source<'_>) {
    let family = source.family;
    for (_, reason) in family.not_modelled.iter().filter(|(key, _)| *key == "model_type") {
        source.family_row(KeyStatus::NotModelled, None, Cow::Borrowed(reason));
    }
    let has_experts = source.settings.iter().any(|setting| setting.field == "num_experts");
    let reported: BTreeSet<Cow<'static, str>> = source
        .report
        .iter()
        .filter(|row| row.line.is_some())
        .map(|row| row.key.clone())
        .collect();
    for (entries, outer) in [(source.entries, false), (source.outer, true)] {
        // From the back, so that the occurrence that counts comes first.
        let mut counting: BTreeMap<&str, u32> = BTreeMap::new();
        let mut rows = Vec::new();
        for entry in entries.iter().rev() {
            let key = source.path(&entry.key, outer);
            let (status, note) = if let Some(line) = counting.get(entry.key.as_str()) {
                let note = format!("the key occurs again on line {line}, which counts");
                (KeyStatus::Conflicting, note.into())
            } else {
                counting.insert(&entry.key, entry.line);
                if reported.contains(&key) {
                    continue;
                }
                let (status, note) = status_of_unused(family, entry, outer, has_experts);
                (status, note.into())
            };
            rows.push(KeyReport {
                key,
                value: shown_data(&entry.node.data),
                line: Some(entry.line),
                status,
                field: None,
                note,
            });
        }
        source.report.extend(rows.into_iter().rev());
    }
}

/// Adds rows for the other towers in the part of a multimodal model that has its language model.
fn report_towers_beside(source: &mut Source<'_>, root: &Node, part: &str) {
    let entries = root.get(part).map_or([].as_slice(), Node::entries);
    for key in keys::OTHER_TOWERS {
        if let Some(entry) = source::last(entries, key)
            && has_tower(entry)
        {
            source.report.push(KeyReport {
                key: format!("{part}.{key}").into(),
                value: shown_data(&entry.node.data),
                line: Some(entry.line),
                status: KeyStatus::NotModelled,
                field: None,
                note: "only the language model is read".into(),
            });
        }
    }
}

/// Whether the key of a tower has its sizes: models without one keep the key with no value.
fn has_tower(entry: &Entry) -> bool {
    !matches!(entry.node.data, Data::Null)
}

fn status_of_unused(family: &Family, entry: &Entry, outer: bool, has_experts: bool) -> (KeyStatus, &'static str) {
    let key = entry.key.as_str();
    if key == "model_type" {
        return (KeyStatus::Mapped, family.name);
    }
    if keys::is_map(key) {
        return (KeyStatus::Mapped, "the keys in it");
    }
    if keys::OTHER_TOWERS.contains(&key) && has_tower(entry) {
        return (KeyStatus::NotModelled, "only the language model is read");
    }
    if outer {
        let is_language = keys::NESTED.iter().any(|path| path.first() == Some(&key));
        return if is_language {
            (KeyStatus::Mapped, "the language model")
        } else {
            (KeyStatus::Ignored, "about the multimodal model as a whole")
        };
    }
    if let Some((_, reason)) = family.without_effect.iter().find(|(other, _)| *other == key) {
        return (KeyStatus::Ignored, reason);
    }
    if let Some((_, reason)) = family.not_modelled.iter().find(|(other, _)| *other == key) {
        let off = matches!(entry.node.data, Data::Null | Data::Bool(false) | Data::Int(0));
        return if off {
            (KeyStatus::Ignored, "switched off")
        } else {
            (KeyStatus::NotModelled, reason)
        };
    }
    if let Some(reason) = keys::ignored(key) {
        return (KeyStatus::Ignored, reason);
    }
    if entry.node.data == Data::Null {
        return (KeyStatus::Ignored, "null says nothing");
    }
    if !has_experts && ["expert", "moe", "router"].iter().any(|word| key.contains(word)) {
        return (KeyStatus::Ignored, "the model has no experts");
    }
    (KeyStatus::Unknown, "")
}
