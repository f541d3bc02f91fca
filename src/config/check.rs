//! From a raw job to a checked one, or to the list of everything that is wrong with it.

use super::choices::Launcher;
use super::context::{LanguageModel, ModuleContext, knows_item_tokens};
use super::draft::Draft;
use super::field::{Default, Scope};
use super::fields::{Args, FieldId};
use super::gpus::{self, GpuGeneration, GpuMemory};
use super::job::{Config, Module};
use super::module_links::connect;
use super::not_modelled;
use super::parse::{Parsed, default_value, parse};
use super::problem::{Fix, Problem};
use super::rank_ranges::{RankRange, rank_ranges};
use super::raw::RawJob;
use super::rules;
use crate::parallel::mimo::LANGUAGE_MODULE;
use crate::units::Bytes;
use crate::value::Value;

/// The least Jaro-Winkler similarity to the name of a field at which an unknown key is taken for its misspelling.
const SIMILAR: f64 = 0.9;
/// Most unknown keys that are reported.
const MOST_UNKNOWN: usize = 100;
/// Most characters of an unknown key that a message repeats.
const LONGEST_KEY: usize = 80;

/// The result of checking a job.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The job, when it has no errors.
    pub config: Option<Config>,
    /// Errors and warnings, in the order of modules and rules.
    pub problems: Vec<Problem>,
}

impl Checked {
    /// The problems that keep the job from running.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.is_error())
    }

    /// The problems with which the job does not train: errors, what Megatron's schedule refuses when training starts,
    /// and what the launcher of the job refuses.
    pub fn refusals(&self) -> impl Iterator<Item = &Problem> {
        refusing(&self.problems)
    }

    /// The problems with which the job runs.
    pub fn warnings(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| !problem.is_error())
    }
}

fn refusing(problems: &[Problem]) -> impl Iterator<Item = &Problem> {
    problems.iter().filter(|problem| problem.keeps_from_training())
}

/// Checks a raw job: every field on its own, then every rule over several fields. All problems are reported at once;
/// rules over a field that cannot be read are left out. Problems have the fixes that their rules know;
/// [`check`](super::check) adds others.
#[must_use]
pub fn validate(raw: &RawJob) -> Checked {
    validate_beside(raw, None)
}

/// Modules that were checked before, for jobs that differ only in few fields of the language model.
#[derive(Debug, Default)]
pub struct KnownModules {
    /// The modules beside the language model.
    others: Vec<(usize, LanguageModel, Option<RankRange>, CheckedModule)>,
    /// The first job in whose language model nothing was wrong with a field, with the arguments of that.
    language: Option<(RawJob, Args)>,
}

/// The rank behind the last one of a module, the module where nothing is wrong with it, and its problems.
pub(super) type CheckedModule = (u64, Option<Module>, Vec<Problem>);

impl KnownModules {
    /// The module at an index, checked by `check` where it is met with these ranks and this language model for the first
    /// time.
    pub(super) fn module(
        &mut self,
        index: usize,
        language: &LanguageModel,
        range: Option<&RankRange>,
        check: impl FnOnce() -> CheckedModule,
    ) -> CheckedModule {
        let is_same = |(of, with, on, _): &&(usize, LanguageModel, Option<RankRange>, CheckedModule)| {
            *of == index && with == language && on.as_ref() == range
        };
        if let Some((.., checked)) = self.others.iter().find(is_same) {
            return checked.clone();
        }
        let checked = check();
        self.others.push((index, *language, range.cloned(), checked.clone()));
        checked
    }

    /// Reads every field of the language model, the module at an index. Fields that have the values of the known job
    /// are not read again.
    fn read_language(&mut self, raw: &RawJob, module: usize, problems: &mut Vec<Problem>) -> (Args, Vec<FieldId>) {
        if let Some(args) = self.language.as_ref().and_then(|known| changed(known, raw, module)) {
            return (args, Vec::new());
        }
        let before = problems.len();
        let (args, unreadable) = read_args(raw, module, problems);
        if problems.len() == before && self.language.is_none() {
            self.language = Some((raw.clone(), args.clone()));
        }
        (args, unreadable)
    }
}

/// The arguments of a module, made from those of a job that differs in few fields; `None` where something may be wrong
/// with one of these.
fn changed((known, args): &(RawJob, Args), raw: &RawJob, module: usize) -> Option<Args> {
    let mut args = args.clone();
    for ((id, now), (_, before)) in raw.values(module).zip(known.values(module)) {
        if now == before {
            continue;
        }
        let field = id.field();
        let given = now.map_or(Ok(None), |value| parse(field, value)).ok()?;
        if given.is_none() && field.default == Default::Required {
            return None;
        }
        args.set(id, given.or_else(|| default_value(field)));
    }
    Some(args)
}

/// Checks a raw job as [`validate`] does. Modules beside the language model are taken from those that are known: all jobs
/// that share `known` must have the same ones.
#[must_use]
pub fn validate_known(raw: &RawJob, known: &mut KnownModules) -> Checked {
    validate_beside(raw, Some(known))
}

