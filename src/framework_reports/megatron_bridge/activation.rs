//! Activations of the first pipeline stage, by Table 2 of <https://arxiv.org/abs/2205.05198>.

use super::super::Interleaving;
use super::super::python::PyValue;
use super::integers::non_negative_or;
use super::parameters::ParameterCounts;
use super::pattern::{LayerCounts, has_moe};
use super::shard::Sizes;
use super::{Input, ModelConfig};
use crate::python::PythonError;

/// `_compute_activation_memory_bytes`.
pub(super) fn memory_bytes<'a>(
    input: &Input<'a>,
    counts: &ParameterCounts<'a>,
    sizes: &Sizes<'a>,
) -> Result<PyValue<'a>, PythonError> {
    let model = &input.model;
    let micro_batch_size = input.train.micro_batch_size;
    let layers = LayerCounts::of(&counts.moe_layers);
    let ffn_ratio = ffn_activation_ratio(model, counts, layers)?;

    let mut memory = (model.seq_length * micro_batch_size * model.hidden_size * (18 + (4 * ffn_ratio))).value()?;
    memory.mul_assign(layers.total)?;
    memory.add_assign(8 * model.seq_length * micro_batch_size * sizes.pipeline)?;
    memory.add_assign(model.seq_length * micro_batch_size * model.hidden_size * sizes.pipeline)?;

    if let Some(virtual_size) = model.virtual_pipeline_model_parallel_size.if_given() {
        memory.mul_assign(Interleaving::new(sizes.pipeline, virtual_size)?.penalty)?;
    } else if !input.num_microbatches.is_none() && sizes.pipeline.exceeds(1)? {
        let filled = (input.num_microbatches / sizes.pipeline).value()?;
        memory.mul_assign(PyValue::from(1).min(filled)?)?;
    }
    if sizes.pipeline.equals(1) {
        memory.add_assign(
            model.seq_length
                * micro_batch_size
                * model.hidden_size
                * 4
                * (1 + (counts.vocabulary_size / model.hidden_size)),
        )?;
    }
    Ok((memory / (sizes.tensor * sizes.context)).value()?)
}

/// `_ffn_activation_ratio`: the layers' average feed-forward width relative to the hidden size.
fn ffn_activation_ratio<'a>(
    model: &ModelConfig<'a>,
    counts: &ParameterCounts<'a>,
    layers: LayerCounts,
) -> Result<PyValue<'a>, PythonError> {
    if layers.total == 0 {
        return Ok(0.0.into());
    }
    let dense_ffn = (layers.dense * model.ffn_hidden_size).value()?;
    let mut moe_ffn = PyValue::from(0.0);
    if has_moe(model)? && layers.moe > 0 {
        let routed_to = non_negative_or(model.num_experts_routed_to, "num_experts_routed_to", 1.into())?;
        let routed_to = non_negative_or(model.moe_router_topk, "moe_router_topk", routed_to)?;
        let ffn = model.ffn_hidden_size.value()?;
        let ffn = non_negative_or(model.moe_ffn_hidden_size, "moe_ffn_hidden_size", ffn)?;
        moe_ffn = (layers.moe * ((ffn * routed_to) + counts.shared_expert_ffn_hidden_size)).value()?;
    }
    Ok(((dense_ffn + moe_ffn) / (layers.total * model.hidden_size)).value()?)
}
