//! One rule, and what it says of a module that breaks it.

use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::nearby::{near_multiples, or_list};
use crate::config::problem::{Fix, Problem, Severity};
use crate::value::Value;

/// Something that Megatron refuses or a planner should know.
pub(super) struct Rule {
    /// The rule's stable name; rules of one concern may share it.
    pub(super) name: &'static str,
    /// Returns the violation where a module breaks the rule.
    pub(super) check: fn(&Draft<'_>) -> Option<Violation>,
    /// Whether all its violations are warnings.
    pub(super) only_warns: bool,
}

/// A row of a table of rules.
pub(super) const fn rule(name: &'static str, check: fn(&Draft<'_>) -> Option<Violation>) -> Rule {
    Rule {
        name,
        check,
        only_warns: false,
    }
}

/// A row of a table of rules that only warn. Where nobody reads warnings they are not checked.
pub(super) const fn warning(name: &'static str, check: fn(&Draft<'_>) -> Option<Violation>) -> Rule {
    Rule {
        only_warns: true,
        ..rule(name, check)
    }
}

/// A broken rule: the fields involved, a message, and changes that would remove the violation.
pub(super) struct Violation {
    severity: Severity,
    fields: Vec<F>,
    message: String,
    fixes: Vec<Fix>,
}

/// The value that a fix sets its field to.
#[derive(Clone, Copy)]
pub(super) enum FixValue {
    /// The default.
    Default,
    /// Off.
    Off,
    /// On.
    On,
    /// A number.
    Number(u64),
    /// A name out of the field's list, or several separated by commas.
    Name(&'static str),
}

impl From<FixValue> for Value {
    fn from(value: FixValue) -> Self {
        match value {
            FixValue::Default => Self::Null,
            FixValue::Off => Self::Bool(false),
            FixValue::On => Self::Bool(true),
            FixValue::Number(number) => Self::Int(number.into()),
            FixValue::Name(name) => Self::Text(name.to_owned()),
        }
    }
}

impl Violation {
    /// Megatron refuses the module, or it has no meaning.
    pub(super) fn error(fields: &[F], message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            fields: fields.to_vec(),
            message: message.into(),
            fixes: Vec::new(),
        }
    }

    /// The job runs, but something is ignored, wasteful or surprising.
    pub(super) fn warning(fields: &[F], message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(fields, message)
        }
    }

    /// Adds a change that would remove the violation; the best one comes first.
    pub(super) fn fix(mut self, field: F, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.fixes.push(Fix { field, value });
        self
    }

    /// Adds a change of `field` to each of these values.
    pub(super) fn fix_each(mut self, field: F, values: &[u64]) -> Self {
        let fix = |value: &u64| Fix {
            field,
            value: Value::Int((*value).into()),
        };
        self.fixes.extend(values.iter().map(fix));
        self
    }

    /// Whether the job runs all the same.
    pub(super) fn severity(&self) -> Severity {
        self.severity
    }

    /// The violation as a problem of the module at index `module`.
    pub(super) fn into_problem(self, module: usize, rule: &'static str) -> Problem {
        let mut problem = Problem::error(module, rule, &self.fields, self.message);
        problem.severity = self.severity;
        problem.fixes = self.fixes;
        problem
    }
}

/// Values of one field that would remove a violation.
pub(super) struct Alternatives {
    field: F,
    values: Vec<u64>,
}

impl Alternatives {
    /// The parallel sizes `near` without 1, or where there are none, multiples of `step` near `n` for the field that
    /// the ranks split.
    pub(super) fn sizes(size: F, near: &[u64], split: F, n: u64, step: u64) -> Self {
        let values: Vec<u64> = near.iter().copied().filter(|size| *size > 1).collect();
        if values.is_empty() {
            Self {
                field: split,
                values: near_multiples(n, step),
            }
        } else {
            Self { field: size, values }
        }
    }

    /// TP sizes with which ranks split the field `split`, whose value is `n`, into multiples of `step` / TP; or where
    /// there are none, values for `split`.
    pub(super) fn tp(d: &Draft<'_>, split: F, n: u64, step: u64) -> Self {
        let others = (step / d.tp).max(1);
        let near = d.near_tp(&|tp| n.is_multiple_of(tp.saturating_mul(others)));
        Self::sizes(F::tensor_model_parallel_size, &near, split, n, step)
    }

    /// The violation with these values as fixes, and the message with a sentence about them behind it.
    pub(super) fn offer(self, fields: &[F], message: &str) -> Violation {
        let Self { field, values } = self;
        let name = field.field().name;
        let message = format!("{message}; {name} {} would work", or_list(&values));
        Violation::error(fields, message).fix_each(field, &values)
    }
}
