//! Texts that hold a job or a model as a whole: share links, this calculator's JSON, and `config.json`.

use super::limit_keys;
use crate::config::fields::FieldId;
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::config::raw::RawJob;
use crate::formats::detect::Format;
use crate::formats::hub::{Repository, known};
use crate::formats::import::imported::{Import, Question, Row};
use crate::formats::import::{ImportError, towers};
use crate::formats::node::{Data, Node};
use crate::formats::report::{KeyReport, KeyStatus};
use crate::formats::state::{Setup, ShareState};
use crate::formats::{hf_config as hf, job_json, json, share_url};
use crate::presets;

/// A share link.
pub(in crate::formats::import) fn link(text: &str) -> Result<Import, ImportError> {
    let (state, notices) = share_url::decode(text);
    if state == ShareState::default()
        && let Some(notice) = notices.first()
    {
        return Err(ImportError::Link(notice.clone()));
    }
    let rows = notices.into_iter().map(|notice| Row {
        key: String::new(),
        value: String::new(),
        line: Some(1),
        status: match notice {
            share_url::Notice::UnknownKey { .. } => KeyStatus::Unknown,
            _ => KeyStatus::Conflicting,
        },
        field: None,
        note: notice.to_string().into(),
        effect: None,
    });
    Ok(Import::new(Format::ShareLink, "this calculator", state, rows.collect()))
}

/// A job document of this calculator.
pub(in crate::formats::import) fn own_json(text: &str) -> Result<Import, ImportError> {
    let root = json::parse(text).map_err(ImportError::Json)?;
    limit_keys(widest(&root))?;
    let document = job_json::read(&root).map_err(ImportError::Job)?;
    Ok(Import::new(
        Format::OwnJson,
        "this calculator",
        document.state,
        key_rows(document.report),
    ))
}

/// The name of a model: that of a preset, or one whose `config.json` is to be asked for.
pub(in crate::formats::import) fn hub_model(text: &str) -> Result<Import, ImportError> {
    let text = text.trim();
    let named = match presets::by_id(text) {
        Some(preset) => Some((preset, text.to_owned())),
        None => Repository::read(text)
            .ok()
            .and_then(|named| Some((known::preset_of(named.name())?, named.name().to_owned()))),
    };
    let mut import = Import::new(Format::HubModel, "this calculator", ShareState::default(), Vec::new());
    let contents = named.and_then(|(preset, name)| Some((preset, preset.contents()?, name)));
    let Some((preset, contents, name)) = contents else {
        let named = Repository::read(text).map_err(|_| ImportError::NotRecognized)?;
        let name = named.name().to_owned();
        import.questions.push(Question::Model { name });
        return Ok(import);
    };
    import.state.setup.job.shared = contents.model;
    import.report.push(Row {
        key: "model".to_owned(),
        value: name,
        line: Some(1),
        status: KeyStatus::Derived,
        field: None,
        note: format!("the model of the preset {}", preset.name).into(),
        effect: None,
    });
    Ok(import)
}

/// The `config.json` of a Hugging Face model.
pub(in crate::formats::import) fn hf_config(text: &str) -> Result<Import, ImportError> {
    let root = json::parse_python(text).map_err(ImportError::Json)?;
    limit_keys(widest(&root))?;
    let model = hf::read(&root).map_err(ImportError::Model)?;
    let settings = model.settings.into_iter();
    let shared = settings
        .filter_map(|setting| Some((FieldId::by_name(setting.field)?, setting.value)))
        .collect();
    let mut job = RawJob {
        shared,
        ..RawJob::default()
    };
    let mut report = key_rows(model.report);
    for row in &mut report {
        if row.status != KeyStatus::NotModelled {
            continue;
        }
        let effect = hf::effect(&row.key, &row.note);
        row.effect = Some(effect);
        if effect == MemoryEffect::More {
            let key = row.key.rsplit('.').next().unwrap_or_default();
            let key = match key {
                "model_type" => format!("{key}={}", row.value),
                _ => key.to_owned(),
            };
            job.mark(NotModelled::new(&key, row.note.clone()));
        }
    }
    let state = ShareState {
        setup: Setup { preset: None, job },
        ..ShareState::default()
    };
    Ok(Import {
        towers: towers::of_model(&root, root.get("model_type")),
        ..Import::new(Format::HfConfig, model.family, state, report)
    })
}

/// The rows of a document reader as rows of the import report.
fn key_rows(report: Vec<KeyReport>) -> Vec<Row> {
    let row = |row: KeyReport| Row {
        key: row.key.into_owned(),
        value: row.value,
        line: row.line,
        status: row.status,
        field: row.field.and_then(FieldId::by_name),
        effect: (row.status == KeyStatus::NotModelled).then_some(MemoryEffect::More),
        note: row.note,
    };
    report.into_iter().map(row).collect()
}

/// The size of the largest map that is read key by key.
fn widest(node: &Node) -> usize {
    let inside = match &node.data {
        Data::List(items) => items.iter().map(widest).max(),
        Data::Map(entries) => {
            // Quantized checkpoints name thousands of layers there, and nothing in it is read.
            let read = entries.iter().filter(|entry| entry.key != "quantization_config");
            read.map(|entry| widest(&entry.node)).max()
        }
        _ => None,
    };
    node.entries().len().max(inside.unwrap_or_default())
}
