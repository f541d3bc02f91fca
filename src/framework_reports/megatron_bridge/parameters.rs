//! Parameters of the whole model.

use super::super::python::{PyValue, str};
use super::ModelConfig;
use super::integers::non_negative_or;
use super::pattern::{has_moe, moe_layers};
use crate::python::{Exception, PythonError};

/// What `_count_parameters` counts, and what it computes on the way.
pub(super) struct ParameterCounts<'a> {
    pub(super) dense_transformer: PyValue<'a>,
    pub(super) routed_experts: f64,
    /// The word embeddings, and the output layer's weights where these are not shared.
    pub(super) embeddings: PyValue<'a>,
    /// The word embeddings alone.
    pub(super) embedding: PyValue<'a>,
    /// Per layer, then per MTP layer: everything but routed experts.
    pub(super) dense_by_layer: Vec<f64>,
    /// Per layer, then per MTP layer: the routed experts.
    pub(super) routed_by_layer: Vec<f64>,
    pub(super) final_layernorm: PyValue<'a>,
    /// Per layer, then per MTP layer: whether it has experts.
    pub(super) moe_layers: Vec<bool>,
    pub(super) shared_expert_ffn_hidden_size: PyValue<'a>,
    /// With padding.
    pub(super) vocabulary_size: PyValue<'a>,
}

impl<'a> ParameterCounts<'a> {
    pub(super) fn count(model: &ModelConfig<'a>) -> Result<Self, PythonError> {
        let hidden_size = model.hidden_size.value()?;
        let moe_layers = moe_layers(model)?;
        let projections = ffn_projection_factor(model);
        let attention = attention(model)?;
        let layernorm = (4 * hidden_size).value()?;
        let final_layernorm = (2 * hidden_size).value()?;
        let dense_mlp = (projections * hidden_size * model.ffn_hidden_size).value()?;
        let shared_expert_ffn_hidden_size = non_negative_or(
            model.moe_shared_expert_intermediate_size,
            "moe_shared_expert_intermediate_size",
            0.into(),
        )?;
        let shared_expert = (projections * hidden_size * shared_expert_ffn_hidden_size).value()?;

        let (mut routed_expert, mut latent_projection) = (PyValue::from(0.0), PyValue::from(0.0));
        if has_moe(model)? && moe_layers.contains(&true) {
            let ffn = model.ffn_hidden_size.value()?;
            let ffn = non_negative_or(model.moe_ffn_hidden_size, "moe_ffn_hidden_size", ffn)?;
            let experts = model.num_moe_experts;
            if let Some(latent) = model.moe_latent_size.if_given() {
                routed_expert = (projections * latent * ffn * experts).value()?;
                latent_projection = (2 * hidden_size * latent).value()?;
            } else {
                routed_expert = (projections * hidden_size * ffn * experts).value()?;
            }
        }
        let around_mlp = (attention + layernorm).value()?;
        let dense_layer = (around_mlp + dense_mlp).value()?.float()?;
        let moe_layer = around_mlp + (shared_expert + latent_projection);
        let moe_layer = moe_layer.value()?.float()?;
        let routed_expert = routed_expert.float()?;
        let per_layer = |moe, dense| -> Vec<f64> {
            let choose = |is_moe: &bool| if *is_moe { moe } else { dense };
            moe_layers.iter().map(choose).collect()
        };
        let dense_by_layer = per_layer(moe_layer, dense_layer);
        let routed_by_layer = per_layer(routed_expert, 0.0);

        let dense_transformer = (PyValue::from(sum(&dense_by_layer)) + final_layernorm).value()?;
        let routed_experts = sum(&routed_by_layer);
        let vocabulary_size = vocabulary_size(model)?;
        let embedding = (hidden_size * vocabulary_size).value()?;
        let mut embeddings = embedding;
        if !model.share_embeddings_and_output_weights.truth()? {
            embeddings.add_assign(embedding)?;
        }
        Ok(Self {
            dense_transformer,
            routed_experts,
            embeddings,
            embedding,
            dense_by_layer,
            routed_by_layer,
            final_layernorm,
            moe_layers,
            shared_expert_ffn_hidden_size,
            vocabulary_size,
        })
    }
}

fn attention<'a>(model: &ModelConfig<'a>) -> Result<PyValue<'a>, PythonError> {
    let query_projection_size = (model.kv_channels * model.num_attention_heads).value()?;
    let query_to_hidden_ratio = (query_projection_size / model.hidden_size).value()?;
    let num_query_groups = if model.num_query_groups.truth()? {
        model.num_query_groups
    } else {
        model.num_attention_heads
    };
    let attention = 2
        * model.hidden_size
        * model.hidden_size
        * ((1 + (num_query_groups / model.num_attention_heads)) * query_to_hidden_ratio);
    Ok(attention.value()?)
}

/// `_ffn_projection_factor`: only a gated `silu` has a third projection.
fn ffn_projection_factor(model: &ModelConfig<'_>) -> f64 {
    let is_gated = model.gated_linear_unit.if_given().is_some_and(PyValue::truth);
    if is_gated && let Some(PyValue::Str("silu")) = model.activation_func.if_given() {
        3.0
    } else {
        2.0
    }
}

/// `sum` of floats: plainly from the left, as `CPython` 3.11 adds.
pub(super) fn sum(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |sum, number| sum + number)
}

/// `_get_vocab_size`: the vocabulary as given, or padded up to the next multiple of the divisor times
/// the tensor-parallel size.
fn vocabulary_size<'a>(model: &ModelConfig<'a>) -> Result<PyValue<'a>, PythonError> {
    let pads = model.should_pad_vocab.if_present().is_none_or(PyValue::truth);
    if !pads {
        return Ok(model.vocab_size.value()?);
    }
    let vocab_size = model.vocab_size.value()?;
    let divisor = model.make_vocab_size_divisible_by.value()?;
    let tensor_size = model.tensor_model_parallel_size.value()?;
    // Python caches the padded size, so that the arguments are hashed before anything looks at them.
    for argument in [vocab_size, divisor, tensor_size] {
        argument.hash()?;
    }
    for (argument, name) in [
        (vocab_size, "vocab_size"),
        (divisor, "make_vocab_size_divisible_by"),
        (tensor_size, "tensor_model_parallel_size"),
    ] {
        if argument.is_at_most(0)? {
            let argument = str(argument);
            return Err(Exception::ValueError.with(format!("{name} must be positive, got {argument}")));
        }
    }
    let multiple = (divisor * tensor_size).value()?;
    let multiples = (vocab_size / multiple).value()?.ceil()?;
    Ok((multiples * multiple).value()?.int()?)
}
