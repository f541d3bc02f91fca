//! The rules for all modules together (`MegatronMIMOParallelismConfig.finalize`).

use super::input::{integer, python_str};
use super::layout::PlacedModule;
use super::module_rules::check_module;
use super::{
    Change, Field, LANGUAGE_MODULE, MimoInput, MimoLayout, ModuleParallelism, ModuleRef, Problem,
    Repair, Rule, arrange,
};
use crate::order::{order, repeated};
use crate::parallel::python::{Exception, Refusal, repr, repr_texts};
use crate::value::Value;

/// The modules on their ranks, or every problem in the framework's order.
pub(super) fn check_set(input: &MimoInput) -> Result<MimoLayout, Vec<Problem>> {
    let mut problems = Vec::new();
    check_names(input, &mut problems);
    let sound = check_modules(input, &Value::Null, &mut problems);
    propose_data_parallel(input, &sound, &mut problems);
    check_ranges(input, &sound, &mut problems);
    check_encoders(&sound, &mut problems);
    check_tensor_parallel(&sound, &mut problems);
    check_data_parallel(&sound, &mut problems);
    place(sound, problems)
}

/// The modules with their rank grids when there are no problems, nor new ones.
pub(super) fn place(
    sound: Vec<Sound>,
    mut problems: Vec<Problem>,
) -> Result<MimoLayout, Vec<Problem>> {
    let mut placed = Vec::with_capacity(sound.len());
    for Sound { at, parallelism } in sound {
        match parallelism.rank_grids() {
            Ok(grids) => placed.push(PlacedModule {
                name: at.name,
                parallelism,
                grids,
            }),
            Err(refusal) => {
                problems.push(problem(Some(&at), None, Rule::Representable, refusal, None));
            }
        }
    }
    if problems.is_empty() {
        Ok(MimoLayout::new(placed))
    } else {
        Err(problems)
    }
}

/// The modules that keep the rules of their own; the problems of the others are added.
pub(super) fn check_modules(
    input: &MimoInput,
    world_size: &Value,
    problems: &mut Vec<Problem>,
) -> Vec<Sound> {
    let mut sound = Vec::new();
    for (index, module) in input.modules.iter().enumerate() {
        let at = ModuleRef {
            index,
            name: module.name.clone(),
        };
        match check_module(&at, module, world_size) {
            Ok(parallelism) => sound.push(Sound { at, parallelism }),
            Err(found) => problems.extend(found),
        }
    }
    sound
}

/// A module that keeps the rules of its own.
pub(super) struct Sound {
    pub(super) at: ModuleRef,
    pub(super) parallelism: ModuleParallelism,
}

impl Sound {
    pub(super) fn data_parallel_size(&self) -> i128 {
        self.parallelism.data_parallel_size.unwrap_or(1)
    }
}

pub(super) fn problem(
    module: Option<&ModuleRef>,
    field: Option<Field>,
    rule: Rule,
    refusal: Refusal,
    repair: Option<Repair>,
) -> Problem {
    Problem {
        module: module.cloned(),
        field,
        rule,
        refusal,
        repair,
    }
}

pub(super) fn check_names(input: &MimoInput, problems: &mut Vec<Problem>) {
    let names: Vec<&str> = input
        .modules
        .iter()
        .map(|module| module.name.as_str())
        .collect();
    let modules = input.modules.iter().zip(repeated(&names));
    for (index, (module, is_repeated)) in modules.enumerate() {
        if !is_repeated {
            continue;
        }
        let at = ModuleRef {
            index,
            name: module.name.clone(),
        };
        let refusal = Exception::ValueError.with(format!(
            "--component {} specified more than once",
            repr(&at.name)
        ));
        let taken = |name: &String| input.modules.iter().any(|module| module.name == *name);
        let free = (2..=input.modules.len() + 1)
            .map(|number| format!("{}_{number}", at.name))
            .find(|name| !taken(name));
        let repair = free.map(|name| Repair::rename(&at, name));
        problems.push(problem(Some(&at), None, Rule::UniqueNames, refusal, repair));
    }
    if names.contains(&LANGUAGE_MODULE) {
        return;
    }
    let listed = repr_texts(input.modules.iter().map(|module| module.name.as_str()));
    let refusal = Exception::ValueError.with(format!(
        "Language module '{LANGUAGE_MODULE}' must be in module_parallelisms. Found modules: {listed}"
    ));
    let is_likely = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["lang", "llm", "text", "decoder"]
            .iter()
            .any(|part| name.contains(part))
            || name == "lm"
    };
    let likely = input
        .modules
        .iter()
        .position(|module| is_likely(&module.name));
    let only = (input.modules.len() == 1).then_some(0);
    let repair = likely.or(only).and_then(|index| {
        let name = input.modules.get(index)?.name.clone();
        Some(Repair::rename(
            &ModuleRef { index, name },
            LANGUAGE_MODULE.to_owned(),
        ))
    });
    problems.push(problem(None, None, Rule::LanguageModule, refusal, repair));
}

