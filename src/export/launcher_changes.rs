//! The values that exported arguments have in place of a job's own, where Megatron-LM's launcher cannot train the job as
//! it is and other launchers can.

use core::fmt::Write;

use super::launcher;
use crate::config::canonical::{is_on, meaning};
use crate::config::fields::FieldId;
use crate::config::problem::Fix;
use crate::config::raw::{RawJob, Settings};
use crate::config::{check, launcher_problems};
use crate::memory::estimate;
use crate::report::amount::{Scale, Unit};
use crate::units::Bytes;
use crate::value::Value;

/// A field with the value that the launcher accepts in place of the job's.
#[derive(Clone, Debug, PartialEq)]
pub struct LauncherChange {
    /// The field.
    pub field: FieldId,
    /// The job's value.
    pub from: Value,
    /// The value of the exported arguments.
    pub to: Value,
}

/// The job with values that Megatron-LM's launcher accepts, and what was changed for that. Each change is the best fix
/// of a rule that only this launcher has, or of a rule that the job breaks with the changes before.
#[must_use]
pub fn accepted(job: &RawJob) -> (RawJob, Vec<LauncherChange>) {
    let (mut accepted, mut changes) = (job.clone(), Vec::<LauncherChange>::new());
    let known: Vec<&str> = check(job).errors().map(|problem| problem.rule).collect();
    while let Some(Fix { field, value: to }) = next_change(&accepted, &known) {
        if changes.iter().any(|change| change.field == field) {
            break;
        }
        let from = meaning(field, accepted.shared.get(field)).to_value(field);
        accepted.shared.set(field, to.clone());
        changes.push(LauncherChange { field, from, to });
    }
    if fuses_quick_geglu_alone(&accepted.shared) {
        let field = FieldId::bias_swiglu_fusion;
        let [from, to] = [true, false].map(Value::Bool);
        accepted.shared.set(field, to.clone());
        changes.push(LauncherChange { field, from, to });
    }
    (accepted, changes)
}

/// Whether a launcher other than Megatron-LM's computes `quick_geglu` in one kernel where Megatron-LM's does not: it goes
/// by the flag of GELU, which needs biases (`core_transformer_config_from_args`, `validate_args`). No rule says so, since
/// jobs of Megatron-LM's launcher do not read `bias_swiglu_fusion` then.
fn fuses_quick_geglu_alone(settings: &Settings) -> bool {
    let on = |id| is_on(settings, id);
    let is_quick = on(FieldId::quick_geglu) && !on(FieldId::swiglu);
    let is_fused = on(FieldId::bias_swiglu_fusion) && !launcher::is_own(settings);
    is_quick && is_fused && !(on(FieldId::bias_gelu_fusion) && on(FieldId::add_bias_linear))
}

/// The next change. The job broke the rules in `known` before the first one.
fn next_change(job: &RawJob, known: &[&str]) -> Option<Fix> {
    let refused = launcher_problems(job);
    let checked = check(job);
    let new = checked.errors().filter(|problem| !known.contains(&problem.rule));
    let mut broken = refused.iter().chain(new);
    broken.find_map(|problem| problem.fixes.first()).cloned()
}

/// Comments that name the changes and what they do to the largest peak of a GPU; empty without changes.
pub(super) fn comment(job: &RawJob, accepted: &RawJob, changes: &[LauncherChange]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let mut out = String::from("# Changed, since the launcher of Megatron-LM cannot train the job as it is:\n");
    for LauncherChange { field, from, to } in changes {
        let _ = writeln!(out, "# - {} is {}, not {}.", field.field().name, word(to), word(from));
    }
    let sentence = match (peak(job), peak(accepted)) {
        (Some(before), Some(after)) if before == after => String::from("The memory stays as it is."),
        (Some(before), Some(after)) => {
            let scale = Scale::fine(Unit::Gib);
            format!(
                "The largest peak is then {} instead of {}: {}.",
                scale.amount(after),
                scale.amount(before),
                scale.change(before, after)
            )
        }
        _ => return out,
    };
    let _ = writeln!(out, "# {sentence}");
    out
}

/// A value as Megatron-LM's arguments have it.
fn word(value: &Value) -> String {
    match value {
        Value::Null => String::from("its default"),
        Value::Bool(true) => String::from("on"),
        Value::Bool(false) => String::from("off"),
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The largest peak of allocated memory over the stages of a job; `None` where the job has errors.
fn peak(job: &RawJob) -> Option<Bytes> {
    let config = check(job).config?;
    estimate(&config).worst_stage().map(|stage| stage.total)
}
