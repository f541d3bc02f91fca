//! The rules for all modules together (`MegatronMIMOParallelismConfig.finalize`).

use std::collections::BTreeSet;

use super::input::{integer, python_str};
use super::layout::PlacedModule;
use super::module_rules::check_module;
use super::rules::{report, report_of};
use super::{
    Field, LANGUAGE_MODULE, MimoInput, MimoLayout, ModuleInput, ModuleParallelism, ModuleProblem, ModuleRef, Rule,
    arrange,
};
use crate::parallel::problem::{Change, Repair};
use crate::python::{Exception, repr, repr_texts};
use crate::value::Value;

/// The modules on their ranks, or every problem in the framework's order.
pub(super) fn check_set(input: &MimoInput) -> Result<MimoLayout, Vec<ModuleProblem>> {
    let mut problems = Vec::new();
    check_names(input, &mut problems);
    let valid = check_modules(input, &|_| Value::Null, &mut problems);
    propose_data_parallel(input, &valid, &mut problems);
    check_ranges(input, &valid, &mut problems);
    check_encoders(&valid, &mut problems);
    check_tensor_parallel(&valid, &mut problems);
    check_data_parallel(&valid, &mut problems);
    place(valid, problems)
}

/// The modules with their rank grids, or every problem: the given ones and those of the rank grids.
pub(super) fn place(
    valid: Vec<ValidModule>,
    mut problems: Vec<ModuleProblem>,
) -> Result<MimoLayout, Vec<ModuleProblem>> {
    let mut placed = Vec::with_capacity(valid.len());
    for ValidModule { at, parallelism } in valid {
        match parallelism.rank_grids() {
            Ok(grids) => placed.push(PlacedModule {
                name: at.name,
                parallelism,
                grids,
            }),
            Err(error) => {
                report_of(&mut problems, &at, Rule::Representable, error);
            }
        }
    }
    if problems.is_empty() {
        Ok(MimoLayout::new(placed))
    } else {
        Err(problems)
    }
}

/// The modules that break no rule for a single module. The problems of the others are added to `problems`. `ranks` is
/// the number of ranks from which a module's DP follows where it is not set.
pub(super) fn check_modules(
    input: &MimoInput,
    ranks: &dyn Fn(&ModuleInput) -> Value,
    problems: &mut Vec<ModuleProblem>,
) -> Vec<ValidModule> {
    let mut valid = Vec::new();
    for (index, module) in input.modules.iter().enumerate() {
        let at = ModuleRef {
            index,
            name: module.name.clone(),
        };
        match check_module(&at, module, &ranks(module)) {
            Ok(parallelism) => valid.push(ValidModule { at, parallelism }),
            Err(mut found) => problems.append(&mut found),
        }
    }
    valid
}

/// A module that breaks no rule for a single module, with its place among the others.
pub(super) struct ValidModule {
    pub(super) at: ModuleRef,
    pub(super) parallelism: ModuleParallelism,
}

impl ValidModule {
    pub(super) fn data_parallel_size(&self) -> i128 {
        self.parallelism.data_parallel_size.unwrap_or(1)
    }
}

pub(super) fn check_names(input: &MimoInput, problems: &mut Vec<ModuleProblem>) {
    let names: Vec<&str> = input.modules.iter().map(|module| module.name.as_str()).collect();
    let at = |index: usize, name: &str| ModuleRef {
        index,
        name: name.to_owned(),
    };
    let mut known = BTreeSet::new();
    for (index, name) in names.iter().enumerate() {
        if known.insert(*name) {
            continue;
        }
        let message = format!("--component {} specified more than once", repr(name));
        let at = at(index, name);
        let problem = report_of(problems, &at, Rule::UniqueNames, Exception::ValueError.with(message));
        for number in 2..=names.len() + 1 {
            let free = format!("{name}_{number}");
            if !names.contains(&free.as_str()) {
                problem.repair = Some(Repair::rename(&at, free));
                break;
            }
        }
    }
    if names.contains(&LANGUAGE_MODULE) {
        return;
    }
    let error = Exception::ValueError.with(format!(
        "Language module 'language' must be in module_parallelisms. Found modules: {}",
        repr_texts(&names)
    ));
    let problem = report(problems, Rule::LanguageModule, error);
    let likely = names.iter().position(|name| is_likely_language(name));
    // Otherwise the first module: the framework's own examples have the language model there.
    let index = likely.unwrap_or(0);
    if let Some(name) = names.get(index) {
        let language = LANGUAGE_MODULE.to_owned();
        problem.repair = Some(Repair::rename(&at(index, name), language));
    }
}

