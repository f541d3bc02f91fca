//! The fields of a JSON object, read with errors that name the field, its rule and a value that would do.

use thiserror::Error;

use crate::value::Value;

/// A field that is missing, unknown or has a wrong value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field} {rule}")]
pub struct FieldError {
    /// The field with the objects that it is in, such as `measured.peak_allocated`.
    pub field: String,
    /// What holds for the field, with a value that would do.
    pub rule: String,
}

/// The fields of one object of a record.
pub(in crate::evidence) struct Fields<'v> {
    entries: &'v Value,
    /// The name of the object; empty for the record itself.
    path: &'static str,
}

impl<'v> Fields<'v> {
    /// The fields of an object that may have these keys.
    pub(in crate::evidence) fn of(value: &'v Value, path: &'static str, keys: &[&str]) -> Result<Self, FieldError> {
        let fields = Self { entries: value, path };
        let Value::Map(entries) = value else {
            let field = if path.is_empty() { "the record" } else { path };
            return Err(FieldError {
                field: field.to_owned(),
                rule: "must be an object".to_owned(),
            });
        };
        match entries.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            Some((unknown, _)) => {
                let rule = format!("is not a key here; the keys are {}", keys.join(", "));
                Err(fields.error(unknown, &rule))
            }
            None => Ok(fields),
        }
    }

    /// The value under a key; `None` where there is none, or null.
    pub(in crate::evidence) fn get(&self, key: &str) -> Option<&'v Value> {
        self.entries.get(key).filter(|value| **value != Value::Null)
    }

    /// The value under a key that must be there.
    pub(in crate::evidence) fn required(&self, key: &str, example: &str) -> Result<&'v Value, FieldError> {
        let missing = || self.error(key, &format!("is missing; it is something like {example}"));
        self.get(key).ok_or_else(missing)
    }

    /// The text under a key.
    pub(in crate::evidence) fn text(&self, key: &str, example: &str) -> Result<Option<String>, FieldError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.must_be(key, &format!("text, such as \"{example}\""))),
        }
    }

    /// The text under a key that must be there, and not be empty.
    pub(in crate::evidence) fn required_text(&self, key: &str, example: &str) -> Result<String, FieldError> {
        self.required(key, &format!("\"{example}\""))?;
        let text = self.text(key, example)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| self.must_be(key, &format!("text, such as \"{example}\"")))
    }

    /// The number under a key, which is whole and not negative.
    pub(in crate::evidence) fn count(&self, key: &str, rule: &str) -> Result<Option<u64>, FieldError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Int(count)) => match u64::try_from(*count) {
                Ok(count) => Ok(Some(count)),
                Err(_) => Err(self.must_be(key, rule)),
            },
            Some(_) => Err(self.must_be(key, rule)),
        }
    }

    /// The truth value under a key; false where there is none.
    pub(in crate::evidence) fn flag(&self, key: &str) -> Result<bool, FieldError> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.must_be(key, "true or false")),
        }
    }

    /// The error of a key whose value breaks a rule that says what the value is.
    pub(in crate::evidence) fn must_be(&self, key: &str, rule: &str) -> FieldError {
        self.error(key, &format!("must be {rule}"))
    }

    /// The error of a key.
    pub(in crate::evidence) fn error(&self, key: &str, rule: &str) -> FieldError {
        let field = match self.path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        FieldError {
            field,
            rule: rule.to_owned(),
        }
    }
}
