//! For errors without a known fix: try the default, or the opposite value, of each field involved, and keep the changes
//! that leave fewer errors.

use core::mem::take;

use super::{count_errors, errors_with};
use crate::config::field::Kind;
use crate::config::problem::{Fix, Problem};
use crate::config::raw::RawJob;
use crate::value::Value;

/// Errors that get suggestions, the first ones: a job of garbage has hundreds.
const MOST_ERRORS: usize = 8;
/// Suggestions for one error.
const MOST_FIXES: usize = 3;

/// Removes fixes that only lead to another error, and adds fixes to errors that have none. A fix is kept where it
/// leaves fewer errors; where none does, those that the rule knows stay.
pub(super) fn suggest_fixes(raw: &RawJob, problems: &mut [Problem]) {
    let before = count_errors(problems);
    let errors = problems
        .iter_mut()
        .filter(|problem| problem.is_error() && problem.repair.is_none());
    for problem in errors.take(MOST_ERRORS) {
        let module = problem.module;
        let helps = |fix: &Fix| errors_with(raw, module, fix.field, &fix.value) < before;
        let known = take(&mut problem.fixes);
        let helpful = known.iter().filter(|fix| helps(fix)).cloned();
        problem.fixes.extend(helpful);
        for id in problem.fields.clone() {
            // The value that the field has is tried too; it leaves as many errors.
            let values = match id.field().kind {
                Kind::Flag => vec![Value::Bool(true), Value::Bool(false)],
                _ => vec![Value::Null],
            };
            for value in values {
                let fix = Fix { field: id, value };
                let wanted = known.is_empty() || problem.fixes.is_empty();
                if wanted && problem.fixes.len() < MOST_FIXES && helps(&fix) {
                    problem.fixes.push(fix);
                }
            }
        }
        if problem.fixes.is_empty() {
            problem.fixes = known;
        }
    }
}
