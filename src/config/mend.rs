//! A way out of problems whose rule knows none: the fields involved are changed, one at a time, and what helps is offered.

use super::check::examine;
use super::field::Kind;
use super::problem::{Problem, Severity};
use super::raw::RawJob;
use crate::value::Value;

/// Problems that are looked after, the first ones: a job of garbage has hundreds.
const MENDED: usize = 8;
/// Changes that are offered for a problem.
const OFFERED: usize = 3;

/// Adds changes to errors that have none. A change is offered where fewer errors are left.
#[inline(never)] // Apart: its parts take fewer bytes than one huge function.
pub(super) fn mend(raw: &RawJob, problems: &mut [Problem]) {
    let before = errors(problems);
    let mut mended = 0;
    for problem in problems {
        let helpless = problem.fixes.is_empty() && problem.repair.is_none();
        if problem.severity != Severity::Error || !helpless || mended == MENDED {
            continue;
        }
        mended += 1;
        for id in problem.fields.clone() {
            // The value that it has mends nothing.
            let values = match id.field().kind {
                Kind::Flag => vec![Value::Bool(true), Value::Bool(false)],
                _ => vec![Value::Null],
            };
            for value in values {
                let mut other = raw.clone();
                other.put(problem.module, id, value.clone());
                if problem.fixes.len() < OFFERED && errors(&examine(&other).problems) < before {
                    problem.fix(id, value);
                }
            }
        }
    }
}

fn errors(problems: &[Problem]) -> usize {
    let errors = problems.iter().filter(|p| p.severity == Severity::Error);
    errors.count()
}
