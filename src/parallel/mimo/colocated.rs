//! The rules for modules that share all their ranks (`ColocatedBridgeCommunicator` in
//! `megatron/core/models/mimo/comm/colocated_communicator.py`).

use super::problem::report;
use super::set_rules::{
    ValidModule, check_encoders, check_modules, check_names, nearest_fitting, place,
};
use super::{Field, LANGUAGE_MODULE, MimoInput, MimoLayout, Problem, Rule};
use crate::python::Exception;
use crate::value::Value;

/// The modules, each on all ranks, or every problem.
pub(super) fn check_colocated(input: &MimoInput) -> Result<MimoLayout, Vec<Problem>> {
    let mut problems = Vec::new();
    check_names(input, &mut problems);
    let valid = check_modules(input, &input.world_size, &mut problems);
    for module in &valid {
        check_ranks(module, &input.world_size, &mut problems);
    }
    if valid.len() > 1 {
        // Modules that all have the same sizes run in one set of groups and need no communicator: as without a
        // grid map in Megatron's `MimoModel`, and in `LLaVAModel`.
        let alike = valid.windows(2).all(|pair| match pair {
            [a, b] => a.parallelism == b.parallelism,
            _ => true,
        });
        for module in &valid {
            check_singletons(module, alike, &mut problems);
        }
    }
    check_encoders(&valid, &mut problems);
    let is_language = |module: &&ValidModule| module.at.name == LANGUAGE_MODULE;
    if let Some(language) = valid.iter().find(is_language) {
        for encoder in valid.iter().filter(|module| !is_language(module)) {
            check_data_parallel(encoder, language, &mut problems);
        }
    }
    place(valid, problems)
}

/// The module starts at rank 0 and has every rank.
fn check_ranks(
    ValidModule { at, parallelism }: &ValidModule,
    world_size: &Value,
    problems: &mut Vec<Problem>,
) {
    let offset = parallelism.rank_offset;
    if offset != 0 {
        let error = Exception::ValueError.with(format!(
            "Grids must have same rank offset: '{}' has {offset} instead of 0",
            at.name
        ));
        report(problems, Rule::SameRanks, error).set(at, Field::RankOffset, 0);
    }
    let (Ok(ranks), Ok(size)) = (
        parallelism.total_ranks(),
        parallelism.dense_model_parallel_size(),
    ) else {
        return;
    };
    let world = match world_size {
        Value::Int(world) => *world,
        _ => 0,
    };
    if world == ranks {
        return;
    }
    let error = Exception::ValueError.with(format!(
        "Grids must span same number of ranks: '{}' has {ranks}, world_size is {world}",
        at.name
    ));
    let problem = report(problems, Rule::SameRanks, error).of(at);
    problem.field = Some(Field::DataParallelSize);
    if world > 0 && world % size == 0 {
        problem.set(at, Field::DataParallelSize, world / size);
    }
}

/// PP is 1, and so is CP unless all modules have the same sizes.
fn check_singletons(
    ValidModule { at, parallelism }: &ValidModule,
    alike: bool,
    problems: &mut Vec<Problem>,
) {
    let sizes = [
        (
            Field::PipelineModelParallelSize,
            parallelism.pipeline_model_parallel_size,
            "PP",
        ),
        (
            Field::ContextParallelSize,
            parallelism.context_parallel_size,
            "CP",
        ),
    ];
    for (field, size, short) in sizes {
        if size == 1 || (alike && field == Field::ContextParallelSize) {
            continue;
        }
        let error = Exception::ValueError.with(format!(
            "{} {short} must be 1 for ColocatedBridgeCommunicator, got {size}",
            at.name
        ));
        report(problems, Rule::NoPipelineOrContext, error).set(at, field, 1);
    }
}

fn check_data_parallel(encoder: &ValidModule, language: &ValidModule, problems: &mut Vec<Problem>) {
    let (source, target) = (encoder.data_parallel_size(), language.data_parallel_size());
    if source % target == 0 || target % source == 0 {
        return;
    }
    let error = Exception::ValueError.with(format!(
        "DP sizes must be evenly divisible: src_dp={source}, dest_dp={target}"
    ));
    let problem = report(problems, Rule::DataParallelDivides, error).of(&encoder.at);
    problem.field = Some(Field::DataParallelSize);
    if let Some(value) = nearest_fitting(source, target) {
        problem.set(&encoder.at, Field::DataParallelSize, value);
    }
}
