//! The configuration objects that the estimator reads.

use super::super::python::{PyValue, attributes};
use crate::value::Value;

/// The inputs of a report.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The model configuration.
    pub model: ModelConfig<'a>,
    /// The training configuration.
    pub train: TrainConfig<'a>,
    /// Microbatches of a step; Python's `None` where it is not given.
    pub num_microbatches: PyValue<'a>,
    /// Whether the estimate has activations.
    pub include_activation: bool,
}

/// Reads the fields from the entries of a map. A missing section has no attributes, a missing
/// `num_microbatches` is `None`, and a missing `include_activation` is true.
impl<'a> From<&'a Value> for Input<'a> {
    fn from(input: &'a Value) -> Self {
        static EMPTY: Value = Value::Map(Vec::new());
        let section = |name| input.get(name).unwrap_or(&EMPTY);
        Self {
            model: section("model").into(),
            train: section("train").into(),
            num_microbatches: input.get("num_microbatches").into(),
            include_activation: input
                .get("include_activation")
                .is_none_or(|value| PyValue::from(value).truth()),
        }
    }
}

attributes! {
    /// Megatron-Bridge's model configuration as far as its estimator reads it.
    ///
    /// A missing attribute is an `AttributeError` where it has no default. A default also replaces `None`.
    pub struct ModelConfig {
        /// Number of decoder layers, without MTP layers; 1 by default.
        num_layers,
        /// Hidden size.
        hidden_size,
        /// Width of a dense MLP.
        ffn_hidden_size,
        /// Number of attention heads.
        num_attention_heads,
        /// Number of groups in which heads share keys and values; `None` or 0 for one for each head.
        num_query_groups,
        /// Channels of an attention head.
        kv_channels,
        /// Sequence length; only read for activations.
        seq_length,
        /// Vocabulary size, before padding with `should_pad_vocab`.
        vocab_size,
        /// Padding makes the vocabulary size a multiple of this times TP; only read with `should_pad_vocab`.
        make_vocab_size_divisible_by,
        /// Whether the vocabulary is padded; true when missing.
        should_pad_vocab,
        /// Whether the output layer uses the word embeddings.
        share_embeddings_and_output_weights,
        /// Whether MLPs are gated; false when missing.
        gated_linear_unit,
        /// The activation function by name: only a gated `"silu"` is counted with a third projection.
        activation_func,
        /// Number of routed experts; without experts by default.
        num_moe_experts,
        /// Every how many layers one has experts, or a list of a truth value for each layer; 1 when missing.
        moe_layer_freq,
        /// Width of a routed expert; `ffn_hidden_size` by default.
        moe_ffn_hidden_size,
        /// Width of all shared experts together; 0 by default.
        moe_shared_expert_intermediate_size,
        /// Routed experts for a token; `num_experts_routed_to` by default.
        moe_router_topk,
        /// Another name for `moe_router_topk`; 1 by default.
        num_experts_routed_to,
        /// Width to which tokens are projected for the routed experts; none by default.
        moe_latent_size,
        /// Number of MTP layers; none by default.
        mtp_num_layers,
        /// TP; 1 by default, but needed where the vocabulary is padded.
        tensor_model_parallel_size,
        /// PP; 1 by default.
        pipeline_model_parallel_size,
        /// Virtual stages of a pipeline rank; no interleaving by default.
        virtual_pipeline_model_parallel_size,
        /// Layers of the first pipeline stage; like the others by default.
        num_layers_in_first_pipeline_stage,
        /// Layers of the last pipeline stage; like the others by default.
        num_layers_in_last_pipeline_stage,
        /// CP; 1 by default.
        context_parallel_size,
        /// EP; 1 by default.
        expert_model_parallel_size,
        /// ETP; 1 by default.
        expert_tensor_parallel_size,
        /// Whether sequence parallelism is on; read by the printed report alone.
        sequence_parallel,
        /// `"selective"` or another granularity; read by the printed report alone.
        recompute_granularity,
    }
}

attributes! {
    /// Megatron-Bridge's training configuration as far as its estimator reads it.
    pub struct TrainConfig {
        /// Sequences in a microbatch; only read for activations.
        micro_batch_size,
        /// DP, without context parallelism; 1 by default.
        data_parallel_size,
        /// Whether data-parallel ranks share the optimizer state; false when missing.
        use_distributed_optimizer,
    }
}
