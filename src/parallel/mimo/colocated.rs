//! The rules for modules that share all their ranks (`ColocatedBridgeCommunicator` in
//! `megatron/core/models/mimo/comm/colocated_communicator.py`).

use super::set_rules::{
    Sound, check_encoders, check_modules, check_names, nearest_fitting, place, problem,
};
use super::{Field, LANGUAGE_MODULE, MimoInput, MimoLayout, Problem, Repair, Rule};
use crate::parallel::python::Exception;
use crate::value::Value;

/// The modules, each on all ranks, or every problem.
pub(super) fn check_colocated(input: &MimoInput) -> Result<MimoLayout, Vec<Problem>> {
    let mut problems = Vec::new();
    check_names(input, &mut problems);
    let sound = check_modules(input, &input.world_size, &mut problems);
    for module in &sound {
        check_ranks(module, &input.world_size, &mut problems);
    }
    if sound.len() > 1 {
        // Modules that all have the same sizes run in one set of groups and need no communicator: as without a
        // grid map in Megatron's `MimoModel`, and in `LLaVAModel`.
        let alike = sound.windows(2).all(|pair| match pair {
            [a, b] => a.parallelism == b.parallelism,
            _ => true,
        });
        for module in &sound {
            check_singletons(module, alike, &mut problems);
        }
    }
    check_encoders(&sound, &mut problems);
    let language = sound
        .iter()
        .find(|module| module.at.name == LANGUAGE_MODULE);
    for encoder in sound
        .iter()
        .filter(|module| module.at.name != LANGUAGE_MODULE)
    {
        if let Some(language) = language {
            check_data_parallel(encoder, language, &mut problems);
        }
    }
    place(sound, problems)
}

/// The module starts at rank 0 and has every rank.
fn check_ranks(Sound { at, parallelism }: &Sound, world_size: &Value, problems: &mut Vec<Problem>) {
    let offset = parallelism.rank_offset;
    if offset != 0 {
        let refusal = Exception::ValueError.with(format!(
            "Grids must have same rank offset: '{}' has {offset} instead of 0",
            at.name
        ));
        let repair = Repair::set(at, Field::RankOffset, 0);
        problems.push(problem(
            Some(at),
            Some(Field::RankOffset),
            Rule::SameRanks,
            refusal,
            Some(repair),
        ));
    }
    let (Ok(ranks), Ok(size)) = (
        parallelism.total_ranks(),
        parallelism.dense_model_parallel_size(),
    ) else {
        return;
    };
    let world = match world_size {
        Value::Int(world) if *world == ranks => return,
        Value::Int(world) => *world,
        _ => 0,
    };
    let refusal = Exception::ValueError.with(format!(
        "Grids must span same number of ranks: '{}' has {ranks}, world_size is {world}",
        at.name
    ));
    let data_parallel = (world > 0 && world % size == 0).then(|| world / size);
    let repair = data_parallel.map(|value| Repair::set(at, Field::DataParallelSize, value));
    let field = Some(Field::DataParallelSize);
    problems.push(problem(Some(at), field, Rule::SameRanks, refusal, repair));
}

fn check_singletons(Sound { at, parallelism }: &Sound, alike: bool, problems: &mut Vec<Problem>) {
    for (field, short) in [
        (Field::PipelineModelParallelSize, "PP"),
        (Field::ContextParallelSize, "CP"),
    ] {
        let size = parallelism.get(field).unwrap_or(1);
        let fits = size == 1 || (alike && field == Field::ContextParallelSize);
        if !fits {
            let refusal = Exception::ValueError.with(format!(
                "{} {short} must be 1 for ColocatedBridgeCommunicator, got {size}",
                at.name
            ));
            let repair = Repair::set(at, field, 1);
            problems.push(problem(
                Some(at),
                Some(field),
                Rule::NoPipelineOrContext,
                refusal,
                Some(repair),
            ));
        }
    }
}

fn check_data_parallel(encoder: &Sound, language: &Sound, problems: &mut Vec<Problem>) {
    let (source, target) = (encoder.data_parallel_size(), language.data_parallel_size());
    if source % target == 0 || target % source == 0 {
        return;
    }
    let refusal = Exception::ValueError.with(format!(
        "DP sizes must be evenly divisible: src_dp={source}, dest_dp={target}"
    ));
    let field = Field::DataParallelSize;
    let repair =
        nearest_fitting(source, target).map(|value| Repair::set(&encoder.at, field, value));
    problems.push(problem(
        Some(&encoder.at),
        Some(field),
        Rule::DataParallelDivides,
        refusal,
        repair,
    ));
}
