//! The rules for modules that share ranks: all of them (`ColocatedBridgeCommunicator` in
//! `megatron/core/models/mimo/comm/colocated_communicator.py`), or, where the language model has pipeline stages, those
//! of its first stage, on which `LLaVAModel` and the models of Megatron-Bridge build their encoders.

use super::input::integer;
use super::rules::report_of;
use super::set_rules::{ValidModule, check_encoders, check_modules, check_names, nearest_fitting, place};
use super::{Field, LANGUAGE_MODULE, MimoInput, MimoLayout, ModuleInput, ModuleParallelism, ModuleProblem, Rule};
use crate::python::Exception;
use crate::value::Value;

/// The modules, each on all ranks or on those of the language model's first stage, or every problem.
pub(super) fn check_colocated(input: &MimoInput) -> Result<MimoLayout, Vec<ModuleProblem>> {
    let mut problems = Vec::new();
    check_names(input, &mut problems);
    let language = input.modules.iter().find(|m| m.name == LANGUAGE_MODULE);
    let language = language.and_then(ModuleInput::as_set);
    let ranks = |module: &ModuleParallelism| match &language {
        Some(language) if is_on_first_stage(module, language) => integer(&input.world_size)
            .and_then(|world| world.checked_div(language.pipeline_model_parallel_size))
            .map_or(Value::Null, Value::Int),
        _ => input.world_size.clone(),
    };
    let ranks_of_input = |module: &ModuleInput| {
        let set = module.as_set();
        set.map_or_else(|| input.world_size.clone(), |module| ranks(&module))
    };
    let valid = check_modules(input, &ranks_of_input, &mut problems);
    for module in &valid {
        check_ranks(module, &ranks(&module.parallelism), &mut problems);
    }
    if valid.len() > 1 {
        let stages = language.map_or(1, |language| language.pipeline_model_parallel_size);
        // Encoders with the language model's sizes run in its groups and need no communicator: as without a grid map in
        // Megatron's `MimoModel`, and in `LLaVAModel`.
        let one_model = valid.iter().all(|module| {
            let same = |language| has_same_groups(&module.parallelism, language);
            let own = module.parallelism.pipeline_model_parallel_size;
            language.as_ref().is_some_and(same) && (own == 1 || module.at.name == LANGUAGE_MODULE && own == stages)
        });
        for module in &valid {
            if !one_model {
                check_singletons(module, &mut problems);
            }
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

/// Whether an encoder stands on the ranks of the language model's first stage, in the same groups.
fn is_on_first_stage(encoder: &ModuleParallelism, language: &ModuleParallelism) -> bool {
    encoder.pipeline_model_parallel_size == 1
        && language.pipeline_model_parallel_size > 1
        && has_same_groups(encoder, language)
}

/// Whether a module splits the ranks of a stage as the language model does.
fn has_same_groups(module: &ModuleParallelism, language: &ModuleParallelism) -> bool {
    let sizes = |m: &ModuleParallelism| (m.tensor_model_parallel_size, m.context_parallel_size);
    sizes(module) == sizes(language)
}

/// The module starts at rank 0 and has all of the ranks that it shares.
fn check_ranks(ValidModule { at, parallelism }: &ValidModule, shared: &Value, problems: &mut Vec<ModuleProblem>) {
    let offset = parallelism.rank_offset;
    if offset != 0 {
        let error = Exception::ValueError.with(format!(
            "Grids must have same rank offset: '{}' has {offset} instead of 0",
            at.name
        ));
        report_of(problems, at, Rule::SameRanks, error).set(at, Field::RankOffset, 0);
    }
    let (Ok(ranks), Ok(size)) = (parallelism.total_ranks(), parallelism.dense_model_parallel_size()) else {
        return;
    };
    let world = match shared {
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
    let problem = report_of(problems, at, Rule::SameRanks, error);
    problem.fields.push(Field::DataParallelSize);
    if world > 0 && world % size == 0 {
        problem.set(at, Field::DataParallelSize, world / size);
    }
}

/// PP and CP are 1.
fn check_singletons(ValidModule { at, parallelism }: &ValidModule, problems: &mut Vec<ModuleProblem>) {
    let sizes = [
        (
            Field::PipelineModelParallelSize,
            parallelism.pipeline_model_parallel_size,
            "PP",
        ),
        (Field::ContextParallelSize, parallelism.context_parallel_size, "CP"),
    ];
    for (field, size, short) in sizes {
        if size == 1 {
            continue;
        }
        let error = Exception::ValueError.with(format!(
            "{} {short} must be 1 for ColocatedBridgeCommunicator, got {size}",
            at.name
        ));
        report_of(problems, at, Rule::NoPipelineOrContext, error).set(at, field, 1);
    }
}

fn check_data_parallel(encoder: &ValidModule, language: &ValidModule, problems: &mut Vec<ModuleProblem>) {
    let (source, target) = (encoder.data_parallel_size(), language.data_parallel_size());
    if source % target == 0 || target % source == 0 {
        return;
    }
    let error = Exception::ValueError.with(format!(
        "DP sizes must be evenly divisible: src_dp={source}, dest_dp={target}"
    ));
    let problem = report_of(problems, &encoder.at, Rule::DataParallelDivides, error);
    problem.fields.push(Field::DataParallelSize);
    if let Some(value) = nearest_fitting(source, target) {
        problem.set(&encoder.at, Field::DataParallelSize, value);
    }
}
