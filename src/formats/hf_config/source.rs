//! A `config.json` while it is being read: looks keys up and records what was made of them.

use std::borrow::Cow;

use super::error::{HfProblem, HfProblemKind};
use super::family::{Family, Fixed};
use super::keys;
use crate::formats::node::{Data, Entry};
use crate::formats::report::{KeyReport, KeyStatus, Setting, shown_data};
use crate::value::Value;

/// Largest size, count or width accepted; products of two still fit an `i128` many times over.
const MAX_COUNT: i128 = 1 << 40;

/// The keys of one model, and the settings, report rows and problems so far.
pub(super) struct Source<'a> {
    pub(super) family: &'static Family,
    /// The keys of the language model.
    pub(super) entries: &'a [Entry],
    /// The keys around it in a multimodal file; empty otherwise.
    pub(super) outer: &'a [Entry],
    /// The prefix of the keys of `entries` in the report: empty, or `text_config.`
    pub(super) prefix: String,
    /// The class defaults of the family.
    pub(super) defaults: &'a [Entry],
    /// The key that names the family, its value and its line.
    family_key: (Cow<'static, str>, String, Option<u32>),
    pub(super) settings: Vec<Setting>,
    pub(super) report: Vec<KeyReport>,
    pub(super) problems: Vec<HfProblem>,
}

/// A value with the key and line that it comes from.
#[derive(Clone)]
pub(super) struct KeyedValue<'a> {
    pub(super) data: &'a Data,
    key: Cow<'static, str>,
    line: Option<u32>,
}

impl KeyedValue<'_> {
    /// Whether the file has it; otherwise it is a default of the class.
    pub(super) fn in_file(&self) -> bool {
        self.line.is_some()
    }
}

