//! A problem of a job: the rule, the fields involved, a message, and changes that would remove the problem.

use core::fmt;

use super::fields::FieldId;
use crate::parallel::mimo::Repair;
use crate::value::Value;

/// Whether a problem keeps the job from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Megatron refuses the job, or it has no meaning.
    Error,
    /// The job runs, but something is ignored, wasteful or surprising.
    Warning,
}

/// Rules whose violation is a warning while a job is planned, since only Megatron's scheduler refuses it, when training
/// starts.
const REFUSED_AT_START: [&str; 2] = ["microbatches_fill_group", "last_group"];

/// Whether Megatron refuses to train with a problem of this severity that this rule found, at once or when training
/// starts.
pub(crate) fn keeps_from_training(severity: Severity, rule: &str) -> bool {
    severity == Severity::Error || REFUSED_AT_START.contains(&rule)
}

/// A change that would remove a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// The field to set.
    pub field: FieldId,
    /// The value to set it to; null for the default.
    pub value: Value,
}

/// One problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Index of the module that the problem is about.
    pub module: usize,
    /// Every field involved; empty for unknown keys.
    pub fields: Vec<FieldId>,
    /// Error or warning.
    pub severity: Severity,
    /// A stable name of the rule.
    pub rule: &'static str,
    /// The problem in one sentence, with what would work.
    pub message: String,
    /// Changes of one field that would remove the problem, best first.
    pub fixes: Vec<Fix>,
    /// A change of several modules that would remove the problem.
    pub repair: Option<Repair>,
}

impl Problem {
    /// An error about `fields`.
    pub(crate) fn error(module: usize, rule: &'static str, fields: &[FieldId], message: String) -> Self {
        Self {
            module,
            fields: fields.to_vec(),
            severity: Severity::Error,
            rule,
            message,
            fixes: Vec::new(),
            repair: None,
        }
    }

    /// A warning about `fields`.
    pub(crate) fn warning(module: usize, rule: &'static str, fields: &[FieldId], message: String) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(module, rule, fields, message)
        }
    }

    /// Whether Megatron refuses to train with it, at once or when training starts.
    #[must_use]
    pub fn keeps_from_training(&self) -> bool {
        keeps_from_training(self.severity, self.rule)
    }

    /// Whether it keeps the job from running.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