/// Checks the module at an index beside a language model.
pub(super) fn check_module(
    raw: &RawJob,
    index: usize,
    range: Option<&RankRange>,
    language: &LanguageModel,
) -> CheckedModule {
    let mut problems = Vec::new();
    let read = read_args(raw, index, &mut problems);
    let (end, module) = validate_module(raw, index, range, language, read, &mut problems);
    (end, module, problems)
}

fn validate_beside(raw: &RawJob, mut known: Option<&mut KnownModules>) -> Checked {
    let mut problems = Vec::new();
    report_unknown_keys(raw, &mut problems);
    report_values_of_the_job(raw, &mut problems);
    let ranges = rank_ranges(raw, &mut problems);
    let language = LanguageModel::of(raw, &ranges);
    let mut modules = Vec::new();
    let mut world_size = 1;
    for (index, range) in ranges.iter().enumerate() {
        let check = |read: (Args, Vec<FieldId>), mut problems| {
            let (end, module) = validate_module(raw, index, range.as_ref(), &language, read, &mut problems);
            (end, module, problems)
        };
        let is_language = raw.modules.get(index).is_none_or(|m| m.name == LANGUAGE_MODULE);
        let mut found = Vec::new();
        let (end, module, found) = match known.as_deref_mut() {
            None => check(read_args(raw, index, &mut found), found),
            Some(known) if is_language => check(known.read_language(raw, index, &mut found), found),
            Some(known) => known.module(index, &language, range.as_ref(), || {
                check_module(raw, index, range.as_ref(), &language)
            }),
        };
        problems.extend(found);
        world_size = world_size.max(end);
        modules.extend(module);
    }
    connect(&mut modules);
    let gpu_memory = gpu_memory(raw, &mut problems);
    let refused = problems.iter().any(Problem::is_error);
    let config = (!refused && modules.len() == raw.module_count()).then_some(Config {
        world_size,
        gpu_memory,
        not_modelled: not_modelled::marks(&raw.not_modelled, &modules),
        refused_by: refusing(&problems).filter_map(Problem::refusal).max(),
        refused_at_launch: refusing(&problems).map(|problem| problem.message.clone()).collect(),
        modules,
    });
    Checked { config, problems }
}

/// What only Megatron-LM's own launcher refuses of a job that trains under others: problems for those who write its
/// arguments or read its commands.
#[must_use]
pub fn launcher_problems(raw: &RawJob) -> Vec<Problem> {
    let mut job = raw.clone();
    let launcher = Value::Text(Launcher::MegatronLm.name().to_owned());
    job.shared.set(FieldId::launcher, launcher);
    let mut problems = validate(&job).problems;
    problems.retain(|problem| problem.stops_launcher && !rules::is_left_open(problem));
    problems
}

/// Checks one module with these arguments, of which the unreadable ones are named. The first result is the rank behind
/// its last one, the second the module where nothing is wrong with it.
fn validate_module(
    raw: &RawJob,
    index: usize,
    range: Option<&RankRange>,
    language: &LanguageModel,
    (args, unreadable): (Args, Vec<FieldId>),
    problems: &mut Vec<Problem>,
) -> (u64, Option<Module>) {
    let name = raw.modules.get(index).map_or(LANGUAGE_MODULE, |m| m.name.as_str());
    let context = ModuleContext::new(name, raw, index, language);
    let draft = Draft::new(&context, args, range);
    let mut found = rules::problems(&draft);
    let stages = match rules::stages(&draft) {
        Ok(stages) => Some(stages),
        Err(wrong) => {
            found.extend(wrong);
            None
        }
    };
    found.retain(|p| !p.fields.iter().any(|field| unreadable.contains(field)));
    let refused =
        range.is_some_and(|range| range.refused) || !unreadable.is_empty() || found.iter().any(Problem::is_error);
    problems.extend(found);
    let end = draft.rank_offset.saturating_add(draft.world_size);
    let module = stages
        .filter(|_| !refused)
        .map(|stages| draft.into_module(name.to_owned(), stages));
    (end, module)
}

/// The memory that was typed, or else the chosen GPU's.
pub(super) fn gpu_memory(raw: &RawJob, problems: &mut Vec<Problem>) -> Option<GpuMemory> {
    let read = |field: FieldId| parse(field.field(), raw.shared.get(field)?).ok().flatten();
    let gpu = match read(FieldId::gpu) {
        Some(Parsed::Text(name)) => {
            let gpu = gpus::by_name(&name);
            if gpu.is_none() {
                let left_open = unknown_gpu(&name, |field| read(field).is_none());
                problems.extend(left_open);
            }
            gpu
        }
        _ => None,
    };
    match read(FieldId::gpu_memory_mib) {
        Some(Parsed::Int(mib)) => Some(Bytes::mib(mib).into()),
        _ => gpu.map(gpus::Gpu::memory_for_processes),
    }
}

