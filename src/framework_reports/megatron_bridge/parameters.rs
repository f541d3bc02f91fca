//! Parameters of the whole model.

use super::super::python::{hashable, raise, str};
use super::pattern::{has_moe, moe_layers};
use super::{Namespace, Py, non_negative_or};
use crate::value::Value;

/// What `_count_parameters` counts.
pub(super) struct ParameterCounts {
    pub(super) dense_transformer: Py,
    pub(super) routed_experts: f64,
    pub(super) embeddings: Py,
    /// Per layer, then per MTP layer: everything but routed experts.
    pub(super) dense_by_layer: Vec<f64>,
    /// Per layer, then per MTP layer: the routed experts.
    pub(super) routed_by_layer: Vec<f64>,
    pub(super) final_layernorm: Py,
}

impl ParameterCounts {
    pub(super) fn count(model: Namespace<'_>) -> Self {
        let arg = |name| model.get(name);
        let hidden_size = arg("hidden_size");
        let pattern = moe_layers(model);
        let projections = ffn_projection_factor(model);
        let attention = attention(model);
        let layernorm = 4 * hidden_size;
        let final_layernorm = 2 * hidden_size;
        let dense_mlp = projections * hidden_size * arg("ffn_hidden_size");
        let shared_size = shared_expert_intermediate_size(model);
        let shared_expert = projections * hidden_size * shared_size;

        let (mut routed_expert, mut latent_projection) = (Py::from(0.0), Py::from(0.0));
        if has_moe(model) && pattern.contains(&true) {
            let ffn = non_negative_or(model, "moe_ffn_hidden_size", arg("ffn_hidden_size"));
            let experts = arg("num_moe_experts");
            if let Some(latent) = model.get_some("moe_latent_size").map(Py::from) {
                routed_expert = projections * latent * ffn * experts;
                latent_projection = 2 * hidden_size * latent;
            } else {
                routed_expert = projections * hidden_size * ffn * experts;
            }
        }
        let around = attention + layernorm;
        let dense_layer = (around + dense_mlp).float();
        let moe_layer = (around + (shared_expert + latent_projection)).float();
        let routed_expert = routed_expert.float();
        let per_layer = |moe, dense| -> Vec<f64> {
            let choose = |is_moe: &bool| if *is_moe { moe } else { dense };
            pattern.iter().map(choose).collect()
        };
        let dense_by_layer = per_layer(moe_layer, dense_layer);
        let routed_by_layer = per_layer(routed_expert, 0.0);

        let dense_transformer = Py::from(sum(&dense_by_layer)) + final_layernorm;
        let routed_experts = sum(&routed_by_layer);
        let embedding_size = hidden_size * vocabulary_size(model);
        let mut embeddings = embedding_size;
        if !model.truth("share_embeddings_and_output_weights") {
            embeddings += embedding_size;
        }
        Self {
            dense_transformer,
            routed_experts,
            embeddings,
            dense_by_layer,
            routed_by_layer,
            final_layernorm,
        }
    }
}

fn attention(model: Namespace<'_>) -> Py {
    let arg = |name| model.get(name);
    let hidden_size = arg("hidden_size");
    let query_projection_size = arg("kv_channels") * arg("num_attention_heads");
    let query_to_hidden_ratio = query_projection_size / hidden_size;
    let num_query_groups = if model.truth("num_query_groups") {
        arg("num_query_groups")
    } else {
        arg("num_attention_heads")
    };
    2 * hidden_size
        * hidden_size
        * ((1 + (num_query_groups / arg("num_attention_heads"))) * query_to_hidden_ratio)
}

pub(super) fn shared_expert_intermediate_size(model: Namespace<'_>) -> Py {
    non_negative_or(model, "moe_shared_expert_intermediate_size", 0.into())
}

/// `_ffn_projection_factor`: only a gated `silu` has a third projection.
fn ffn_projection_factor(model: Namespace<'_>) -> f64 {
    let is_silu =
        matches!(model.get_some("activation_func"), Some(Value::Text(name)) if name == "silu");
    if model.truth_or("gated_linear_unit", false) && is_silu {
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
pub(super) fn vocabulary_size(model: Namespace<'_>) -> Py {
    const DIVISOR: &str = "make_vocab_size_divisible_by";
    const TENSOR_SIZE: &str = "tensor_model_parallel_size";
    if !model.truth_or("should_pad_vocab", true) {
        return model.get("vocab_size");
    }
    let names = ["vocab_size", DIVISOR, TENSOR_SIZE];
    for name in names {
        model.raw(name);
    }
    // Python caches the padded size, so that every input has to be hashable before it is looked at.
    for name in names {
        hashable(model.raw(name));
    }
    for name in names {
        if model.get(name).is_at_most(0) {
            let value = str(model.raw(name));
            raise("ValueError", &[name, " must be positive, got ", &value]);
        }
    }
    let multiple = model.get(DIVISOR) * model.get(TENSOR_SIZE);
    ((model.get("vocab_size") / multiple).ceil() * multiple).int()
}
