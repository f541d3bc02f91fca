//! One rule as a row of a table, and what becomes of it where a module breaks it.

use core::mem::take;

use crate::config::check::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::{Fix, Problem, Severity, near_multiples, or_list};
use crate::value::Value;
use crate::words::Gaps;

/// What Megatron refuses or a planner should know, in one row. Rules of one concern may share a name.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) severity: Severity,
    /// The fields involved, unless [`Found::about`] says which.
    pub(super) fields: &'static [F],
    /// Whether a module breaks it. Only if so, it has told the parts of the words that depend on the module.
    pub(super) broken: fn(&Draft<'_>, &mut Found) -> bool,
    /// The problem in one sentence; every `{}` is the next part that was told.
    pub(super) words: &'static str,
    /// Changes that would mend it, best first; those that [`Found::fix`] adds come after them.
    pub(super) fixes: &'static [(F, To)],
}

/// A row's beginning: an error.
pub(super) const ERROR: Rule = Rule {
    name: "",
    severity: Severity::Error,
    fields: &[],
    broken: |_, _| false,
    words: "",
    fixes: &[],
};

/// A row's beginning: a warning.
pub(super) const WARNING: Rule = Rule {
    severity: Severity::Warning,
    ..ERROR
};

/// What a fix sets its field to.
#[derive(Clone, Copy)]
pub(super) enum To {
    /// The default.
    Default,
    /// Off.
    Off,
    /// On.
    On,
    /// A number.
    Number(u32),
    /// A name out of the field's list.
    Name(&'static str),
    /// Each of the values that were told to be near.
    Near,
}

/// What a rule found in a module that breaks it. All that tells something is true, to stand in a condition.
#[derive(Default)]
pub(super) struct Found {
    gaps: Gaps,
    near: Vec<u64>,
    fields: Vec<F>,
    fixes: Vec<Fix>,
}

impl Found {
    /// Tells a number.
    pub(super) fn number(&mut self, number: u64) -> bool {
        self.numbers(&[number])
    }

    /// Tells a text.
    pub(super) fn text(&mut self, text: &str) -> bool {
        self.gaps.text(text);
        true
    }

    /// Tells why something cannot be, if it cannot.
    pub(super) fn why(&mut self, why: &str) -> bool {
        !why.is_empty() && self.text(why)
    }

    /// Tells numbers.
    pub(super) fn numbers(&mut self, numbers: &[u64]) -> bool {
        self.gaps.numbers(numbers);
        true
    }

    /// Whether dividing leaves a rest; tells both numbers if so.
    pub(super) fn rest(&mut self, dividend: u64, divisor: u64) -> bool {
        !dividend.is_multiple_of(divisor) && self.numbers(&[dividend, divisor])
    }

    /// Whether a list of layers has another length than there are layers; tells both numbers if so.
    pub(super) fn other_length(&mut self, list: &[bool], layers: u64) -> bool {
        let length = u64::try_from(list.len()).unwrap_or(u64::MAX);
        length != layers && self.numbers(&[length, layers])
    }

    /// Tells values near by that would work.
    pub(super) fn near(&mut self, values: Vec<u64>) -> bool {
        self.near = values;
        self.text(&or_list(&self.near))
    }

    /// Tells parallel sizes near by that fit, or where none does but 1, multiples of `step` for the field that is split.
    pub(super) fn fit(&mut self, size: F, mut near: Vec<u64>, split: F, n: u64, step: u64) -> bool {
        near.retain(|size| *size > 1);
        let field = if near.is_empty() {
            near = near_multiples(n, step);
            split
        } else {
            size
        };
        self.text(field.field().name) && self.text(&or_list(&near)) && self.fix_each(field, &near)
    }

    /// Says which fields are involved.
    pub(super) fn about(&mut self, fields: &[F]) -> bool {
        self.fields = fields.to_vec();
        true
    }

    /// Adds a change that would mend it.
    pub(super) fn fix(&mut self, field: F, value: Value) -> bool {
        self.fixes.push(Fix { field, value });
        true
    }

    /// Adds changes to `field`, one for each value.
    pub(super) fn fix_each(&mut self, field: F, values: &[u64]) -> bool {
        for value in values {
            self.fix(field, Value::Int((*value).into()));
        }
        true
    }
}

impl Draft<'_> {
    /// Tells TP sizes near by that split `field`, which is `n`, or else multiples of `step` for it.
    pub(super) fn fit_tp(&self, f: &mut Found, field: F, n: u64, step: u64) -> bool {
        let others = (step / self.tp).max(1);
        let near = self.near_tp(&|tp| n.is_multiple_of(tp.saturating_mul(others)));
        f.fit(F::tensor_model_parallel_size, near, field, n, step)
    }
}

impl Rule {
    /// Asks every rule of a table.
    pub(super) fn apply(table: &[Self], draft: &Draft<'_>, problems: &mut Vec<Problem>) {
        // One for all: only a broken rule has told anything.
        let mut found = Found::default();
        for rule in table {
            if (rule.broken)(draft, &mut found) {
                problems.push(rule.problem(draft.module, take(&mut found)));
            }
        }
    }

    fn problem(&self, module: usize, found: Found) -> Problem {
        let fields = match found.fields.as_slice() {
            [] => self.fields,
            fields => fields,
        };
        let mut problem = Problem::error(module, self.name, fields, found.gaps.fill(self.words));
        problem.severity = self.severity;
        for (field, to) in self.fixes {
            let value = match *to {
                To::Default => Value::Null,
                To::Off => Value::Bool(false),
                To::On => Value::Bool(true),
                To::Number(number) => Value::Int(number.into()),
                To::Name(name) => Value::Text(name.to_owned()),
                To::Near => {
                    problem.fix_each(*field, &found.near);
                    continue;
                }
            };
            problem.fix(*field, value);
        }
        problem.fixes.extend(found.fixes);
        problem
    }
}
