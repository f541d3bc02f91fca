//! Which ranks each module of a job gets.

use super::fields::FieldId;
use super::parse::{Parsed, parse};
use super::problem::Problem;
use super::raw::RawJob;
use crate::parallel::mimo::{Field, MimoInput, ModuleInput, ModuleParallelism, ModuleProblem, Rule};
use crate::value::Value;

/// The ranks of one module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RankRange {
    /// First rank.
    pub(super) offset: u64,
    /// How many ranks; 0 when that is not known.
    pub(super) ranks: u64,
    /// Whether `MegatronMIMO` refuses the module's ranks.
    pub(super) refused: bool,
    /// Whether the job has several modules.
    several: bool,
}

impl RankRange {
    /// ETP where none is given: with several modules MegatronMIMO's 1, otherwise Megatron-LM's TP.
    pub(super) fn default_etp(&self, tp: u64) -> u64 {
        if self.several { 1 } else { tp }
    }
}

/// The rank range of every module; `None` for a job that lists no modules and has all ranks.
pub(super) fn rank_ranges(raw: &RawJob, problems: &mut Vec<Problem>) -> Vec<Option<RankRange>> {
    if raw.modules.is_empty() {
        return vec![None];
    }
    ranges_of(&mimo_input(raw), raw.colocates(), problems)
}

/// The rank range of every module of a job that states this parallelism.
pub(super) fn ranges_of(input: &MimoInput, colocated: bool, problems: &mut Vec<Problem>) -> Vec<Option<RankRange>> {
    let several = input.modules.len() > 1;
    let placed = if colocated {
        input.check_colocated()
    } else {
        input.check()
    };
    let found = match placed {
        Ok(layout) => {
            let range = |p: &ModuleParallelism| RankRange {
                offset: whole(Some(p.rank_offset)),
                ranks: whole(p.total_ranks().ok()),
                refused: false,
                several,
            };
            return layout
                .modules()
                .iter()
                .map(|module| Some(range(&module.parallelism)))
                .collect();
        }
        Err(found) => found,
    };
    // A plain model in a list of one is still a Megatron-LM job, which asks less of TP.
    let is_one_of = |problem: &ModuleProblem, rules: &[Rule]| rules.iter().any(|rule| rule.name() == problem.rule);
    let binding = [Rule::LanguageModule, Rule::NonNegativeOffset, Rule::NoGap];
    let about_world = [Rule::ModelParallelDividesWorld, Rule::CoverWorld];
    let of_all_modules = [Rule::LanguageModule, Rule::CoverWorld];
    let mut refused = vec![false; input.modules.len()];
    for problem in found {
        if !several && !is_one_of(&problem, &binding) {
            continue;
        }
        if is_one_of(&problem, &of_all_modules) {
            refused.fill(true);
        } else if let Some(refused) = refused.get_mut(problem.module) {
            *refused = true;
        }
        let needs_world_size = problem.fields.is_empty() && is_one_of(&problem, &about_world);
        let mut problem = problem.rename_fields(|field| FieldId::by_name(field.name()));
        problem.fields.extend(needs_world_size.then_some(FieldId::world_size));
        let module = problem.module;
        problems.push(problem.of(module, "modules"));
    }
    let ranks = |index: usize| {
        input
            .modules
            .get(index)
            .and_then(ModuleInput::as_set)
            .and_then(|m| m.total_ranks().ok())
    };
    refused
        .into_iter()
        .enumerate()
        .map(|(index, refused)| {
            Some(RankRange {
                offset: 0,
                ranks: if several { whole(ranks(index)) } else { 0 },
                refused,
                several,
            })
        })
        .collect()
}

/// The parallelism that the modules of a job state, for `MegatronMIMO`'s rules; no modules for a plain job.
#[must_use]
pub fn mimo_input(raw: &RawJob) -> MimoInput {
    let several = raw.modules.len() > 1;
    MimoInput {
        modules: (0..raw.modules.len())
            .map(|index| module_input(raw, index, several))
            .collect(),
        world_size: number(raw.shared.get(FieldId::world_size), FieldId::world_size),
    }
}

/// The parallelism that a module states: its own values, and the shared ones where it has none.
fn module_input(raw: &RawJob, index: usize, several: bool) -> ModuleInput {
    let module = raw.modules.get(index);
    let mut input = ModuleInput::new(module.map_or("", |m| m.name.as_str()), &ModuleParallelism::default());
    for field in Field::ALL {
        let given = match FieldId::by_name(field.name()) {
            Some(id) => raw.get(index, id).map(|value| number(Some(value), id)),
            None => module.and_then(|m| m.rank_offset.clone()),
        };
        match given {
            Some(Value::Null) if field != Field::DataParallelSize => {}
            Some(value) => input.set(field, value),
            None => {}
        }
    }
    if !several && raw.get(index, FieldId::expert_tensor_parallel_size).is_none() {
        let tp = input.get(Field::TensorModelParallelSize).clone();
        input.set(Field::ExpertTensorParallelSize, tp);
    }
    input
}

/// The number that a value means, or the value itself where it means none.
fn number(value: Option<&Value>, field: FieldId) -> Value {
    let Some(value) = value else {
        return Value::Null;
    };
    match parse(field.field(), value) {
        Ok(Some(Parsed::Int(n))) => Value::Int(n.into()),
        Ok(None) => Value::Null,
        _ => value.clone(),
    }
}

fn whole(n: Option<i128>) -> u64 {
    n.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}
