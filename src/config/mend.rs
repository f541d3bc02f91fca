//! A way out of problems whose rule knows none: the fields involved are changed, one at a time, and what helps is offered.

use super::canonical::names;
use super::check::examine;
use super::field::{Default, Kind};
use super::fields::FieldId;
use super::problem::{Problem, Severity};
use super::raw::RawJob;
use crate::value::Value;

/// Problems that are looked after, the first ones: a job of garbage has hundreds.
const MENDED: usize = 8;
/// Changes that are offered for a problem.
const OFFERED: usize = 3;

/// Adds changes to errors that have none. A change is offered where it ends the problem and makes no other.
#[inline(never)] // Apart: its parts take fewer bytes than one huge function.
pub(super) fn mend(raw: &RawJob, problems: &mut [Problem]) {
    let before = errors(problems);
    let helpless = |p: &&mut Problem| {
        p.severity == Severity::Error && p.fixes.is_empty() && p.repair.is_none()
    };
    for problem in problems.iter_mut().filter(helpless).take(MENDED) {
        for field in problem.fields.clone() {
            for value in others(raw, problem.module, field) {
                let mut other = raw.clone();
                other.put(problem.module, field, value.clone());
                if problem.fixes.len() < OFFERED && errors(&examine(&other).problems) < before {
                    problem.fix(field, value);
                }
            }
        }
    }
}

fn errors(problems: &[Problem]) -> usize {
    let errors = problems.iter().filter(|p| p.severity == Severity::Error);
    errors.count()
}

/// Other values of a field: its default, and where the values are few all of them.
fn others(raw: &RawJob, module: usize, id: FieldId) -> Vec<Value> {
    let field = id.field();
    let given = raw.get(module, id);
    let mut others = Vec::new();
    if given.is_some() && field.default != Default::Required {
        others.push(Value::Null);
    }
    match field.kind {
        Kind::Flag => others.extend([true, false].map(Value::Bool)),
        Kind::Choice(_) => {
            let names = names(field.kind).iter();
            others.extend(names.map(|name| Value::Text((*name).to_owned())));
        }
        _ => {}
    }
    others.retain(|value| given != Some(value));
    others
}
