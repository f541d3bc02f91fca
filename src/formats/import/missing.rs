//! Keys without a usable value: it depends on a variable that nobody sets, or the field cannot take it.

use super::draft::JobDraft;
use super::imported::{Question, Row};
use super::key_value::KeyValue;
use super::keys::Keys;
use super::rules;
use crate::config::canonical::meaning;
use crate::config::field::Default;
use crate::formats::dialects::meaning::Decides;
use crate::formats::interpolation::open_names;
use crate::formats::report::shown;
use crate::formats::shell::{ShellImport, Variable, Word};
use crate::value::Value;

/// The key of the report row for the number of GPUs, which no flag of a training program gives.
pub const GPUS: &str = "GPUs";

impl JobDraft {
    /// Records the variables that occur in `words` for the missing keys from index `known` on: other values of these
    /// variables would give the keys a value.
    pub(in crate::formats) fn name_variables(&mut self, known: usize, words: &[Word]) {
        for missing in self.missing.iter_mut().skip(known) {
            let names = words.iter().flat_map(|word| &word.variables);
            missing.variables = names.cloned().collect();
        }
    }

    /// Applies a key whose value may have references to variables of the environment. With a variable that has no value
    /// the key is missing, where it decides a setting.
    pub(in crate::formats) fn apply_referring(&mut self, keys: &mut Keys<'_>, item: &KeyValue, name: &str) {
        let known = self.missing.len();
        let names: Vec<String> = match &item.value {
            Value::Text(text) => open_names(text).into_iter().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        match rules::decides(self.framework, name) {
            Decides::Setting(field) if !names.is_empty() => {
                let dollars: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
                self.add_missing(item, field, not_set(&dollars));
            }
            _ => rules::apply(self, keys, item, name),
        }
        for missing in self.missing.iter_mut().skip(known) {
            missing.variables.clone_from(&names);
        }
    }

    /// Asks for the variables of the environment that decide settings: those without a value, and those that have a
    /// default.
    pub(in crate::formats) fn ask_for(&mut self, variables: Vec<Variable>) {
        for variable in variables {
            let keys = self.keys_of(&variable.name);
            let decides =
                |row: &Row| row.field.is_some() && row.line.is_some_and(|line| variable.lines.contains(&line));
            let is_open = variable.answer.is_none() && variable.default.is_some() && self.report.iter().any(decides);
            if is_open || !keys.is_empty() {
                self.questions.push(Question::Variable {
                    name: variable.name,
                    lines: variable.lines,
                    default: variable.default,
                    keys,
                });
            }
        }
    }

    /// The missing keys in whose values a variable occurs.
    pub(in crate::formats) fn keys_of(&self, variable: &str) -> Vec<String> {
        let of_it = self
            .missing
            .iter()
            .filter(|missing| missing.variables.iter().any(|name| name == variable));
        of_it.map(|missing| missing.key.clone()).collect()
    }

    /// Completes the report rows of missing keys with the value that is used in their place.
    pub(in crate::formats) fn explain_missing(&mut self, partial: bool) {
        for missing in &self.missing {
            let stands = match missing.field {
                Some(id) if meaning(id, self.settings.get(id)).is_bad() => "the job cannot run with it".to_owned(),
                _ if partial => "what your job has stays".to_owned(),
                Some(id) => match (self.settings.get(id), id.field().default) {
                    (Some(Value::Null) | None, default) => match default {
                        Default::Required => "nothing stands in, and a job needs it".to_owned(),
                        Default::Set("") => "nothing of it stands in".to_owned(),
                        default => format!("the default stands in: {default}"),
                    },
                    (Some(value), _) => format!("{} stands in", shown(value)),
                },
                None => format!("the default of {} stands in", self.framework.name),
            };
            if let Some(row) = self.report.get_mut(missing.row) {
                row.note = format!("{}; {stands}", row.note).into();
            }
        }
    }
}

/// The reason why words have no value: the variables in them that nobody sets.
pub(in crate::formats) fn unset(words: &[Word], script: &ShellImport) -> String {
    let read = |name: &str| words.iter().any(|word| word.variables.iter().any(|read| read == name));
    let open = script.unresolved().map(|variable| variable.name.as_str());
    let open: Vec<String> = open.filter(|name| read(name)).map(|name| format!("${name}")).collect();
    not_set(&open)
}

/// The reason why a value is missing, with the variables in it that nobody sets.
fn not_set(variables: &[String]) -> String {
    match variables {
        [] => "its value is missing: only running the script would tell".to_owned(),
        [one] => format!("its value is missing: {one} is not set"),
        several => format!("its value is missing: {} are not set", several.join(" and ")),
    }
}
