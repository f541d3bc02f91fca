//! Plain data: short ways to make it, and what is thrown when something cannot be done.

use crate::config::problem::{Problem, Severity};
use crate::value::Value;

/// Why something could not be done, as JavaScript gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The error's `name`: `ImportError`, `ExportError`, `LinkError`, `SearchError`, `ConfigError` or `TypeError`.
    pub name: &'static str,
    /// What is wrong, in sentences.
    pub message: String,
    /// For a `ConfigError`, every problem of the job; else null.
    pub problems: Value,
}

impl Failure {
    pub(super) fn new(name: &'static str, message: impl Into<String>) -> Self {
        Self {
            name,
            message: message.into(),
            problems: Value::Null,
        }
    }

    /// A job that Megatron would refuse.
    pub(super) fn config(problems: &[Problem]) -> Self {
        let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Self {
            name: "ConfigError",
            message: words.join("; "),
            problems: Value::List(problems.iter().map(problem).collect()),
        }
    }

    pub(super) fn wrong_type(message: impl Into<String>) -> Self {
        Self::new("TypeError", message)
    }
}

fn problem(problem: &Problem) -> Value {
    let fields = problem.fields.iter().map(|id| text(id.field().name));
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let fixes = problem.fixes.iter().map(|fix| {
        map([
            ("field", text(fix.field.field().name)),
            ("value", fix.value.clone()),
        ])
    });
    map([
        ("module", int(problem.module)),
        ("fields", fields.collect()),
        ("severity", text(severity)),
        ("rule", text(problem.rule)),
        ("message", text(&problem.message)),
        ("fixes", fixes.collect()),
    ])
}

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

pub(super) fn int(number: impl TryInto<i128>) -> Value {
    number.try_into().map_or(Value::Null, Value::Int)
}

pub(super) fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let own = |(key, value): (&str, Value)| (key.to_owned(), value);
    Value::Map(entries.into_iter().map(own).collect())
}

/// The value, or null.
pub(super) fn or_null<T>(value: Option<T>, to: impl FnOnce(T) -> Value) -> Value {
    value.map_or(Value::Null, to)
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Self>>(items: I) -> Self {
        Self::List(items.into_iter().collect())
    }
}

/// The text that `options` has under `key`; none where it is missing or null.
pub(super) fn text_option<'v>(options: &'v Value, key: &str) -> Result<Option<&'v str>, Failure> {
    match options.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text)),
        Some(_) => Err(Failure::wrong_type(format!("{key} must be a string"))),
    }
}

/// The whole number, not below zero, that `options` has under `key`; none where it is missing or null.
pub(super) fn count_option(options: &Value, key: &str) -> Result<Option<u64>, Failure> {
    let wrong = || Failure::wrong_type(format!("{key} must be a whole number, not below zero"));
    match options.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => count(value).map(Some).ok_or_else(wrong),
    }
}

/// A whole number, not below zero; JavaScript has its numbers as floats.
pub(super) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        // Prints exactly below 2^53, and without a fraction only when there is none.
        Value::Float(number) if number.abs() < 9_007_199_254_740_992.0 => {
            format!("{number}").parse().ok()
        }
        _ => None,
    }
}
