//! The arguments that the estimator reads.

use super::super::python::attributes;

attributes! {
    /// Megatron-LM's arguments as far as its estimator reads them.
    ///
    /// A missing one is an `AttributeError` in every result whose formula reaches it.
    pub struct Arguments {
        /// Hidden size.
        hidden_size,
        /// Number of decoder layers, without MTP layers.
        num_layers,
        /// Vocabulary size with padding.
        padded_vocab_size,
        /// Number of attention heads.
        num_attention_heads,
        /// Channels of an attention head.
        kv_channels,
        /// Whether attention heads share keys and values in groups.
        group_query_attention,
        /// Number of these groups; only read with `group_query_attention`.
        num_query_groups,
        /// Width of a dense MLP.
        ffn_hidden_size,
        /// Whether MLPs have SwiGLU's third projection.
        swiglu,
        /// `"RMSNorm"`, or a name that counts as `LayerNorm`.
        normalization,
        /// Whether linear layers have biases, of which only the router's is counted.
        add_bias_linear,
        /// Whether the output layer has weights of its own.
        untie_embeddings_and_output_weights,
        /// Number of routed experts; `None` for a dense model.
        num_experts,
        /// Every how many layers one has experts, or a list with 1 for each layer with experts; only read with experts.
        moe_layer_freq,
        /// Width of a routed expert; only read with experts.
        moe_ffn_hidden_size,
        /// Routed experts for a token; only read with experts.
        moe_router_topk,
        /// Width of all shared experts together; `None` without.
        moe_shared_expert_intermediate_size,
        /// Whether shared experts have a gate; false when missing.
        moe_shared_expert_gate,
        /// Width to which tokens are projected for the routed experts; `None` without.
        moe_latent_size,
        /// Number of MTP layers; `None` without.
        mtp_num_layers,
        /// Whether attention is multi-latent, which is what reads the next five.
        multi_latent_attention,
        /// Rank of the queries' low-rank projection; `None` without.
        q_lora_rank,
        /// Rank of the keys' and values' low-rank projection.
        kv_lora_rank,
        /// Channels of a head's query and key without rotary embedding.
        qk_head_dim,
        /// Channels of a head's query and key with rotary embedding.
        qk_pos_emb_head_dim,
        /// Channels of a head's value.
        v_head_dim,
        /// Ranks of the job.
        world_size,
        /// TP
        tensor_model_parallel_size,
        /// PP
        pipeline_model_parallel_size,
        /// Virtual stages of a pipeline rank; `None` without interleaving.
        virtual_pipeline_model_parallel_size,
        /// EP
        expert_model_parallel_size,
        /// ETP
        expert_tensor_parallel_size,
        /// DP, without context parallelism.
        data_parallel_size,
        /// Whether data-parallel ranks share the optimizer state.
        use_distributed_optimizer,
        /// Sequence length.
        seq_length,
        /// Sequences in a microbatch.
        micro_batch_size,
        /// Whether sequence parallelism is on; read by the printed report alone.
        sequence_parallel,
        /// `"selective"` or another granularity; read by the printed report alone.
        recompute_granularity,
        /// `None` unless the model is a hybrid of layer types; read by the printed report alone.
        hybrid_layer_pattern,
    }
}
