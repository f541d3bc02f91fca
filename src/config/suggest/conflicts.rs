//! Settings that contradict a job's new model, or its new settings: resets or replaces them until nothing is wrong.

use super::{count_errors, errors_with, problems_with_known_fixes};
use crate::config::canonical::{Meaning, meaning, set_names};
use crate::config::check::validate;
use crate::config::field::{Aspect, Kind};
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::problem::{Fix, Problem};
use crate::config::raw::RawJob;
use crate::value::Value;

/// Settings that need stages and chunks of one size: what counts as a layer, and ways to ask for interleaving.
const EVEN_STAGES: [FieldId; 5] = [
    FieldId::account_for_embedding_in_pipeline_split,
    FieldId::account_for_loss_in_pipeline_split,
    FieldId::virtual_pipeline_model_parallel_size,
    FieldId::num_layers_per_virtual_pipeline_stage,
    FieldId::num_virtual_stages_per_pipeline_rank,
];

/// Most settings that are changed, and most values that are tried for one error.
const MOST: usize = 16;

/// A setting that was changed because of a conflict.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// The field.
    pub field: FieldId,
    /// Its value before; null where none was given.
    pub from: Value,
    /// Its value now; null for the default.
    pub to: Value,
    /// The message of the problem that it had.
    pub why: String,
}

/// Changes a module of a job until nothing is wrong with it, or nothing more helps. Only fields that are `free` change:
/// those that [split layers](Aspect::LayerSplit) are reset, lists of names lose names, and others get a value that a
/// problem suggests.
pub fn resolve_conflicts(job: &mut RawJob, module: usize, free: &dyn Fn(FieldId) -> bool) -> Vec<Resolution> {
    let mut resolutions = Vec::new();
    while resolutions.len() < MOST
        && let Some(resolution) = next_resolution(job, module, free)
    {
        job.put(module, resolution.field, resolution.to.clone());
        resolutions.push(resolution);
    }
    resolutions
}

fn next_resolution(job: &RawJob, module: usize, free: &dyn Fn(FieldId) -> bool) -> Option<Resolution> {
    let problems = problems_with_known_fixes(job);
    let count = count_errors(&problems);
    let own_errors = problems.iter().filter(|p| p.is_error() && p.module == module);
    let errors: Vec<&Problem> = own_errors.collect();
    let resolution = |problem: &Problem, (field, to): (FieldId, Value)| Resolution {
        field,
        from: job.get(module, field).cloned().unwrap_or_default(),
        to,
        why: problem.message.clone(),
    };
    let differs = |id: FieldId| meaning(id, job.get(module, id)) != meaning(id, None);
    for problem in &errors {
        let fields = problem.fields.iter().copied();
        let mut splits = fields.filter(|id| free(*id) && splits_layers(*id) && differs(*id));
        if let Some(id) = splits.next() {
            return Some(resolution(problem, (id, Value::Null)));
        }
    }
    for problem in &errors {
        let mut changes = changes(job, module, problem, free).take(MOST);
        let helps = changes.find(|(id, to)| errors_with(job, module, *id, to) < count);
        if let Some(change) = helps {
            return Some(resolution(problem, change));
        }
    }
    // Without these settings, stages need not be of one size.
    let problem = errors.first()?;
    let helps = |id: &FieldId| {
        let mut other = job.clone();
        other.put(module, *id, Value::Null);
        let left = count_errors(&validate(&other).problems);
        left < count || left == count && next_resolution(&other, module, free).is_some()
    };
    let mut given = EVEN_STAGES.into_iter().filter(|id| free(*id) && differs(*id));
    let field = given.find(helps)?;
    Some(resolution(problem, (field, Value::Null)))
}

fn splits_layers(id: FieldId) -> bool {
    id.field().aspect == Aspect::LayerSplit
}

/// Changes to try for a problem: shorter lists of names first, then the problem's own fixes. Among these the ones that
/// split layers otherwise come first, which leave the job its parallelism.
fn changes(
    job: &RawJob,
    module: usize,
    problem: &Problem,
    free: &dyn Fn(FieldId) -> bool,
) -> impl Iterator<Item = (FieldId, Value)> {
    let fields = problem.fields.iter().copied().filter(|id| free(*id));
    let shorter = fields.flat_map(move |id| {
        let lists = without_one(job, module, id).into_iter();
        lists.map(move |to| (id, to))
    });
    let fixes: Vec<&Fix> = problem.fixes.iter().filter(|fix| free(fix.field)).collect();
    let (of_layers, others): (Vec<_>, Vec<_>) = fixes.into_iter().partition(|fix| splits_layers(fix.field));
    let fixes = of_layers.into_iter().chain(others);
    shorter.chain(fixes.map(|fix| (fix.field, fix.value.clone())))
}

/// A field's list of names without each of its names in turn; nothing for a field that holds no list.
fn without_one(job: &RawJob, module: usize, id: FieldId) -> Vec<Value> {
    let kind = id.field().kind;
    let (Kind::Set(_), Meaning::Is(Parsed::Set(bits))) = (kind, meaning(id, job.get(module, id))) else {
        return Vec::new();
    };
    let names: Vec<&str> = set_names(kind, bits).collect();
    let without = |removed: &&str| {
        let rest = names.iter().filter(|name| *name != removed);
        Value::List(rest.map(|name| Value::Text((*name).to_owned())).collect())
    };
    names.iter().map(without).collect()
}
