//! Batches that a text says for each data-parallel rank.

use super::missing_fields::number;
use crate::config::fields::FieldId;
use crate::formats::import::Import;
use crate::value::Value;

/// Sets the global batch and the micro batch when the number of data-parallel ranks is known.
pub(super) fn settle(import: &mut Import) {
    let shared = &mut import.state.setup.job.shared;
    let size = |id| number(shared, id).unwrap_or(1).max(1);
    let ranks = size(FieldId::tensor_model_parallel_size)
        .saturating_mul(size(FieldId::pipeline_model_parallel_size))
        .saturating_mul(size(FieldId::context_parallel_size));
    let gpus = number(shared, FieldId::world_size);
    let replicas = gpus.map(|gpus| gpus / ranks).filter(|replicas| *replicas > 0);
    let (Some(batch), Some(replicas)) = (import.batch, replicas) else {
        return;
    };
    let all = replicas.saturating_mul(batch.accumulation.max(1));
    let (micro, global) = (FieldId::micro_batch_size, FieldId::global_batch_size);
    if let Some(samples) = batch.samples.filter(|samples| *samples >= all)
        && shared.get(micro).is_none()
    {
        shared.set(micro, Value::Int((samples / all).into()));
    }
    if shared.get(global).is_none() {
        let of_ranks = number(shared, micro).unwrap_or(1).saturating_mul(all);
        let samples = batch.samples.unwrap_or(of_ranks);
        shared.set(global, Value::Int(samples.into()));
    }
}
