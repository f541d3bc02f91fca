//! A job under construction: settings and report rows are added key by key.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::imported::{Import, Question, Row};
use super::key_value::KeyValue;
use super::tower::Tower;
use crate::config::canonical::{Meaning, hybrid_pattern, meaning};
use crate::config::fields::FieldId;
use crate::config::hybrid_pattern::LayerSymbol;
use crate::config::not_modelled::{self, MemoryEffect, NotModelled};
use crate::config::raw::{RawJob, Settings};
use crate::config::relevance::is_switched_off;
use crate::formats::dialects::destinations::destination_of;
use crate::formats::dialects::framework::Framework;
use crate::formats::format::Format;
use crate::formats::report::{KeyStatus, shown};
use crate::formats::state::{Setup, ShareState};
use crate::value::Value;

/// A key without a usable value.
pub(in crate::formats) struct Missing {
    pub(super) key: String,
    pub(super) field: Option<FieldId>,
    /// The script's variables that occur in the value.
    pub(super) variables: Vec<String>,
    /// The index of its report row.
    pub(super) row: usize,
}

impl Missing {
    /// Whether the key sets this field.
    pub(in crate::formats) fn is_of(&self, id: FieldId) -> bool {
        self.field == Some(id)
    }
}

/// The settings, report rows and questions so far.
pub(in crate::formats) struct JobDraft {
    pub(in crate::formats) framework: &'static Framework,
    pub(in crate::formats) settings: Settings,
    pub(in crate::formats) report: Vec<Row>,
    pub(in crate::formats) questions: Vec<Question>,
    /// The keys that have no usable value.
    pub(in crate::formats) missing: Vec<Missing>,
    /// The keys that change memory by 2 % or more and are not modelled.
    pub(in crate::formats) marks: Vec<NotModelled>,
    /// Whether all modules that are offloaded are ones that the estimate does not follow.
    pub(in crate::formats) nothing_offloaded: bool,
    /// The class of the model, where the text names it.
    pub(in crate::formats) model_class: Option<KeyValue>,
    /// The encoders beside the language model.
    pub(in crate::formats) towers: Vec<Tower>,
    /// The index of the report row that set a field.
    rows: BTreeMap<FieldId, usize>,
}

impl JobDraft {
    pub(in crate::formats) fn new(framework: &'static Framework) -> Self {
        Self {
            framework,
            settings: Settings::default(),
            report: Vec::new(),
            questions: Vec::new(),
            missing: Vec::new(),
            marks: Vec::new(),
            nothing_offloaded: false,
            model_class: None,
            towers: Vec::new(),
            rows: BTreeMap::new(),
        }
    }

    /// Adds a report row.
    pub(in crate::formats) fn row(
        &mut self,
        item: &KeyValue,
        status: KeyStatus,
        field: Option<FieldId>,
        note: impl Into<Cow<'static, str>>,
    ) {
        self.report.push(Row {
            key: item.key.clone(),
            value: shown(&item.value),
            line: Some(item.line).filter(|line| *line > 0),
            status,
            field,
            note: note.into(),
            effect: None,
        });
    }

    /// Adds a key that has no usable value, with its report row.
    pub(in crate::formats) fn add_missing(&mut self, item: &KeyValue, field: Option<FieldId>, why: String) {
        self.missing.push(Missing {
            key: item.key.clone(),
            field,
            variables: Vec::new(),
            row: self.report.len(),
        });
        self.row(item, KeyStatus::Missing, field, why);
    }

    /// Adds the report row of a key that the estimate does not follow, and marks the job where the key changes memory
    /// by 2 % or more.
    pub(in crate::formats) fn not_modelled(&mut self, item: &KeyValue, effect: MemoryEffect, reason: &'static str) {
        self.row(item, KeyStatus::NotModelled, None, reason);
        if let Some(row) = self.report.last_mut() {
            row.effect = Some(effect);
        }
        if effect == MemoryEffect::More {
            // All settings of adapters in Megatron-Bridge make one mark.
            let key = match item.key.split_once('.') {
                Some(("peft", _)) => "peft",
                _ => item.key.trim_start_matches(['-', '+']),
            };
            self.marks.push(NotModelled::new(key, reason));
        }
    }

