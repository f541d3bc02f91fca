//! A job with another model, or with settings that contradict what it had: what cannot apply any more gives way.

use super::canonical::{Meaning, meaning, set_names};
use super::check::{check, examine};
use super::field::{Group, Kind};
use super::fields::FieldId;
use super::parse::Parsed;
use super::problem::{Problem, Severity};
use super::raw::RawJob;
use crate::value::Value;

/// Settings that spell out the layers of one model, and may mean nothing for another.
pub const LAYERS: [FieldId; 3] = [
    FieldId::pipeline_model_parallel_layout,
    FieldId::decoder_first_pipeline_num_layers,
    FieldId::decoder_last_pipeline_num_layers,
];

/// Settings for stages and chunks of one size: what counts as a layer, and ways to ask for interleaving.
const EVEN: [FieldId; 5] = [
    FieldId::account_for_embedding_in_pipeline_split,
    FieldId::account_for_loss_in_pipeline_split,
    FieldId::virtual_pipeline_model_parallel_size,
    FieldId::num_layers_per_virtual_pipeline_stage,
    FieldId::num_virtual_stages_per_pipeline_rank,
];

/// The most settings that give way.
const MOST: usize = 16;

/// Whether a setting says what the model is, and not how it is trained.
#[must_use]
pub fn is_of_model(id: FieldId) -> bool {
    matches!(
        id.presentation().group,
        Group::Model | Group::Attention | Group::Moe
    )
}

/// A setting that gave way.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which one.
    pub field: FieldId,
    /// What it was; null where nothing was given.
    pub from: Value,
    /// What it is now; null for the default.
    pub to: Value,
    /// The problem that it had.
    pub why: String,
}

/// Changes a module of a job until nothing is wrong with it, or nothing more helps. Only settings that are `free` change:
/// those that [spell out layers](LAYERS) are left out, lists of names lose what cannot apply, and others get a value that
/// a problem itself names.
pub fn adapt(job: &mut RawJob, module: usize, free: &dyn Fn(FieldId) -> bool) -> Vec<Change> {
    let mut changes = Vec::new();
    while changes.len() < MOST
        && let Some(change) = step(job, module, free)
    {
        job.put(module, change.field, change.to.clone());
        changes.push(change);
    }
    changes
}

/// The next setting that gives way.
fn step(job: &RawJob, module: usize, free: &dyn Fn(FieldId) -> bool) -> Option<Change> {
    let problems = check(job).problems;
    let errors = problems.iter().filter(|p| is_error(p));
    let count = errors.clone().count();
    let errors: Vec<&Problem> = errors.filter(|p| p.module == module).collect();
    let left = |id: FieldId, to: &Value| {
        let mut other = job.clone();
        other.put(module, id, to.clone());
        let left = examine(&other)
            .problems
            .iter()
            .filter(|p| is_error(p))
            .count();
        (other, left)
    };
    let change = |problem: &Problem, field: FieldId, to: Value| Change {
        field,
        from: job.get(module, field).cloned().unwrap_or_default(),
        to,
        why: problem.message.clone(),
    };
    let given = |id: FieldId| meaning(id, job.get(module, id)) != meaning(id, None);
    for problem in &errors {
        let own = problem.fields.iter().copied().filter(|id| free(*id));
        if let Some(id) = own.clone().find(|id| LAYERS.contains(id) && given(*id)) {
            return Some(change(problem, id, Value::Null));
        }
    }
    for problem in &errors {
        let own = problem.fields.iter().copied().filter(|id| free(*id));
        let shorter = own.flat_map(|id| {
            without_one(job, module, id)
                .into_iter()
                .map(move |to| (id, to))
        });
        let fixes = problem.fixes.iter().filter(|fix| free(fix.field));
        // With other layers in its last stage a job keeps its parallelism.
        let of_layers = |fix: &&super::problem::Fix| LAYERS.contains(&fix.field);
        let fixes = fixes
            .clone()
            .filter(of_layers)
            .chain(fixes.filter(|fix| !of_layers(fix)));
        let fixes = fixes.map(|fix| (fix.field, fix.value.clone()));
        let mut candidates = shorter.chain(fixes).take(MOST);
        let helps = candidates.find(|(id, to)| left(*id, to).1 < count);
        if let Some((id, to)) = helps {
            return Some(change(problem, id, to));
        }
    }
    // Without these, stages need not be of one size.
    let problem = errors.first()?;
    let parts = EVEN.into_iter().filter(|id| free(*id) && given(*id));
    let helps = |id: &FieldId| {
        let (other, left) = left(*id, &Value::Null);
        left < count || left == count && step(&other, module, free).is_some()
    };
    let found = parts.into_iter().find(helps)?;
    Some(change(problem, found, Value::Null))
}

fn is_error(problem: &Problem) -> bool {
    problem.severity == Severity::Error
}

/// The lists that a list of names becomes when it loses one.
fn without_one(job: &RawJob, module: usize, id: FieldId) -> Vec<Value> {
    let kind = id.field().kind;
    let (Kind::Set(_), Meaning::Is(Parsed::Set(bits))) = (kind, meaning(id, job.get(module, id)))
    else {
        return Vec::new();
    };
    let names: Vec<&str> = set_names(kind, bits).collect();
    let without = |lost: &&str| {
        let rest = names.iter().filter(|name| *name != lost);
        Value::List(rest.map(|name| Value::Text((*name).to_owned())).collect())
    };
    names.iter().map(without).collect()
}
