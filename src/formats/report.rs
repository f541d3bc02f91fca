//! The report of an import: a row for every key, with its status and the field that it decides.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::node::{Data, Entry};
use crate::value::Value;

/// One configuration field with the value that a reader found for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Megatron-LM's argument name in snake case.
    pub field: &'static str,
    /// Its value, not yet checked against the other fields.
    pub value: Value,
}

/// One row of an import report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReport {
    /// The key as the source spells it, with the keys around it: `text_config.hidden_size`.
    pub key: Cow<'static, str>,
    /// Its value in the source, shortened; empty when the source does not have the key.
    pub value: String,
    /// Line of the key, counted from 1; none when the source does not have the key.
    pub line: Option<u32>,
    /// How the reader used it.
    pub status: KeyStatus,
    /// The configuration field that it decides, alone or with others.
    pub field: Option<&'static str>,
    /// The reason, in a few words; empty where the status says enough.
    pub note: Cow<'static, str>,
}

/// The length in characters at which a report cuts values off.
const LONGEST: usize = 80;

/// A value with line numbers as a report shows it.
pub(crate) fn shown_data(data: &Data) -> String {
    shown(&beginning(data))
}

/// The first items of lists and maps, as many as a report could show.
fn beginning(data: &Data) -> Value {
    match data {
        Data::List(items) => {
            let items = items.iter().take(LONGEST);
            Value::List(items.map(|node| beginning(&node.data)).collect())
        }
        Data::Map(entries) => {
            let entries = entries.iter().take(LONGEST);
            let pair = |entry: &Entry| (entry.key.clone(), beginning(&entry.node.data));
            Value::Map(entries.map(pair).collect())
        }
        other => other.to_value(),
    }
}

/// A value as a report shows it.
#[must_use]
pub fn shown(value: &Value) -> String {
    let text = match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    };
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// How a reader used a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray, Serialize, Deserialize)]
#[strum(serialize_all = "snake_case")]
pub enum KeyStatus {
    /// It is a configuration field under another name.
    Mapped,
    /// It is missing, and the source's own software defines the value then.
    Defaulted,
    /// A field follows from it and from other facts.
    Derived,
    /// It does not change the memory of a training job.
    Ignored,
    /// The estimate does not follow it. The row says how much it changes memory.
    NotModelled,
    /// It contradicts another key or the model family, and the other one counts.
    Conflicting,
    /// The reader does not know it.
    Unknown,
    /// It sets a field, but what the text gives is no value for it; the note says what stands in.
    Missing,
}

impl KeyStatus {
    /// All statuses.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name in programs.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// Its name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::NotModelled => "not modelled",
            other => other.id(),
        }
    }
}
