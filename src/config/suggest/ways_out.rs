//! Other ways out of an error than those that its rule knows: smaller or larger parallel sizes where the number of GPUs
//! does not fit, and the most similar name where a name is not known.

use super::count_errors;
use super::step::{now, powers};
use crate::config::canonical::{Meaning, meaning, names};
use crate::config::check::validate;
use crate::config::field::Kind;
use crate::config::fields::FieldId;
use crate::config::problem::{Fix, Problem};
use crate::config::raw::RawJob;
use crate::value::Value;

/// Errors that get ways out, the first ones.
const MOST_ERRORS: usize = 4;
/// Ways out of one error, those that its rule knows included.
const MOST_FIXES: usize = 6;
/// Values that are tried for one field.
const MOST_TRIES: usize = 8;

/// Adds fixes to the first errors: for each field involved that has none yet, the nearest value with which the error is
/// gone. A value that leaves fewer errors comes before one that leads to another error.
pub(super) fn add_ways_out(raw: &RawJob, problems: &mut [Problem]) {
    let before = count_errors(problems);
    let errors = problems
        .iter_mut()
        .filter(|problem| problem.is_error() && problem.repair.is_none());
    for problem in errors.take(MOST_ERRORS) {
        for id in problem.fields.clone() {
            let mut fixes = problem.fixes.iter();
            let has_fix = fixes.any(|fix| fix.field == id && fix.value != Value::Null);
            if problem.fixes.len() < MOST_FIXES && !has_fix {
                let value = way_out(raw, problem, id, before);
                problem.fixes.extend(value.map(|value| Fix { field: id, value }));
            }
        }
    }
}

/// The value of a field that is a way out of a problem, where one of the nearest is.
fn way_out(raw: &RawJob, problem: &Problem, id: FieldId, before: usize) -> Option<Value> {
    let module = problem.module;
    let mut second = None;
    for value in candidates(raw, problem, id).into_iter().take(MOST_TRIES) {
        let mut changed = raw.clone();
        changed.put(module, id, value.clone());
        let left = validate(&changed).problems;
        let same = |other: &Problem| other.rule == problem.rule && other.module == module;
        let errors = count_errors(&left);
        if errors > before || left.iter().any(same) {
            continue;
        }
        if errors < before {
            return Some(value);
        }
        second = second.or(Some(value));
    }
    second
}

/// The parallel sizes that divide the GPUs among them.
const SIZES: [FieldId; 5] = [
    FieldId::tensor_model_parallel_size,
    FieldId::pipeline_model_parallel_size,
    FieldId::context_parallel_size,
    FieldId::expert_model_parallel_size,
    FieldId::expert_tensor_parallel_size,
];

/// Values to try for a field, nearest first.
fn candidates(raw: &RawJob, problem: &Problem, id: FieldId) -> Vec<Value> {
    let module = problem.module;
    let of_gpus = problem.fields.contains(&FieldId::world_size) && SIZES.contains(&id);
    match (id.field().kind, meaning(id, raw.get(module, id))) {
        (Kind::Int { min, max }, _) if of_gpus => {
            let current = now(raw, module, id).unwrap_or(min.max(1));
            let legal = |n: &u64| (min..=max).contains(n) && *n != current;
            let mut sizes: Vec<u64> = powers().filter(legal).collect();
            sizes.sort_by_key(|size| distance(*size, current));
            let numbers = sizes.into_iter().map(|size| Value::Int(size.into()));
            numbers.collect()
        }
        (_, Meaning::Bad(_)) if id == FieldId::world_size => {
            needed_gpus(raw).map(|gpus| vec![gpus]).unwrap_or_default()
        }
        (kind @ Kind::Choice(_), Meaning::Bad(text)) => {
            let mut names: Vec<&str> = names(kind).to_vec();
            let similarity = |name: &str| strsim::normalized_damerau_levenshtein(&text, name);
            names.sort_by(|a, b| similarity(b).total_cmp(&similarity(a)));
            let names = names.into_iter();
            names.map(|name| Value::Text(name.to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

/// The GPUs of a job whose number of GPUs cannot be read: as many as it has where none is given, or as its rules then ask
/// for.
fn needed_gpus(raw: &RawJob) -> Option<Value> {
    let id = FieldId::world_size;
    let mut open = raw.clone();
    open.put(0, id, Value::Null);
    let checked = validate(&open);
    if let Some(config) = &checked.config {
        return Some(Value::Int(config.world_size().into()));
    }
    let mut fixes = checked.problems.iter().flat_map(|problem| &problem.fixes);
    fixes.find(|fix| fix.field == id).map(|fix| fix.value.clone())
}

/// How far apart two sizes are, as the larger over the smaller in thousandths. The smaller of two that are equally far
/// comes first.
fn distance(size: u64, current: u64) -> (u64, u64) {
    let (low, high) = (size.min(current).max(1), size.max(current));
    let ratio = high.saturating_mul(1000).checked_div(low);
    (ratio.unwrap_or(u64::MAX), size)
}
