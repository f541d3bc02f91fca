//! A way out of problems whose rule knows none: the fields involved are changed, one at a time, and what helps is offered.

use core::mem::take;

use super::check::examine;
use super::field::Kind;
use super::problem::{Fix, Problem, Severity};
use super::raw::RawJob;
use crate::value::Value;

/// Problems that are looked after, the first ones: a job of garbage has hundreds.
const MENDED: usize = 8;
/// Changes that are offered for a problem.
const OFFERED: usize = 3;

/// Leaves out changes that only lead to another error, and adds changes to errors that have none. A change is
/// offered where fewer errors are left.
pub(super) fn mend(raw: &RawJob, problems: &mut [Problem]) {
    let before = errors(problems);
    let mut mended = 0;
    for problem in problems {
        if problem.severity != Severity::Error || problem.repair.is_some() || mended == MENDED {
            continue;
        }
        mended += 1;
        let module = problem.module;
        let helps = |fix: &Fix| {
            let mut other = raw.clone();
            other.put(module, fix.field, fix.value.clone());
            errors(&examine(&other).problems) < before
        };
        let known = take(&mut problem.fixes);
        problem
            .fixes
            .extend(known.iter().filter(|fix| helps(fix)).cloned());
        for id in problem.fields.clone() {
            // The value that it has mends nothing.
            let values = match id.field().kind {
                Kind::Flag => vec![Value::Bool(true), Value::Bool(false)],
                _ => vec![Value::Null],
            };
            for value in values {
                let fix = Fix { field: id, value };
                let few = known.is_empty() || problem.fixes.is_empty();
                if few && problem.fixes.len() < OFFERED && helps(&fix) {
                    problem.fixes.push(fix);
                }
            }
        }
        if problem.fixes.is_empty() {
            problem.fixes = known;
        }
    }
}

fn errors(problems: &[Problem]) -> usize {
    let errors = problems.iter().filter(|p| p.severity == Severity::Error);
    errors.count()
}
