//! Reads job documents, the JSON that this calculator exports.

use thiserror::Error;

use super::SCHEMA;
use crate::config::fields::FieldId;
use crate::config::not_modelled::{Feature, NotModelled};
use crate::config::raw::{RawJob, RawModule, Settings};
use crate::formats::node::{Data, Entry, Node};
use crate::formats::report::{KeyReport, KeyStatus, shown_data};
use crate::formats::state::{MAX_PINNED, Place, PresetRef, Setup, ShareState, View};
use crate::presets;
use crate::value::Value;

/// The most modules that are read.
const MAX_MODULES: usize = 64;

/// A job document after reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The state, with its values as they stand in the document.
    pub state: ShareState,
    /// A row for every key, by line.
    pub report: Vec<KeyReport>,
}

/// Why a document was not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JobJsonError {
    /// Not a map with a schema or with settings.
    #[error("this JSON has no settings of a job")]
    NotAJob,
    /// A newer schema.
    #[error("this file was made by a newer version of the calculator ({schema})")]
    Newer {
        /// The schema that the document names.
        schema: String,
    },
    /// A preset that does not exist. Without it, the settings of the document are those of another job.
    #[error("there is no preset {name}{}", .nearest.map_or_else(String::new, |id| format!("; did you mean {id}?")))]
    UnknownPreset {
        /// The preset that the document names.
        name: String,
        /// The id of the preset that was probably meant.
        nearest: Option<&'static str>,
    },
}

/// Whether a tree is a job document or a flat map of settings.
#[must_use]
pub fn recognizes(root: &Node) -> bool {
    match root.get("schema").map(|node| &node.data) {
        Some(Data::Text(schema)) => schema.starts_with("megatron-memory/"),
        Some(_) => false,
        None => root
            .entries()
            .iter()
            .any(|entry| entry.key == "modules" || FieldId::by_name(&entry.key).is_some()),
    }
}

/// Reads a document. Values are not checked: a value that its field cannot take stays, so that the page can show it.
///
/// # Errors
/// [`JobJsonError`] when the tree is not a job document, or has a newer schema.
pub fn read(root: &Node) -> Result<Document, JobJsonError> {
    if !recognizes(root) {
        return Err(JobJsonError::NotAJob);
    }
    let mut reader = Reader::default();
    let Some(schema) = root.entry("schema") else {
        reader.state.setup = reader.setup(root.entries(), "", true);
        return Ok(reader.finish());
    };
    match &schema.node.data {
        Data::Text(schema) if schema == SCHEMA => {}
        other => {
            let schema = match other {
                Data::Text(text) => text.chars().take(40).collect(),
                _ => String::new(),
            };
            return Err(JobJsonError::Newer { schema });
        }
    }
    let (mut own, mut rest) = (Vec::new(), Vec::new());
    for entry in root.entries() {
        match entry.key.as_str() {
            "schema" => reader.row("", entry, KeyStatus::Ignored, None, "the form of this file"),
            "made_by" => reader.row("", entry, KeyStatus::Ignored, None, "what wrote this file"),
            "result" | "cannot_run" => {
                let note = "computed again from the settings";
                reader.row("", entry, KeyStatus::Ignored, None, note);
            }
            "compare" | "also_compare" | "view" => rest.push(entry),
            _ => own.push(entry.clone()),
        }
    }
    reader.state.setup = reader.setup(&own, "", false);
    if let Some(name) = reader.unknown_preset.take() {
        let id = name.split('@').next().unwrap_or_default();
        let nearest = presets::nearest(id);
        let name = name.chars().take(40).collect();
        return Err(JobJsonError::UnknownPreset { name, nearest });
    }
    for entry in rest {
        reader.row("", entry, KeyStatus::Mapped, None, "");
        match (entry.key.as_str(), &entry.node.data) {
            ("view", _) => reader.state.view = view(&entry.node),
            ("compare", _) => {
                let first = reader.pinned(&entry.node, "compare.");
                reader.state.pinned.splice(..0, first);
            }
            (_, Data::List(others)) => {
                for (index, node) in others.iter().take(MAX_PINNED - 1).enumerate() {
                    let other = reader.pinned(node, &format!("also_compare[{index}]."));
                    reader.state.pinned.extend(other);
                }
            }
            _ => {}
        }
    }
    Ok(reader.finish())
}

fn view(node: &Node) -> View {
    let index = |node: &Node, key| match node.get(key)?.data {
        Data::Int(i) => u16::try_from(i).ok(),
        _ => None,
    };
    View {
        tab: match node.get("tab").map(|tab| &tab.data) {
            Some(Data::Text(tab)) if View::is_tab(tab) => Some(tab.clone()),
            _ => None,
        },
        stage: node.get("stage").and_then(|stage| {
            Some(Place {
                module: index(stage, "module")?,
                pp_rank: index(stage, "pp_rank")?,
            })
        }),
    }
}

#[derive(Default)]
struct Reader {
    state: ShareState,
    report: Vec<KeyReport>,
    /// The preset of the last job, where it does not exist.
    unknown_preset: Option<String>,
}

impl Reader {
    fn finish(mut self) -> Document {
        self.report.sort_by_key(|row| row.line);
        Document {
            state: self.state,
            report: self.report,
        }
    }

