//! Settings for which a text has no value: a variable that nobody sets, or a word that the setting cannot take.

use super::draft::{JobDraft, KeyValue};
use crate::config::field::Default;
use crate::config::fields::FieldId;
use crate::formats::report::{KeyStatus, shown};
use crate::formats::shell::{ShellImport, Word};
use crate::value::Value;

/// The key of the row for the number of GPUs, which no flag of a program says.
pub const GPUS: &str = "GPUs";

/// A key without a value.
pub(super) struct Missing {
    key: String,
    field: Option<FieldId>,
    /// The script's variables that the value is made of.
    variables: Vec<String>,
    /// Its row.
    row: usize,
}

impl JobDraft {
    /// Notes that a key has no value for its field.
    pub(super) fn add_missing(&mut self, item: &KeyValue, field: Option<FieldId>, why: String) {
        self.missing.push(Missing {
            key: item.key.clone(),
            field,
            variables: Vec::new(),
            row: self.report.len(),
        });
        self.row(item, KeyStatus::Missing, field, why);
    }

    /// Notes of the keys that were found without a value since there were `known` that other values of these words would
    /// give them one.
    pub(super) fn name_variables(&mut self, known: usize, words: &[Word]) {
        for missing in self.missing.iter_mut().skip(known) {
            let names = words.iter().flat_map(|word| &word.variables);
            missing.variables = names.cloned().collect();
        }
    }

    /// The keys that another value of a variable would give a value.
    pub(super) fn keys_of(&self, variable: &str) -> Vec<String> {
        let of_it = self
            .missing
            .iter()
            .filter(|missing| missing.variables.iter().any(|name| name == variable));
        of_it.map(|missing| missing.key.clone()).collect()
    }

    /// Says in every row without a value what counts in its place.
    pub(super) fn explain_missing(&mut self, partial: bool) {
        for missing in &self.missing {
            let stands = match missing.field {
                _ if partial => "what your job has stays".to_owned(),
                Some(id) => match (self.settings.get(id), id.field().default) {
                    (Some(Value::Null) | None, default) => match default {
                        Default::Required => "nothing stands in, and a job needs it".to_owned(),
                        Default::Set("") => "nothing of it stands in".to_owned(),
                        default => format!("the default stands in: {default}"),
                    },
                    (Some(value), _) => format!("{} stands in", shown(value)),
                },
                None => format!("the default of {} stands in", self.dialect.name()),
            };
            if let Some(row) = self.report.get_mut(missing.row) {
                row.note = format!("{}; {stands}", row.note).into();
            }
        }
    }
}

/// Why words give no value: the variables that nobody sets.
pub(super) fn unset(words: &[Word], script: &ShellImport) -> String {
    let read = |name: &str| {
        words
            .iter()
            .any(|word| word.variables.iter().any(|read| read == name))
    };
    let open = script.unresolved().map(|variable| variable.name.as_str());
    let open: Vec<String> = open
        .filter(|name| read(name))
        .map(|name| format!("${name}"))
        .collect();
    match open.as_slice() {
        [] => "its value is missing: only running the script would tell".to_owned(),
        [one] => format!("its value is missing: {one} is not set"),
        several => format!(
            "its value is missing: {} are not set",
            several.join(" and ")
        ),
    }
}