/// The warning about a GPU that is not in the list; `None` where its memory and generation are known all the same.
fn unknown_gpu(name: &str, absent: impl Fn(FieldId) -> bool) -> Option<Problem> {
    let memory = absent(FieldId::gpu_memory_mib);
    let generation = absent(FieldId::gpu_generation) && gpus::generation(name).is_none();
    let meant: Vec<&str> = gpus::candidates(name).map(|gpu| gpu.id).collect();
    let ids = if meant.is_empty() {
        gpus::GPUS.iter().map(|gpu| gpu.id).collect()
    } else {
        meant.clone()
    };
    let missing = match (memory, generation) {
        (true, true) => "gpu_memory_mib and gpu_generation",
        (true, false) => "gpu_memory_mib",
        (false, true) => "gpu_generation",
        (false, false) => return None,
    };
    let assumed = if generation {
        format!("; {} is assumed", GpuGeneration::ASSUMED.label())
    } else {
        String::new()
    };
    let message = format!(
        "gpu knows no “{name}”{assumed}; use one of {}, or give {missing}",
        ids.join(", ")
    );
    let fixes = meant.into_iter().map(|id| Fix {
        field: FieldId::gpu,
        value: Value::Text(id.to_owned()),
    });
    Some(Problem {
        fixes: fixes.collect(),
        ..Problem::warning(&[FieldId::gpu], message).of(0, "gpu")
    })
}

pub(super) fn report_unknown_keys(raw: &RawJob, problems: &mut Vec<Problem>) {
    for (key, _) in raw.unknown.iter().take(MOST_UNKNOWN) {
        if key == "modules" {
            let message =
                "modules must be a list of modules, one of them called language; leave it out where there is one model"
                    .to_owned();
            problems.push(Problem::error(&[], message).of(0, "modules"));
            continue;
        }
        let shown: String = key.chars().take(LONGEST_KEY).collect();
        let hint = nearest_name(key).map(|name| format!("; did you mean {name}?"));
        let hint = hint.unwrap_or_default();
        let message = format!("{shown} is not a field of this calculator and is ignored{hint}");
        problems.push(Problem::warning(&[], message).of(0, "unknown_key"));
    }
}

/// Reports fields with one value for all modules where a module has another value.
pub(super) fn report_values_of_the_job(raw: &RawJob, problems: &mut Vec<Problem>) {
    for (index, module) in raw.modules.iter().enumerate() {
        for (id, value) in module.settings.iter() {
            let field = id.field();
            if field.scope == Scope::Module {
                continue;
            }
            let message = format!(
                "{} has one value for the whole job; give it beside the modules",
                field.name
            );
            let mut problem = Problem::error(&[id], message).of(index, "value_of_the_job");
            problem.fixes.push(Fix {
                field: id,
                value: value.clone(),
            });
            problems.push(problem);
        }
    }
}

/// The field name most similar to `key`, where it is similar enough for a misspelling.
fn nearest_name(key: &str) -> Option<&'static str> {
    let key = key.replace('-', "_");
    let length = key.chars().count();
    FieldId::ALL
        .iter()
        .map(|id| id.field().name)
        .filter(|name| may_be_similar(length, name.len()))
        .map(|name| (strsim::jaro_winkler(&key, name), name))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// Whether two texts of so many characters can be as similar as [`SIMILAR`] says: the Jaro similarity of a text that is
/// more than twice as long as the other is below 5/6, and its Jaro-Winkler similarity therefore below 0.9. Asked first,
/// since comparing takes a time proportional to the product of both lengths.
fn may_be_similar(one: usize, other: usize) -> bool {
    one.max(other) <= one.min(other).saturating_mul(2)
}

/// Reads every field of one module; the second result lists the fields that could not be read.
pub(super) fn read_args(raw: &RawJob, module: usize, problems: &mut Vec<Problem>) -> (Args, Vec<FieldId>) {
    let mut unreadable = Vec::new();
    let mut values = Vec::with_capacity(FieldId::ALL.len());
    for (id, value) in raw.values(module) {
        let field = id.field();
        let given = value.map_or(Ok(None), |value| parse(field, value));
        let problem = match &given {
            Err(error) => Some(("value", format!("{} {error}", field.name))),
            Ok(None) if id == FieldId::seq_length && knows_item_tokens(raw, module) => None,
            // A pattern has as many layers as letters.
            Ok(None) if id == FieldId::num_layers && raw.is_hybrid(module) => None,
            Ok(None) if field.default == Default::Required => {
                Some(("required", format!("{} must be given", field.name)))
            }
            Ok(_) => None,
        };
        if let Some((rule, message)) = problem {
            unreadable.push(id);
            problems.push(Problem::error(&[id], message).of(module, rule));
        }
        values.push(given.ok().flatten().or_else(|| default_value(field)));
    }
    (Args::from_values(values), unreadable)
}
