//! The job that a search varies: its model and its ranks are the same in all layouts, and are checked once.

use super::axis::Axis;
use super::fields::{number, unset};
use super::options::Split;
use super::unsearchable::Unsearchable;
use crate::config::fields::FieldId;
use crate::config::job::Config;
use crate::config::problem::{Problem, Severity};
use crate::config::raw::RawJob;
use crate::config::{Checked, check};
use crate::value::Value;

/// Unsets the fields that split layers in another way than the search does.
pub(super) fn unset_other_splits(job: &mut RawJob, module: usize, varied: &[Axis], split: Split) {
    use FieldId as F;
    if varied.contains(&Axis::Virtual) {
        unset(job, module, F::num_layers_per_virtual_pipeline_stage);
        unset(job, module, F::num_virtual_stages_per_pipeline_rank);
    }
    if split == Split::RestInLastStage {
        for field in [
            F::pipeline_model_parallel_layout,
            F::decoder_first_pipeline_num_layers,
            F::decoder_last_pipeline_num_layers,
            F::account_for_embedding_in_pipeline_split,
            F::account_for_loss_in_pipeline_split,
        ] {
            unset(job, module, field);
        }
    }
}

/// The job's own configuration, or, where Megatron refuses the job's layout, that of the job with the smallest layout:
/// all sizes that vary are 1. Problems of single layouts are found when their combinations are tried; so this job also
/// drops the number of GPUs and the split of layers, which need not fit the smallest layout.
pub(super) fn reference_config(job: &RawJob, varied: &[Axis], split: Split) -> Result<Config, Unsearchable> {
    use FieldId as F;
    if let Some(config) = check(job).config {
        return Ok(config);
    }
    if !job.modules.is_empty() {
        let mut problems = check(job).problems;
        problems.retain(Problem::is_error);
        return Err(Unsearchable::Problems(problems));
    }
    let mut smallest = job.clone();
    smallest.shared.unset(FieldId::data_parallel_size);
    unset_other_splits(&mut smallest, 0, varied, split);
    for axis in varied.iter().filter(|axis| axis.has_sizes()) {
        smallest.shared.unset(axis.field());
    }
    if let Some(config) = check(&smallest).config {
        return Ok(config);
    }
    if varied.contains(&Axis::Pipeline) {
        for field in [
            F::pipeline_model_parallel_layout,
            F::decoder_first_pipeline_num_layers,
            F::decoder_last_pipeline_num_layers,
            F::virtual_pipeline_model_parallel_size,
            F::num_layers_per_virtual_pipeline_stage,
            F::num_virtual_stages_per_pipeline_rank,
        ] {
            smallest.shared.unset(field);
        }
    }
    let sizes = [
        F::tensor_model_parallel_size,
        F::pipeline_model_parallel_size,
        F::context_parallel_size,
        F::expert_model_parallel_size,
        F::expert_tensor_parallel_size,
        F::num_distributed_optimizer_instances,
    ];
    let sizes = sizes.iter().filter_map(|field| number(&smallest, 0, *field));
    let ranks = sizes.fold(1, u64::saturating_mul);
    for (field, value) in [
        (F::world_size, Value::Int(ranks.into())),
        (F::global_batch_size, Value::Null),
    ] {
        // A value that cannot be read stays, so that the check reports it.
        if number(&smallest, 0, field).is_some() {
            smallest.shared.set(field, value);
        }
    }
    let Checked { config, mut problems } = check(&smallest);
    problems.retain(|p| p.severity == Severity::Error);
    config.ok_or(Unsearchable::Problems(problems))
}