    /// Sets a field from a key and adds the report row. A row that set the field before becomes conflicting; a value
    /// that the field cannot take is reported as missing.
    pub(in crate::formats) fn set(
        &mut self,
        item: &KeyValue,
        id: FieldId,
        value: Value,
        status: KeyStatus,
        note: impl Into<Cow<'static, str>>,
    ) {
        let value = match meaning(id, Some(&value)) {
            _ if value == Value::Null => value,
            // Graph modules have names for other fields too, which are sorted out at the end. For patterns the rules
            // say where they are wrong, and what would be right.
            Meaning::Bad(_)
                if matches!(
                    id,
                    FieldId::cuda_graph_modules | FieldId::hybrid_layer_pattern | FieldId::layer_sizes
                ) =>
            {
                value
            }
            means @ (Meaning::Is(_) | Meaning::Nothing) => means.to_value(id),
            Meaning::Bad(_) => {
                let why = format!("“{}” is no value for it", shown(&value));
                self.add_missing(item, Some(id), why);
                self.settings.set(id, value);
                return;
            }
        };
        let other = self.rows.get(&id).copied();
        // A dumped configuration has the older names of its fields too, with nothing in them.
        let is_other_key = other
            .and_then(|row| self.report.get(row))
            .is_some_and(|row| row.key != item.key);
        let elsewhere = "another key says it";
        if value == Value::Null && is_other_key {
            return self.row(item, KeyStatus::Ignored, Some(id), elsewhere);
        }
        let is_empty = self.settings.get(id) == Some(&Value::Null);
        if let Some(row) = other.and_then(|row| self.report.get_mut(row))
            && (row.key == item.key || self.settings.get(id) != Some(&value))
        {
            (row.status, row.note) = if is_empty && is_other_key {
                (KeyStatus::Ignored, elsewhere.into())
            } else {
                let note = match item.line {
                    0 => "set again by the launcher, which counts".to_owned(),
                    line => format!("set again on line {line}, which counts"),
                };
                (KeyStatus::Conflicting, note.into())
            };
        }
        self.settings.set(id, value);
        self.rows.insert(id, self.report.len());
        self.row(item, status, Some(id), note);
    }

    /// Whether a key has set the field.
    pub(in crate::formats) fn has(&self, id: FieldId) -> bool {
        self.settings.get(id).is_some()
    }

    /// The value of a whole-number field, where a key has set it.
    pub(in crate::formats) fn number(&self, id: FieldId) -> Option<u64> {
        match meaning(id, self.settings.get(id)) {
            Meaning::Is(crate::config::parse::Parsed::Int(i)) => Some(i),
            _ => None,
        }
    }

    /// Sets the fields that the text leaves out to the defaults of the front end, where those differ from the defaults
    /// of the fields themselves.
    pub(in crate::formats) fn defaults(&mut self) {
        let class = self.framework.defaults_of_class(&self.settings);
        let pattern = hybrid_pattern(&self.settings);
        let has_latent = self.has(FieldId::multi_latent_attention)
            || pattern.as_ref().is_some_and(|pattern| {
                pattern.has(LayerSymbol::MultiLatentAttention) || pattern.has(LayerSymbol::SparseAttention)
            });
        for id in FieldId::ALL {
            let destination = destination_of(*id);
            let Some(text) = self.framework.default_in_class(class, destination) else {
                continue;
            };
            let latent = matches!(id, FieldId::q_lora_rank | FieldId::kv_lora_rank);
            if latent && !has_latent || is_switched_off(&self.settings, *id) {
                continue;
            }
            let value = python(text);
            let means = meaning(*id, Some(&value));
            if self.has(*id) || means == meaning(*id, None) || means.is_bad() {
                continue;
            }
            let value = means.to_value(*id);
            self.default(*id, value);
        }
    }

    /// Sets a field to a default of the front end and adds the report row.
    pub(in crate::formats) fn default(&mut self, id: FieldId, value: Value) {
        self.report.push(Row {
            key: id.field().name.to_owned(),
            value: shown(&value),
            line: None,
            status: KeyStatus::Defaulted,
            field: Some(id),
            note: format!("default of {}", self.framework.name).into(),
            effect: None,
        });
        self.settings.set(id, value);
    }

    pub(in crate::formats) fn finish(mut self, format: Format) -> Import {
        self.report.sort_by_key(|row| (row.line.is_none(), row.line));
        let job = RawJob {
            shared: self.settings,
            not_modelled: not_modelled::canonical(&self.marks),
            ..RawJob::default()
        };
        let state = ShareState {
            setup: Setup { preset: None, job },
            ..ShareState::default()
        };
        Import {
            questions: self.questions,
            towers: self.towers,
            framework: Some(self.framework),
            ..Import::new(format, self.framework.name, state, self.report)
        }
    }
}

/// The value that Python prints as `text`.
pub(crate) fn python(text: &str) -> Value {
    match text {
        "None" => Value::Null,
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        other => Value::Text(other.to_owned()),
    }
}