impl<'a> Source<'a> {
    pub(super) fn new(family: &'static Family, entries: &'a [Entry], defaults: &'a [Entry]) -> Self {
        Self {
            family,
            entries,
            outer: &[],
            prefix: String::new(),
            defaults,
            family_key: ("model_type".into(), String::new(), None),
            settings: Vec::new(),
            report: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The value of `key`, or of one of its other spellings, in the file; otherwise the default of the class.
    ///
    /// The first spelling that is not null counts; the others are reported.
    pub(super) fn find(&mut self, key: &'static str) -> Option<KeyedValue<'a>> {
        if let Some(found) = self.find_in(self.entries, key, false) {
            return Some(found);
        }
        if let Some((map, inner)) = keys::inner(key)
            && let Some(entry) = last(self.entries, map)
            && let Some(entry) = last(entry.node.entries(), inner)
        {
            return Some(KeyedValue {
                data: &entry.node.data,
                key: self.path(&format!("{map}.{inner}"), false),
                line: Some(entry.line),
            });
        }
        if keys::SHARED_WITH_OUTER.contains(&key)
            && let Some(found) = self.find_in(self.outer, key, true)
        {
            return Some(found);
        }
        let default = last(self.defaults, key)?;
        Some(KeyedValue {
            data: &default.node.data,
            key: key.into(),
            line: None,
        })
    }

    fn find_in(&mut self, entries: &'a [Entry], key: &'static str, outer: bool) -> Option<KeyedValue<'a>> {
        let spellings = core::iter::once(key).chain(keys::aliases(key).iter().copied());
        let present: Vec<&'a Entry> = spellings.filter_map(|spelling| last(entries, spelling)).collect();
        let chosen = *present
            .iter()
            .find(|entry| entry.node.data != Data::Null)
            .or_else(|| present.first())?;
        for other in present {
            let key = self.path(&other.key, outer);
            if other.key == chosen.key || self.report.iter().any(|row| row.key == key) {
                continue;
            }
            let (status, verb) = if other.node.data == Data::Null {
                (KeyStatus::Ignored, "is null beside")
            } else if other.node.to_value() == chosen.node.to_value() {
                (KeyStatus::Ignored, "says the same as")
            } else {
                (KeyStatus::Conflicting, "disagrees with, and gives way to,")
            };
            let note = format!("{verb} `{}`", chosen.key);
            self.report.push(KeyReport {
                key,
                value: shown_data(&other.node.data),
                line: Some(other.line),
                status,
                field: None,
                note: note.into(),
            });
        }
        Some(KeyedValue {
            data: &chosen.node.data,
            key: self.path(&chosen.key, outer),
            line: Some(chosen.line),
        })
    }

    /// The key as the report spells it.
    pub(super) fn path(&self, key: &str, outer: bool) -> Cow<'static, str> {
        if outer {
            key.to_owned().into()
        } else {
            format!("{}{key}", self.prefix).into()
        }
    }

    /// Sets `field`, of which the key of `found` is another name.
    pub(super) fn map(&mut self, found: &KeyedValue<'_>, field: &'static str, value: Value) {
        self.row(found, KeyStatus::Mapped, Some(field), "");
        self.settings.push(Setting { field, value });
    }

    /// Sets `field` to a value that was derived from `found` and other facts.
    pub(super) fn derive(&mut self, found: &KeyedValue<'_>, field: &'static str, value: Value, note: &'static str) {
        self.row(found, KeyStatus::Derived, Some(field), note);
        self.settings.push(Setting { field, value });
    }

    /// Sets `field` to a value that follows from the family and no key.
    pub(super) fn derive_from_family(&mut self, field: &'static str, value: Value, note: &'static str) {
        let note = if note.is_empty() {
            format!("{} always has {value}", self.family.name).into()
        } else {
            note.into()
        };
        self.family_row(KeyStatus::Derived, Some(field), note);
        self.settings.push(Setting { field, value });
    }

    /// Records which entry names the family, and adds its report row.
    pub(super) fn named_by(&mut self, entry: &Entry, outer: bool) {
        let value = shown_data(&entry.node.data);
        self.family_key = (self.path(&entry.key, outer), value, Some(entry.line));
        self.family_row(KeyStatus::Mapped, None, self.family.name.into());
    }

    /// Reports something that follows from the family.
    pub(super) fn family_row(&mut self, status: KeyStatus, field: Option<&'static str>, note: Cow<'static, str>) {
        let (key, value, line) = self.family_key.clone();
        self.report.push(KeyReport {
            key,
            value,
            line,
            status,
            field,
            note,
        });
    }

    /// Sets a field to the value that all models of the family have.
    pub(super) fn fix(&mut self, field: &'static str, fixed: Fixed) {
        let value = match fixed {
            Fixed::Bool(b) => Value::Bool(b),
            Fixed::Int(number) => Value::Int(number),
            Fixed::Text(text) => Value::Text(text.to_owned()),
        };
        self.derive_from_family(field, value, "");
    }

    /// Reports `found` without setting anything. A class default is reported as such, with its value.
    pub(super) fn row(
        &mut self,
        found: &KeyedValue<'_>,
        status: KeyStatus,
        field: Option<&'static str>,
        note: &'static str,
    ) {
        let (status, value, note) = if found.in_file() {
            (status, shown_data(found.data), note.into())
        } else {
            let note = format!("default of the class: {}", found.data.to_value());
            (KeyStatus::Defaulted, String::new(), note.into())
        };
        self.report.push(KeyReport {
            key: found.key.clone(),
            value,
            line: found.line,
            status,
            field,
            note,
        });
    }

    /// Notes that `found` keeps the file from being read.
    pub(super) fn problem(&mut self, found: &KeyedValue<'_>, kind: HfProblemKind) {
        self.problems.push(HfProblem {
            key: found.key.to_string(),
            line: found.line,
            kind,
        });
    }

    /// Notes that a key is missing.
    pub(super) fn missing(&mut self, key: &'static str) {
        let key = self.path(key, false).into_owned();
        self.problems.push(HfProblem {
            key,
            line: None,
            kind: HfProblemKind::Missing,
        });
    }

    /// The whole number in `found`, between `min` and `max`; null counts as nothing. A list has a number for every
    /// layer: it counts as that number where all are the same.
    pub(super) fn integer(&mut self, found: &KeyedValue<'_>, min: i128, max: i128) -> Option<i128> {
        let data = match found.data {
            Data::List(items) => match items.split_first() {
                Some((first, rest)) if rest.iter().all(|item| item.data == first.data) => &first.data,
                Some((first, _)) if matches!(first.data, Data::Int(_)) => {
                    self.problem(found, HfProblemKind::PerLayer);
                    return None;
                }
                _ => found.data,
            },
            data => data,
        };
        match data {
            Data::Int(i) if (min..=max).contains(i) => Some(*i),
            Data::Int(_) => {
                self.problem(found, HfProblemKind::OutOfRange { min, max });
                None
            }
            Data::Null => None,
            _ => {
                self.problem(
                    found,
                    HfProblemKind::WrongType {
                        expected: "a whole number",
                    },
                );
                None
            }
        }
    }

    /// A size or count of at least `min` under `key`, with its place; null and missing count as nothing.
    pub(super) fn count(&mut self, key: &'static str, min: i128) -> Option<(KeyedValue<'a>, i128)> {
        let found = self.find(key)?;
        let count = self.integer(&found, min, MAX_COUNT)?;
        Some((found, count))
    }

    /// Maps a size or count that the model cannot do without.
    pub(super) fn required(&mut self, key: &'static str, field: &'static str) -> Option<i128> {
        let problems = self.problems.len();
        if let Some((found, count)) = self.count(key, 1) {
            self.map(&found, field, Value::Int(count));
            return Some(count);
        }
        if self.problems.len() == problems {
            self.missing(key);
        }
        None
    }

    /// The truth value under `key`; null and missing count as nothing.
    pub(super) fn flag(&mut self, key: &'static str) -> Option<(KeyedValue<'a>, bool)> {
        let found = self.find(key)?;
        match found.data {
            Data::Bool(b) => Some((found.clone(), *b)),
            Data::Null => None,
            _ => {
                self.problem(
                    &found,
                    HfProblemKind::WrongType {
                        expected: "true or false",
                    },
                );
                None
            }
        }
    }

    /// The text under `key`; null and missing count as nothing.
    pub(super) fn text(&mut self, key: &'static str) -> Option<(KeyedValue<'a>, &'a str)> {
        let found = self.find(key)?;
        match found.data {
            Data::Text(text) => Some((found.clone(), text)),
            Data::Null => None,
            _ => {
                self.problem(&found, HfProblemKind::WrongType { expected: "text" });
                None
            }
        }
    }
}

/// The last entry with `key`.
pub(super) fn last<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Entry> {
    entries.iter().rev().find(|entry| entry.key == key)
}
