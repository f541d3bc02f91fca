//! `validate`: the problems of a job.

use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::job::Given;
use super::plain_data::PlainData;
use super::to_ts;
use megatron_memory::config::check;
use megatron_memory::config::problem::{self, Fix as FieldFix};
use megatron_memory::value::Value;

/// A problem of a job: a rule that it breaks.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Problem {
    /// Index of the module that breaks the rule.
    module: usize,
    /// The names of the arguments involved.
    fields: Vec<&'static str>,
    severity: Severity,
    /// The name of the rule, which stays the same in later versions.
    rule: &'static str,
    message: String,
    /// Changes of one argument each that would solve the problem, best first.
    fixes: Vec<Fix>,
    /// Several changes that together solve the problem.
    repair: Option<Repair>,
}

/// How severe a problem is.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Megatron refuses the job.
    Error,
    /// Megatron runs the job, perhaps not as it was meant.
    Warning,
}

/// A change of one argument.
#[derive(Debug, Serialize, Tsify)]
pub struct Fix {
    field: &'static str,
    /// The new value; `null` means the default.
    #[tsify(type = "unknown")]
    value: PlainData,
}

/// Several changes that together solve a problem.
#[derive(Debug, Serialize, Tsify)]
pub struct Repair {
    /// The changes in words.
    label: String,
    changes: Vec<Change>,
}

/// A change of one argument of one module.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Change {
    /// Index of the module; `null` for an argument that all modules share.
    module: Option<usize>,
    field: &'static str,
    /// The new value; `null` means the default.
    #[tsify(type = "unknown")]
    value: PlainData,
}

/// The problems of a job, warnings included; an empty list for a job without problems.
///
/// # Errors
/// Throws a `TypeError` for what is no job, a `LinkError` or an `ImportError` for a text that cannot be read. What of a
/// link could not be used is a warning of the rule `link`.
#[wasm_bindgen]
pub fn validate(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
) -> Result<Vec<Ts<Problem>>, JsValue> {
    let Given { state, notices } = Given::read(job, None)?;
    let notices = notices.into_iter().map(Problem::of_link);
    let found = problems(&check(&state.setup.job).problems);
    notices.chain(found).map(|problem| to_ts(&problem)).collect()
}

/// Converts problems to those of this API.
pub(super) fn problems(problems: &[problem::Problem]) -> Vec<Problem> {
    problems.iter().map(Problem::from).collect()
}

impl Problem {
    /// What of a link could not be used.
    fn of_link(message: String) -> Self {
        Self {
            module: 0,
            fields: Vec::new(),
            severity: Severity::Warning,
            rule: "link",
            message,
            fixes: Vec::new(),
            repair: None,
        }
    }
}

impl From<&problem::Problem> for Problem {
    fn from(problem: &problem::Problem) -> Self {
        let fields = problem.fields.iter().map(|id| id.field().name);
        Self {
            module: problem.module,
            fields: fields.collect(),
            severity: match problem.severity {
                problem::Severity::Error => Severity::Error,
                problem::Severity::Warning => Severity::Warning,
            },
            rule: problem.rule,
            message: problem.message.clone(),
            fixes: problem.fixes.iter().map(Fix::from).collect(),
            repair: problem.repair.as_ref().map(Repair::from),
        }
    }
}

impl From<&FieldFix> for Fix {
    fn from(fix: &FieldFix) -> Self {
        Self {
            field: fix.field.field().name,
            value: PlainData(fix.value.clone()),
        }
    }
}

impl From<&problem::Repair> for Repair {
    fn from(repair: &problem::Repair) -> Self {
        Self {
            label: repair.label.clone(),
            changes: repair.changes.iter().map(Change::from).collect(),
        }
    }
}

impl From<&problem::Change> for Change {
    fn from(change: &problem::Change) -> Self {
        let (module, field, value) = match change {
            problem::Change::Set { module, field, value } => (Some(*module), field.name(), Value::Int(*value)),
            problem::Change::Rename { module, name } => (Some(*module), "name", Value::Text(name.clone())),
            problem::Change::WorldSize(ranks) => (None, "world_size", Value::Int(*ranks)),
        };
        Self {
            module,
            field,
            value: PlainData(value),
        }
    }
}