/// Whether a module of this name is likely to be the language model.
fn is_likely_language(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let parts = ["lang", "llm", "text", "decoder"];
    name == "lm" || parts.iter().any(|part| name.contains(part))
}

/// Adds repairs for modules without DP: an equal share of the ranks that the other modules leave.
fn propose_data_parallel(input: &MimoInput, valid: &[ValidModule], problems: &mut [ModuleProblem]) {
    let missing = input.modules.len() - valid.len();
    let taken = valid.iter().try_fold(0_i128, |sum, module| {
        sum.checked_add(module.parallelism.total_ranks().ok()?)
    });
    let free = integer(&input.world_size)
        .zip(taken)
        .and_then(|(world, taken)| world.checked_sub(taken));
    let Some(share) = free.and_then(|free| free.checked_div(i128::try_from(missing).ok()?)) else {
        return;
    };
    for problem in problems
        .iter_mut()
        .filter(|problem| problem.rule == Rule::DataParallelKnown.name())
    {
        let Some(module) = input.modules.get(problem.module) else {
            continue;
        };
        let at = ModuleRef {
            index: problem.module,
            name: module.name.clone(),
        };
        let parallelism = module.as_set();
        let size = parallelism.and_then(|parallelism| parallelism.dense_model_parallel_size().ok());
        if let Some(size) = size
            && share > 0
            && size > 0
            && share.checked_rem(size) == Some(0)
        {
            problem.repair = Some(Repair::set(&at, Field::DataParallelSize, share / size));
        }
    }
}

/// A module with its range of ranks.
struct Ranks<'a> {
    at: &'a ModuleRef,
    start: i128,
    end: i128,
}

/// Rank ranges tile the world. Gaps are only looked for when every module's range is known.
fn check_ranges(input: &MimoInput, valid: &[ValidModule], problems: &mut Vec<ModuleProblem>) {
    let mut ranges = Vec::with_capacity(valid.len());
    for ValidModule { at, parallelism } in valid {
        let start = parallelism.rank_offset;
        let ranks = parallelism.total_ranks().ok();
        if let Some(end) = ranks.and_then(|ranks| start.checked_add(ranks)) {
            ranges.push(Ranks { at, start, end });
        } else {
            let error = Exception::OverflowError.with("ranks beyond 64 bits");
            report_of(problems, at, Rule::Representable, error);
        }
    }
    ranges.sort_by_key(|ranks| ranks.start);
    let (repair, packed_end) = pack(&ranges);
    let complete = ranges.len() == input.modules.len();
    let mut gaps = Vec::new();
    let (mut expected, mut highest) = (0, 0);
    for Ranks { at, start, end } in ranges {
        let problem = if start < highest {
            let message = "rank_offset ranges overlap in heterogeneous deployment.";
            let error = Exception::ValueError.with(message);
            Some(report_of(problems, at, Rule::NoOverlap, error))
        } else if complete && start != expected {
            let error = Exception::ValueError.with(format!(
                "rank_offset ranges must tile the distributed world with no gaps; expected module '{}' to start at \
                 rank {expected}, got {start}.",
                at.name
            ));
            Some(report_of(&mut gaps, at, Rule::NoGap, error))
        } else {
            None
        };
        if let Some(problem) = problem {
            problem.fields.push(Field::RankOffset);
            problem.repair.clone_from(&repair);
        }
        expected = end;
        highest = highest.max(end);
    }
    problems.append(&mut gaps);
    if complete && !python_equal(&input.world_size, expected) {
        let error = Exception::ValueError.with(format!(
            "rank_offset ranges must tile the distributed world with no gaps; covered ranks [0, {expected}), \
             world_size is {}.",
            python_str(&input.world_size)
        ));
        // Where the world size equals the number of ranks, the modules have the wrong offsets.
        let other = packed_end.filter(|ranks| !python_equal(&input.world_size, *ranks));
        report(problems, Rule::CoverWorld, error).repair =
            other.map(Repair::world_size).or_else(|| arrange::lay_out(input));
    }
}