    fn row(&mut self, path: &str, entry: &Entry, status: KeyStatus, field: Option<FieldId>, note: &'static str) {
        self.report.push(KeyReport {
            key: format!("{path}{}", entry.key).into(),
            value: shown_data(&entry.node.data),
            line: Some(entry.line),
            status,
            field: field.map(|id| id.field().name),
            note: note.into(),
        });
    }

    /// Reads a pinned job; `None` where its preset does not exist.
    fn pinned(&mut self, node: &Node, path: &str) -> Option<Setup> {
        let pinned = self.setup(node.entries(), path, false);
        let is_known = self.unknown_preset.take().is_none();
        is_known.then_some(pinned)
    }

    /// Reads one job: the keys of a document, or settings at the top.
    fn setup(&mut self, entries: &[Entry], path: &str, flat: bool) -> Setup {
        let mut setup = Setup::default();
        let mut own = RawJob::default();
        for entry in entries {
            match (entry.key.as_str(), &entry.node.data) {
                ("preset", Data::Text(name)) if !flat => {
                    let (preset, status, note) = preset(name);
                    self.unknown_preset = preset.is_none().then(|| name.clone());
                    setup.preset = preset;
                    self.row(path, entry, status, None, note);
                }
                ("settings", Data::Map(settings)) if !flat => {
                    let path = format!("{path}settings.");
                    let others = self.settings(&mut own.shared, settings, &path);
                    add_others(&mut own, others);
                }
                ("not_modelled", _) => {
                    let marks = NotModelled::from_value(&entry.node.to_value());
                    for mark in marks {
                        own.mark(mark);
                    }
                    self.row(path, entry, KeyStatus::Mapped, None, "");
                }
                ("modules", Data::List(modules)) => {
                    self.row(path, entry, KeyStatus::Mapped, None, "");
                    for (index, node) in modules.iter().take(MAX_MODULES).enumerate() {
                        let path = format!("{path}modules[{index}].");
                        let (module, others) = self.module(node, &path);
                        add_others(&mut own, others);
                        own.modules.push(module);
                    }
                }
                _ if flat => {
                    let one = core::slice::from_ref(entry);
                    let others = self.settings(&mut own.shared, one, path);
                    add_others(&mut own, others);
                }
                _ => self.row(path, entry, KeyStatus::Unknown, None, ""),
            }
        }
        let mut job = setup.base();
        job.shared.overlay(&own.shared);
        if !own.modules.is_empty() {
            job.modules = own.modules;
        }
        job.unknown = own.unknown;
        job.not_modelled = own.not_modelled;
        setup.job = job;
        setup
    }

    fn module(&mut self, node: &Node, path: &str) -> (RawModule, Vec<(String, Value)>) {
        let mut module = RawModule::default();
        let mut unknown = Vec::new();
        for entry in node.entries() {
            match (entry.key.as_str(), &entry.node.data) {
                ("name", Data::Text(name)) => {
                    module.name.clone_from(name);
                    self.row(path, entry, KeyStatus::Mapped, None, "");
                }
                ("rank_offset", _) => {
                    module.rank_offset = Some(entry.node.to_value());
                    self.row(path, entry, KeyStatus::Mapped, None, "");
                }
                _ => {
                    let one = core::slice::from_ref(entry);
                    unknown.extend(self.settings(&mut module.settings, one, path));
                }
            }
        }
        (module, unknown)
    }

    /// Reads settings. Returns those whose keys no field has.
    fn settings(&mut self, settings: &mut Settings, entries: &[Entry], path: &str) -> Vec<(String, Value)> {
        let mut unknown = Vec::new();
        for entry in entries {
            let field = FieldId::by_name(&entry.key);
            let value = entry.node.to_value();
            if entry.key == "peft" {
                let others = settings.set_peft(&value);
                let status = if others.is_empty() {
                    KeyStatus::Mapped
                } else {
                    KeyStatus::Unknown
                };
                unknown.extend(others);
                self.row(path, entry, status, Some(FieldId::peft_type), "");
                continue;
            }
            match field {
                Some(id) if settings.get(id).is_some() => {
                    settings.set(id, value);
                    let note = "occurs more than once; the last one counts";
                    self.row(path, entry, KeyStatus::Conflicting, field, note);
                }
                Some(id) => {
                    settings.set(id, value);
                    self.row(path, entry, KeyStatus::Mapped, field, "");
                }
                None => {
                    let (status, note) = match Feature::of_key(&entry.key) {
                        None => (KeyStatus::Unknown, ""),
                        Some(feature) if feature.is_off(&value) => (KeyStatus::Ignored, "switched off"),
                        Some(feature) => (KeyStatus::NotModelled, feature.reason),
                    };
                    unknown.push((entry.key.clone(), value));
                    self.row(path, entry, status, None, note);
                }
            }
        }
        unknown
    }
}

/// Adds keys that no field has to a job.
fn add_others(job: &mut RawJob, others: Vec<(String, Value)>) {
    for (key, value) in others {
        job.add_other(key, value);
    }
}

fn preset(name: &str) -> (Option<PresetRef>, KeyStatus, &'static str) {
    match PresetRef::read(name) {
        None => (None, KeyStatus::Conflicting, "there is no such preset"),
        Some((preset, true)) => (Some(preset), KeyStatus::Mapped, ""),
        Some((preset, false)) => {
            let note = "this version of the preset is not known; the newest one is used";
            (Some(preset), KeyStatus::Conflicting, note)
        }
    }
}