/// Where DP is missing, proposes an equal share of the ranks that other modules leave.
fn propose_data_parallel(input: &MimoInput, sound: &[Sound], problems: &mut [Problem]) {
    let missing = input.modules.len() - sound.len();
    let taken = sound.iter().try_fold(0_i128, |sum, module| {
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
        .filter(|problem| problem.rule == Rule::DataParallelKnown)
    {
        let Some(at) = &problem.module else { continue };
        let parallelism = input
            .modules
            .get(at.index)
            .and_then(super::ModuleInput::as_set);
        let size = parallelism.and_then(|parallelism| parallelism.dense_model_parallel_size().ok());
        if let Some(size) = size
            && share > 0
            && size > 0
            && share.checked_rem(size) == Some(0)
        {
            problem.repair = Some(Repair::set(at, Field::DataParallelSize, share / size));
        }
    }
}

/// Rank ranges tile the world. Gaps are only looked for when every module's range is known.
fn check_ranges(input: &MimoInput, sound: &[Sound], problems: &mut Vec<Problem>) {
    let mut ranges = Vec::with_capacity(sound.len());
    for module in sound {
        let start = module.parallelism.rank_offset;
        let end = module
            .parallelism
            .total_ranks()
            .ok()
            .and_then(|ranks| start.checked_add(ranks));
        if let Some(end) = end {
            ranges.push((start, end, &module.at));
        } else {
            let refusal = Exception::OverflowError.with("ranks beyond 64 bits");
            problems.push(problem(
                Some(&module.at),
                None,
                Rule::Representable,
                refusal,
                None,
            ));
        }
    }
    let start = |at: usize| ranges.get(at).map(|(start, ..)| *start);
    let places = order(ranges.len(), &|a, b| start(a) < start(b));
    let ranges: Vec<_> = places
        .iter()
        .filter_map(|at| ranges.get(*at).copied())
        .collect();
    let (repair, packed_end) = pack(&ranges);
    let complete = ranges.len() == input.modules.len();
    let offset = Some(Field::RankOffset);
    let mut gaps = Vec::new();
    let (mut expected, mut highest) = (0, 0);
    for &(start, end, at) in &ranges {
        let repair = repair.clone();
        if start < highest {
            let message = "rank_offset ranges overlap in heterogeneous deployment.";
            let refusal = Exception::ValueError.with(message);
            problems.push(problem(Some(at), offset, Rule::NoOverlap, refusal, repair));
        } else if complete && start != expected {
            let refusal = Exception::ValueError.with(format!(
                "rank_offset ranges must tile the distributed world with no gaps; expected module '{}' to start at \
                 rank {expected}, got {start}.",
                at.name
            ));
            gaps.push(problem(Some(at), offset, Rule::NoGap, refusal, repair));
        }
        expected = end;
        highest = highest.max(end);
    }
    problems.append(&mut gaps);
    if complete && !python_equal(&input.world_size, expected) {
        let refusal = Exception::ValueError.with(format!(
            "rank_offset ranges must tile the distributed world with no gaps; covered ranks [0, {expected}), \
             world_size is {}.",
            python_str(&input.world_size)
        ));
        // Where the world has the right size already, modules are in the wrong places.
        let other = packed_end.filter(|ranks| !python_equal(&input.world_size, *ranks));
        let repair = other
            .map(Repair::world_size)
            .or_else(|| arrange::lay_out(input));
        problems.push(problem(None, None, Rule::CoverWorld, refusal, repair));
    }
}

/// One module after the other in the order of their offsets: the moves, and one past the last rank.
fn pack(ranges: &[(i128, i128, &ModuleRef)]) -> (Option<Repair>, Option<i128>) {
    let mut changes = Vec::new();
    let mut label = String::new();
    let mut next = 0_i128;
    for &(start, end, at) in ranges {
        if start != next {
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
        "Lay the modules out one after another".clone_into(&mut label);
    }
    let repair = (!changes.is_empty()).then_some(Repair { label, changes });
    (repair, (next > 0).then_some(next))
}

pub(super) fn check_encoders(sound: &[Sound], problems: &mut Vec<Problem>) {
    for Sound { at, parallelism } in sound
        .iter()
        .filter(|module| module.at.name != LANGUAGE_MODULE)
    {
        let (ep, etp) = (
            parallelism.expert_model_parallel_size,
            parallelism.expert_tensor_parallel_size,
        );
        if (ep, etp) == (1, 1) {
            continue;
        }
        let refusal = Exception::ValueError.with(format!(
            "Encoder modules must remain dense for MegatronMIMO MoE; module '{}' has \
             expert_model_parallel_size={ep}, expert_tensor_parallel_size={etp}.",
            at.name
        ));
        let changes = [
            (Field::ExpertModelParallelSize, ep),
            (Field::ExpertTensorParallelSize, etp),
        ];
        let changes: Vec<_> = changes
            .into_iter()
            .filter(|(_, value)| *value != 1)
            .collect();
        let field = changes.first().map(|(field, _)| *field);
        let changes = changes.into_iter().map(|(field, _)| Change::Set {
            module: at.index,
            field,
            value: 1,
        });
        let label = format!("Make {} dense", at.name);
        let repair = Repair {
            label,
            changes: changes.collect(),
        };
        problems.push(problem(
            Some(at),
            field,
            Rule::DenseEncoders,
            refusal,
            Some(repair),
        ));
    }
}

fn check_tensor_parallel(sound: &[Sound], problems: &mut Vec<Problem>) {
    for Sound { at, parallelism } in sound {
        let tp = parallelism.tensor_model_parallel_size;
        let below = tp.checked_ilog2().map_or(1, |exponent| 1_i128 << exponent);
        if tp == below {
            continue;
        }
        let refusal = Exception::ValueError.with(format!(
            "Module '{}' has TP={tp}, but TP size must be a power of 2 (1, 2, 4, 8, ...) for cross-module \
             communication compatibility.",
            at.name
        ));
        let nearest = below
            .checked_mul(2)
            .filter(|above| above - tp < tp - below)
            .unwrap_or(below);
        let field = Field::TensorModelParallelSize;
        let repair = Repair::set(at, field, nearest);
        problems.push(problem(
            Some(at),
            Some(field),
            Rule::TensorParallelPowerOfTwo,
            refusal,
            Some(repair),
        ));
    }
}

/// One problem per module at most: the first later module with which its DP does not fit.
fn check_data_parallel(sound: &[Sound], problems: &mut Vec<Problem>) {
    for (index, first) in sound.iter().enumerate() {
        let dp1 = first.data_parallel_size();
        let fits = |dp2: i128| dp1 % dp2 == 0 || dp2 % dp1 == 0;
        let later = sound.iter().skip(index + 1);
        let Some(second) = later
            .into_iter()
            .find(|second| !fits(second.data_parallel_size()))
        else {
            continue;
        };
        let dp2 = second.data_parallel_size();
        let refusal = Exception::ValueError.with(format!(
            "DP sizes must be divisible between modules. Module '{}' has DP={dp1}, module '{}' has DP={dp2}. One \
             must divide the other for BridgeCommunicator.",
            first.at.name, second.at.name
        ));
        // The language model's DP is what a user chose for training: an encoder gives way.
        let (fixed, moving) = if second.at.name == LANGUAGE_MODULE {
            (second, first)
        } else {
            (first, second)
        };
        let field = Field::DataParallelSize;
        let nearest = nearest_fitting(moving.data_parallel_size(), fixed.data_parallel_size());
        let repair = nearest.map(|value| Repair::set(&moving.at, field, value));
        problems.push(problem(
            Some(&moving.at),
            Some(field),
            Rule::DataParallelDivides,
            refusal,
            repair,
        ));
    }
}

/// The number nearest to `number`, the smaller of two, that divides `other` or is a multiple of it.
pub(super) fn nearest_fitting(number: i128, other: i128) -> Option<i128> {
    const FARTHEST: i128 = 4096;
    let fits =
        |candidate: i128| candidate > 0 && (other % candidate == 0 || candidate % other == 0);
    let candidates = (0..=FARTHEST)
        .flat_map(|distance| [number.checked_sub(distance), number.checked_add(distance)]);
    candidates.flatten().find(|candidate| fits(*candidate))
}

/// Whether Python finds `value` equal to `number`.
fn python_equal(value: &Value, number: i128) -> bool {
    match value {
        Value::Float(_) => python_str(value) == format!("{number}.0"),
        _ => integer(value) == Some(number),
    }
}