/// The moves that place the modules one after another in the order of their offsets, and one past the last rank.
/// `None` where nothing moves, or where the ranks do not fit 128 bits.
fn pack(ranges: &[Ranks<'_>]) -> (Option<Repair>, Option<i128>) {
    let mut changes = Vec::new();
    let mut label = String::new();
    let mut next = 0_i128;
    for Ranks { at, start, end } in ranges {
        if *start != next {
            label = format!("Move {} to rank {next}", at.name);
            changes.push(Change::Set {
                module: at.index,
                field: Field::RankOffset,
                value: next,
            });
        }
        let Some(after) = next.checked_add(end - start) else {
            return (None, None);
        };
        next = after;
    }
    if changes.len() > 1 {
        arrange::LABEL.clone_into(&mut label);
    }
    let repair = (!changes.is_empty()).then_some(Repair { label, changes });
    (repair, (next > 0).then_some(next))
}

/// Modules other than `language` have EP = ETP = 1.
pub(super) fn check_encoders(valid: &[ValidModule], problems: &mut Vec<ModuleProblem>) {
    for ValidModule { at, parallelism } in valid {
        let sizes = [Field::ExpertModelParallelSize, Field::ExpertTensorParallelSize]
            .map(|field| (field, parallelism.get(field).unwrap_or(1)));
        let not_one = || sizes.iter().filter(|(_, size)| *size != 1);
        let Some((first, _)) = not_one().next() else {
            continue;
        };
        if at.name == LANGUAGE_MODULE {
            continue;
        }
        let error = Exception::ValueError.with(format!(
            "Encoder modules must remain dense for MegatronMIMO MoE; module '{}' has \
             expert_model_parallel_size={}, expert_tensor_parallel_size={}.",
            at.name, parallelism.expert_model_parallel_size, parallelism.expert_tensor_parallel_size
        ));
        let problem = report_of(problems, at, Rule::DenseEncoders, error);
        problem.fields.push(*first);
        let to_one = |(field, _): &(Field, i128)| Change::Set {
            module: at.index,
            field: *field,
            value: 1,
        };
        problem.repair = Some(Repair {
            label: format!("Make {} dense", at.name),
            changes: not_one().map(to_one).collect(),
        });
    }
}

fn check_tensor_parallel(valid: &[ValidModule], problems: &mut Vec<ModuleProblem>) {
    for ValidModule { at, parallelism } in valid {
        let tp = parallelism.tensor_model_parallel_size;
        let below = tp.checked_ilog2().map_or(1, |exponent| 1_i128 << exponent);
        if tp == below {
            continue;
        }
        let message = format!(
            "Module '{}' has TP={tp}, but TP size must be a power of 2 (1, 2, 4, 8, ...) for cross-module \
             communication compatibility.",
            at.name
        );
        let nearest = below
            .checked_mul(2)
            .filter(|above| above - tp < tp - below)
            .unwrap_or(below);
        let error = Exception::ValueError.with(message);
        let field = Field::TensorModelParallelSize;
        report_of(problems, at, Rule::TensorParallelPowerOfTwo, error).set(at, field, nearest);
    }
}

/// One problem per module at most: the first later module with which its DP does not fit.
fn check_data_parallel(valid: &[ValidModule], problems: &mut Vec<ModuleProblem>) {
    for (index, first) in valid.iter().enumerate() {
        let dp1 = first.data_parallel_size();
        let fits = |dp2: i128| dp1 % dp2 == 0 || dp2 % dp1 == 0;
        let mut later = valid.iter().skip(index + 1);
        let Some(second) = later.find(|second| !fits(second.data_parallel_size())) else {
            continue;
        };
        let error = Exception::ValueError.with(format!(
            "DP sizes must be divisible between modules. Module '{}' has DP={dp1}, module '{}' has DP={}. One \
             must divide the other for BridgeCommunicator.",
            first.at.name,
            second.at.name,
            second.data_parallel_size()
        ));
        // The repair keeps the DP of the language model and changes that of an encoder.
        let (fixed, moving) = if second.at.name == LANGUAGE_MODULE {
            (second, first)
        } else {
            (first, second)
        };
        let field = Field::DataParallelSize;
        let problem = report_of(problems, &moving.at, Rule::DataParallelDivides, error);
        problem.fields.push(field);
        let nearest = nearest_fitting(moving.data_parallel_size(), fixed.data_parallel_size());
        if let Some(value) = nearest {
            problem.set(&moving.at, field, value);
        }
    }
}

/// The number nearest to `number`, the smaller of two, that divides `other` or is a multiple of it.
pub(super) fn nearest_fitting(number: i128, other: i128) -> Option<i128> {
    const FARTHEST: i128 = 4096;
    let fits = |candidate: &i128| *candidate > 0 && (other % candidate == 0 || candidate % other == 0);
    for distance in 0..=FARTHEST {
        for step in [-distance, distance] {
            let candidate = number.checked_add(step).filter(fits);
            if candidate.is_some() {
                return candidate;
            }
        }
    }
    None
}

/// Whether Python finds `value` equal to `number`.
fn python_equal(value: &Value, number: i128) -> bool {
    match value {
        Value::Float(_) => python_str(value) == format!("{number}.0"),
        _ => integer(value) == Some(number),
    }
}
