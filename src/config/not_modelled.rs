//! What changes the memory of a job and is not modelled. Such a key marks its job: the estimate is then that of another
//! job, without what the key says.

mod settings;
mod table;

pub(crate) use settings::marks;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::source::Citation;
use crate::value::Value;

/// The longest key and the longest reason of a mark, in characters.
const LONGEST: usize = 200;

/// How much a key changes the memory of a training step, where the estimate does not follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, Serialize, Deserialize)]
#[strum(serialize_all = "snake_case")]
pub enum MemoryEffect {
    /// Nothing.
    Nothing,
    /// By less than 2 %.
    BelowTwoPercent,
    /// By 2 % or more.
    More,
}

/// A mark of a job: a key that changes its memory by 2 % or more, and that the estimate does not follow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotModelled {
    /// The key as its source spells it, such as `perform_rl_step` or `actor.model.lora_rank`.
    pub key: String,
    /// The part of the memory that the estimate leaves out, in words.
    pub reason: Cow<'static, str>,
}

/// A feature that changes memory by 2 % or more and is not modelled, with the keys that turn it on.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// The feature's name in links, which stays the same in later versions.
    pub id: &'static str,
    /// The keys in snake case, without the keys around them. The feature is on where one of them is given, unless its
    /// value means "off".
    pub keys: &'static [&'static str],
    /// Values of these keys, beside those that mean "off" for any key, with which the feature is off.
    pub off: &'static [&'static str],
    /// The part of the memory that the estimate leaves out, in words.
    pub reason: &'static str,
    /// The source of the reason.
    pub source: Citation,
}

impl Feature {
    /// All features.
    pub const ALL: &[Self] = table::FEATURES;

    /// The feature with a name.
    #[must_use]
    pub fn by_id(id: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|feature| feature.id == id)
    }

    /// The feature that a key turns on. Keys may have dashes, and other keys around them: `--perform-rl-step`,
    /// `model.perform_rl_step`. Programs may have their extension.
    #[must_use]
    pub fn of_key(key: &str) -> Option<&'static Self> {
        let key = key.trim_start_matches(['-', '+']);
        let key = key.replace('-', "_").to_ascii_lowercase();
        let key = key.strip_suffix(".py").unwrap_or(&key);
        let name = key.rsplit(['.', '/']).next().unwrap_or_default();
        let mut all = Self::ALL.iter();
        all.find(|feature| feature.keys.contains(&name))
    }

    /// Whether the feature is off with this value of one of its keys.
    #[must_use]
    pub fn is_off(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(false) | Value::Int(0) => true,
            Value::Text(text) => {
                let text = text.trim().to_ascii_lowercase();
                let off = ["", "0", "false", "null", "none", "no", "off", "[]", "{}"];
                off.contains(&text.as_str()) || self.off.contains(&text.as_str())
            }
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
            Value::Bool(true) => false,
            number @ (Value::Int(_) | Value::Float(_)) => self.off.contains(&number.to_string().as_str()),
        }
    }
}

impl NotModelled {
    /// A mark for a key.
    #[must_use]
    pub fn new(key: &str, reason: impl Into<Cow<'static, str>>) -> Self {
        let clipped = |text: &str| -> String {
            let printable = text.chars().filter(|c| !c.is_control());
            printable.take(LONGEST).collect()
        };
        let reason = match reason.into() {
            Cow::Owned(reason) => {
                let known = Feature::ALL.iter().find(|feature| feature.reason == reason);
                known.map_or_else(|| clipped(&reason).into(), |feature| feature.reason.into())
            }
            known @ Cow::Borrowed(_) => known,
        };
        Self {
            key: clipped(key),
            reason,
        }
    }

    /// The mark for a key whose reason is that of its feature, or else that nothing is known of it.
    #[must_use]
    pub fn of_key(key: &str) -> Self {
        let reason = Feature::of_key(key).map_or(UNKNOWN, |feature| feature.reason);
        Self::new(key, reason)
    }

    /// The mark that a key with this value makes; `None` for keys that turn no feature on.
    #[must_use]
    pub fn of_value(key: &str, value: &Value) -> Option<Self> {
        let feature = Feature::of_key(key)?;
        (!feature.is_off(value)).then(|| Self::new(key, feature.reason))
    }

    /// Reads the public JSON form of a list of marks: keys, or maps with `key` and `reason`.
    #[must_use]
    pub fn from_value(value: &Value) -> Vec<Self> {
        let items = match value {
            Value::List(items) => items.as_slice(),
            one => core::slice::from_ref(one),
        };
        let text = |value: Option<&Value>| match value {
            Some(Value::Text(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            _ => None,
        };
        let mark = |item: &Value| match item {
            Value::Map(_) => {
                let key = text(item.get("key"))?;
                Some(match text(item.get("reason")) {
                    Some(reason) => Self::new(&key, reason),
                    None => Self::of_key(&key),
                })
            }
            other => Some(Self::of_key(&text(Some(other))?)),
        };
        items.iter().filter_map(mark).collect()
    }

    /// The public JSON form.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let entry = |key: &str, text: &str| (key.to_owned(), Value::Text(text.to_owned()));
        Value::Map(vec![entry("key", &self.key), entry("reason", &self.reason)])
    }
}

/// `perform_rl_step is not modelled: …`.
impl core::fmt::Display for NotModelled {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} is not modelled: {}", self.key, self.reason)
    }
}

/// The reason of a mark whose key has no feature and that gives no reason.
pub const UNKNOWN: &str = "its memory is not known";

/// Marks in canonical form: in the order of their keys, each key once.
#[must_use]
pub fn canonical(marks: &[NotModelled]) -> Vec<NotModelled> {
    let mut marks = marks.to_vec();
    marks.sort();
    marks.dedup_by(|a, b| a.key == b.key);
    marks
}
