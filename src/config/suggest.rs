//! Changes that would make a job legal: tries other values through the check. Nothing below calls this.

mod conflicts;
mod fixes;
pub mod step;
mod ways_out;

pub use conflicts::{Resolution, resolve_conflicts};

use self::fixes::suggest_fixes;
use self::ways_out::add_ways_out;
use super::check::{Checked, validate};
use super::fields::FieldId;
use super::problem::Problem;
use super::raw::RawJob;
use crate::value::Value;

/// Checks a raw job: every field on its own, then every rule over several fields. All problems are reported at once,
/// with changes that would remove them.
#[must_use]
pub fn check(raw: &RawJob) -> Checked {
    let mut checked = validate(raw);
    if checked.config.is_none() {
        let tried = without_unknown_keys(raw);
        suggest_fixes(&tried, &mut checked.problems);
        add_ways_out(&tried, &mut checked.problems);
    }
    checked
}

/// A job without the keys that are only warned of: each of the many checks of its changes would look for a similar
/// field again.
fn without_unknown_keys(raw: &RawJob) -> RawJob {
    let mut tried = raw.clone();
    // A wrong list of modules is an error.
    tried.unknown.retain(|(key, _)| key == "modules");
    tried
}

/// The problems of a job with the fixes that their rules know.
fn problems_with_known_fixes(raw: &RawJob) -> Vec<Problem> {
    let mut checked = validate(raw);
    if checked.config.is_none() {
        suggest_fixes(raw, &mut checked.problems);
    }
    checked.problems
}

/// Errors of a job with another value for one field.
fn errors_with(raw: &RawJob, module: usize, field: FieldId, value: &Value) -> usize {
    let mut changed = raw.clone();
    changed.put(module, field, value.clone());
    count_errors(&validate(&changed).problems)
}

fn count_errors(problems: &[Problem]) -> usize {
    problems.iter().filter(|problem| problem.is_error()).count()
}
