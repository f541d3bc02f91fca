//! A rule of Megatron that a job breaks: the arguments involved, a message, and changes that would remove the problem.

use core::fmt;

use super::mimo::parallelism::Field;
use crate::python::Exception;
use crate::value::Value;

/// Whether a problem keeps the job from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Megatron refuses the job, or it has no meaning.
    Error,
    /// The job runs, but something is ignored, wasteful or surprising.
    Warning,
}

/// One broken rule. `F` names an argument: a row of the table of fields for the rules of a whole job, Megatron's name of
/// it for the rules of this room, which does not know that table.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem<F> {
    /// Index of the module that the problem is about; 0 for a problem of the whole job.
    pub module: usize,
    /// Every argument involved, the likeliest culprit first; empty for unknown keys.
    pub fields: Vec<F>,
    /// Error or warning.
    pub severity: Severity,
    /// A stable name of the rule; empty until [`Problem::of`] gives it.
    pub rule: &'static str,
    /// The problem in one sentence, with what would work.
    pub message: String,
    /// Changes of one argument that would remove the problem, best first.
    pub fixes: Vec<Fix<F>>,
    /// Changes of several modules that together would remove the problem.
    pub repair: Option<Repair>,
    /// The class of the exception that the framework raises with this message, for the rules of `MegatronMIMO`.
    pub exception: Option<Exception>,
    /// Whether the launcher of the job stops at it, although the model could be built and trained.
    pub stops_launcher: bool,
}

/// A change of one argument that would remove a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix<F> {
    /// The argument to set.
    pub field: F,
    /// The value to set it to; null for the default.
    pub value: Value,
}

/// Several changes that together solve a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The changes in words, as an instruction.
    pub label: String,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// One change to the modules of a job and to their ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A field of the module at that index gets a value.
    Set {
        /// The index of the module.
        module: usize,
        /// What to set.
        field: Field,
        /// The value.
        value: i128,
    },
    /// The module at that index gets another name.
    Rename {
        /// The index of the module.
        module: usize,
        /// The new name.
        name: String,
    },
    /// The job runs on another number of ranks.
    WorldSize(i128),
}

impl<F> Problem<F> {
    /// A rule about `fields` that Megatron enforces, or without which the job has no meaning.
    pub(crate) fn error(fields: &[F], message: impl Into<String>) -> Self
    where
        F: Clone,
    {
        Self {
            module: 0,
            fields: fields.to_vec(),
            severity: Severity::Error,
            rule: "",
            message: message.into(),
            fixes: Vec::new(),
            repair: None,
            exception: None,
            stops_launcher: false,
        }
    }

    /// A rule about `fields` without which the job runs, but something is ignored, wasteful or surprising.
    pub(crate) fn warning(fields: &[F], message: impl Into<String>) -> Self
    where
        F: Clone,
    {
        Self {
            severity: Severity::Warning,
            ..Self::error(fields, message)
        }
    }

    /// The problem of the module at index `module`, found by the rule of that name.
    pub(crate) fn of(mut self, module: usize, rule: &'static str) -> Self {
        self.module = module;
        self.rule = rule;
        self
    }

    /// Adds a change that would remove the problem; the best one comes first.
    pub(crate) fn fix(mut self, field: F, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.fixes.push(Fix { field, value });
        self
    }

    /// Adds a change of `field` to each of these values.
    pub(crate) fn fix_each<N: Copy + Into<i128>>(self, field: F, values: &[N]) -> Self
    where
        F: Copy,
    {
        let change = |problem: Self, value: &N| problem.fix(field, Value::Int((*value).into()));
        values.iter().fold(self, change)
    }

    /// The problem with arguments named in another way; those that have no other name are left out.
    pub(crate) fn rename_fields<G>(self, rename: impl Fn(F) -> Option<G>) -> Problem<G> {
        let fixes = self.fixes.into_iter().filter_map(|Fix { field, value }| {
            let field = rename(field)?;
            Some(Fix { field, value })
        });
        Problem {
            fixes: fixes.collect(),
            fields: self.fields.into_iter().filter_map(&rename).collect(),
            module: self.module,
            severity: self.severity,
            rule: self.rule,
            message: self.message,
            repair: self.repair,
            exception: self.exception,
            stops_launcher: self.stops_launcher,
        }
    }

    /// Whether it keeps the job from running.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl<F> fmt::Display for Problem<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
