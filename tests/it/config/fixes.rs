//! What is refused comes with a way out: every rule offers changes, and each of them mends what it is offered for.

use std::collections::BTreeSet;

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::problem::Problem;
use megatron_memory::config::raw::RawJob;
use megatron_memory::config::{check, rule_names};
use megatron_memory::formats::share_url::decode;
use megatron_memory::value::Value;
use serde_json::{Value as Json, json};

use super::{cases, dense, megatron, moe, with};

/// Rules that no change of one field can mend, and why.
const NO_WAY_OUT: [(&str, &str); 2] = [
    ("required", "only the reader knows the model"),
    ("vocabulary", "only the tokenizer knows its size"),
];

/// Wrong changes for the rules that have none among the other tests' cases.
fn more_cases() -> Vec<(Json, Json)> {
    let linear = json!({"experimental_attention_variant": "gated_delta_net", "linear_attention_freq": 4, "linear_num_key_heads": 4,
        "linear_num_value_heads": 8, "linear_key_head_dim": 64, "linear_value_head_dim": 64, "linear_conv_kernel_dim": 4});
    let mla = json!({"multi_latent_attention": true, "kv_lora_rank": 64, "qk_head_dim": 64, "qk_pos_emb_head_dim": 32, "v_head_dim": 64,
        "position_embedding_type": "rope"});
    let dsa = json!({"experimental_attention_variant": "dsa", "q_lora_rank": 64, "dsa_indexer_n_heads": 4, "dsa_indexer_head_dim": 64,
        "dsa_indexer_topk": 512, "add_bias_linear": false, "apply_rope_fusion": false, "bf16": true, "qk_layernorm": true});
    let sparse = with(with(dense(), mla.clone()), dsa);
    let sparse = |change: Json| (sparse.clone(), change);
    let sized = |sizes: &str| (dense(), json!({"layer_sizes": sizes}));
    let hybrid = json!({"hybrid_layer_pattern": "M-M*", "num_layers": null, "mamba_num_heads": 32, "mamba_num_groups": 4,
        "tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, "sequence_parallel": false,
        "position_embedding_type": "rope"});
    let hybrid = |change: Json| (with(dense(), hybrid.clone()), change);
    let streams = json!({"enable_mhc_connections": true, "software_stack": "megatron_dev"});
    let streams = |change: Json| (with(dense(), streams.clone()), change);
    let compressed = json!({"multi_latent_attention": true, "experimental_attention_variant": "dsv4_hybrid", "q_lora_rank": 64,
        "v_head_dim": 64, "qk_pos_emb_head_dim": 32, "csa_compress_ratios": "[4,128]*8", "dsa_indexer_n_heads": 4,
        "dsa_indexer_head_dim": 64, "dsa_indexer_topk": 512, "tensor_model_parallel_size": 1, "sequence_parallel": false,
        "position_embedding_type": "rope", "software_stack": "megatron_dev"});
    let compressed = |change: Json| (with(dense(), compressed.clone()), change);
    let hashed = json!({"moe_n_hash_layers": 3, "software_stack": "megatron_dev"});
    let hashed = |change: Json| (with(moe(), hashed.clone()), change);
    let fsdp = json!({"use_megatron_fsdp": true, "pipeline_model_parallel_size": 1});
    let fsdp = |change: Json| (with(dense(), fsdp.clone()), change);
    let torch_fsdp2 = json!({"use_torch_fsdp2": true, "pipeline_model_parallel_size": 1, "use_distributed_optimizer": false,
        "gradient_accumulation_fusion": false, "untie_embeddings_and_output_weights": true, "bf16": true});
    let delayed = json!({"delay_wgrad_compute": true, "overlap_moe_expert_parallel_comm": true, "bf16": true,
        "moe_token_dispatcher_type": "alltoall", "overlap_grad_reduce": true, "cuda_graph_impl": "transformer_engine"});
    let delayed = |change: Json| (with(moe(), delayed.clone()), change);
    let torch_fsdp2 = |change: Json| (with(dense(), torch_fsdp2.clone()), change);
    let beside = json!({"mamba_beside_attention": true, "mamba_num_heads": 32, "mamba_num_groups": 4,
        "add_bias_linear": false, "position_embedding_type": "rope"});
    let beside = |change: Json| (with(dense(), beside.clone()), change);
    let kimi = json!({"kimi_attn_res_block_size": 4, "q_lora_rank": 64, "qk_layernorm": true, "linear_num_key_heads": 4,
        "linear_num_value_heads": 4, "position_embedding_type": "none", "normalization": "RMSNorm", "hidden_dropout": 0,
        "add_bias_linear": false});
    let kimi = with(with(dense(), mla.clone()), kimi);
    let kimi = |change: Json| (kimi.clone(), change);
    let norms = json!({"layer_norms_in_fp32": true, "transformer_impl": "local", "normalization": "RMSNorm",
        "qk_layernorm": true, "add_bias_linear": false, "pipeline_model_parallel_size": 1});
    let norms = with(dense(), norms);
    let norms = |change: Json| (norms.clone(), change);
    let pools = json!({"moe_vision_ffn_hidden_size": 128, "moe_ffn_hidden_size": 256,
        "moe_shared_expert_intermediate_size": 256});
    let pools = |change: Json| (with(moe(), pools.clone()), change);
    let shared = json!({"moe_shared_expert_intermediate_size": 512});
    let adapters = |kind: &str, targets: Json, change: Json| {
        let adapters = json!({"peft_type": kind, "peft_target_modules": targets});
        (with(dense(), adapters), change)
    };
    let expert_adapters = |kind: &str, change: Json| (with(moe(), json!({"peft_type": kind})), change);
    let dense = |change: Json| (dense(), change);
    let experts = |change: Json| (moe(), change);
    vec![
        sized("heads4"),
        sized("-*3"),
        sized("-*15,f4097"),
        dense(json!({"group_query_attention": true, "num_query_groups": 1, "v_channels": 32})),
        dense(json!({"group_query_attention": true, "num_query_groups": 3})),
        dense(json!({"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 17})),
        dense(json!({"transformer_impl": "inference_optimized"})),
        dense(json!({"moe_flex_dispatcher_backend": "ncclep"})),
        adapters(
            "lora",
            json!("linear_qkv"),
            json!({"peft_exclude_modules": "linear_proj"}),
        ),
        adapters("canonical_lora", json!("linear_qkv"), json!({})),
        adapters("lora", json!("linear_(qkv|proj)"), json!({})),
        adapters("lora", json!("*"), json!({})),
        adapters("lora", json!("q_proj"), json!({})),
        adapters("lora", json!("linear_qkv, q_proj"), json!({})),
        adapters(
            "lora",
            json!(null),
            json!({"peft_dim": 3, "tensor_model_parallel_size": 2}),
        ),
        adapters("lora", json!(null), json!({"peft_dim": 0})),
        adapters("dora", json!(null), json!({"peft_dropout_position": "post"})),
        (
            with(super::dense(), mla.clone()),
            json!({"peft_type": "lora", "peft_target_modules": "linear_kv_down_proj", "kv_lora_rank": 63,
                "tensor_model_parallel_size": 2}),
        ),
        (
            with(super::dense(), mla.clone()),
            json!({"peft_type": "dora", "peft_target_modules": "linear_kv_down_proj", "tensor_model_parallel_size": 2}),
        ),
        expert_adapters("dora", json!({})),
        expert_adapters(
            "lora",
            json!({"peft_normalize_moe_lora": true, "peft_dim": 33, "tensor_model_parallel_size": 1,
            "sequence_parallel": false, "moe_router_topk": 2}),
        ),
        expert_adapters("canonical_lora", json!({"peft_experts_shared_outer_loras": true})),
        expert_adapters(
            "lora",
            json!({"peft_experts_shared_outer_loras": true, "expert_tensor_parallel_size": 2}),
        ),
        (
            with(super::dense(), mla.clone()),
            json!({"group_query_attention": true}),
        ),
        (with(super::dense(), mla.clone()), json!({"qk_l2_norm": true})),
        (with(super::dense(), mla.clone()), json!({"mla_down_proj_fusion": true})),
        (
            with(super::dense(), mla.clone()),
            json!({"mla_down_proj_fusion": true, "q_lora_rank": 63, "tensor_model_parallel_size": 2}),
        ),
        (
            with(super::dense(), mla),
            json!({"mla_down_proj_fusion": true, "q_lora_rank": 64, "kv_lora_rank": 63, "tensor_model_parallel_size": 2}),
        ),
        dense(json!({"max_seqlen_per_dp_cp_rank": 16})),
        dense(json!({"pipeline_model_parallel_size": 1, "tensor_model_parallel_size": 16})),
        dense(json!({"pipeline_model_parallel_size": 1, "context_parallel_size": 4})),
        experts(json!({"pipeline_model_parallel_size": 1, "expert_model_parallel_size": 16})),
        experts(
            json!({"use_transformer_engine_op_fuser": true, "moe_grouped_gemm": true, "swiglu": false, "squared_relu": true}),
        ),
        experts(json!({"use_transformer_engine_op_fuser": true, "moe_grouped_gemm": true, "swiglu": false})),
        experts(
            json!({"use_transformer_engine_op_fuser": true, "moe_grouped_gemm": true, "swiglu": true,
            "expert_tensor_parallel_size": 2}),
        ),
        experts(
            json!({"use_transformer_engine_op_fuser": true, "moe_grouped_gemm": true, "swiglu": true,
            "fine_grained_activation_offloading": true, "offload_modules": ["moe_act"]}),
        ),
        experts(json!({"parallel_attention": true})),
        experts(json!({"separate_moe_norms": true, "fp32_residual_connection": true})),
        beside(json!({"qk_layernorm": true})),
        norms(json!({"pipeline_model_parallel_size": 4})),
        norms(json!({"qk_layernorm": false})),
        norms(json!({"per_layer_embed_dim": 64, "per_layer_embed_vocab_size": 1001})),
        dense(json!({"per_layer_embed_dim": 64})),
        dense(json!({"layer_sizes": "-*15,sharedkv"})),
        kimi(json!({"context_parallel_size": 2})),
        kimi(json!({"hidden_dropout": 0.1})),
        kimi(json!({"q_lora_rank": null})),
        kimi(json!({"recompute_granularity": "selective"})),
        kimi(json!({"linear_num_value_heads": 8})),
        pools(json!({"moe_latent_size": 128})),
        pools(json!({"moe_ffn_hidden_size": 64})),
        pools(json!({"moe_grouped_gemm": true})),
        pools(json!({"moe_shared_expert_intermediate_size": null})),
        beside(json!({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1})),
        experts(json!({"moe_expert_rank_capacity_factor": 1.5})),
        experts(json!({"moe_expert_rank_capacity_factor": 1.5, "moe_flex_dispatcher_backend": "ncclep"})),
        experts(
            json!({"moe_expert_rank_capacity_factor": 1.5, "moe_flex_dispatcher_backend": "ncclep", "swiglu": true,
            "use_transformer_engine_op_fuser": true}),
        ),
        experts(json!({"moe_paged_stash": true})),
        dense(json!({"activation_func_clamp_value": 7.0, "swiglu": true})),
        dense(json!({"activation_func_clamp_value": 7.0})),
        experts(
            json!({"moe_paged_stash": true, "moe_expert_rank_capacity_factor": 1.5, "moe_flex_dispatcher_backend": "hybridep",
            "cpu_offloading_num_layers": 1}),
        ),
        experts(
            json!({"moe_paged_stash": true, "moe_expert_rank_capacity_factor": 1.5, "moe_flex_dispatcher_backend": "hybridep",
            "offload_modules": ["moe_act"]}),
        ),
        dense(json!({"fp4_format": "e2m1", "fp8_format": "hybrid"})),
        dense(json!({"fp4_format": "e2m1", "gpu": "h100-80gb"})),
        dense(json!({"fp4_param_gather": true})),
        dense(json!({"fp8_dot_product_attention": true})),
        dense(json!({"attn_logit_softcapping": 50, "context_parallel_size": 2})),
        dense(json!({"attn_logit_softcapping": 50, "sft": true})),
        dense(json!({"num_labels": 2, "untie_embeddings_and_output_weights": false})),
        hybrid(json!({"num_labels": 2, "untie_embeddings_and_output_weights": true})),
        dense(json!({"num_labels": 2, "untie_embeddings_and_output_weights": true, "token_loss": "nemo_rl"})),
        dense(
            json!({"num_labels": 2, "untie_embeddings_and_output_weights": true, "pipeline_model_parallel_size": 2,
            "defer_embedding_wgrad_compute": true}),
        ),
        torch_fsdp2(json!({"num_labels": 2})),
        dense(json!({"fp8_output_proj": true})),
        dense(json!({"fp8_output_proj": true, "fp8_format": "hybrid", "gpu": "b200"})),
        dense(
            json!({"fp8_output_proj": true, "fp8_format": "hybrid", "fp8_recipe": "mxfp8", "gpu": "b200",
            "untie_embeddings_and_output_weights": false, "pipeline_model_parallel_size": 1, "world_size": 8}),
        ),
        dense(
            json!({"fp8_output_proj": true, "fp8_format": "hybrid", "fp8_recipe": "mxfp8", "gpu": "b200",
            "untie_embeddings_and_output_weights": true, "pipeline_model_parallel_size": 2,
            "defer_embedding_wgrad_compute": true}),
        ),
        dense(json!({"fp8_multi_head_attention": true, "fp8_format": "hybrid", "fp8_recipe": "tensorwise"})),
        dense(json!({"fp8_dot_product_attention": true, "fp8_format": "hybrid", "attention_backend": "flash"})),
        dense(
            json!({"fp8_dot_product_attention": true, "fp8_format": "hybrid", "fp8_recipe": "tensorwise", "gpu": "h100-80gb"}),
        ),
        dense(
            json!({"fp8_dot_product_attention": true, "fp8_format": "hybrid", "fp8_recipe": "mxfp8", "gpu": "b200", "sft": true}),
        ),
        dense(json!({"sft": true, "mean_sample_length": 10_000_000})),
        dense(json!({"sft": true, "transformer_impl": "local"})),
        dense(json!({"hybrid_context_parallel": true, "pipeline_model_parallel_size": 1})),
        dense(
            json!({"hybrid_context_parallel": true, "pipeline_model_parallel_size": 1, "max_seqlen_per_dp_cp_rank": 8}),
        ),
        dense(
            json!({"hybrid_context_parallel": true, "max_seqlen_per_dp_cp_rank": 100_000, "pipeline_model_parallel_size": 2}),
        ),
        dense(json!({"mla_down_proj_fusion": true})),
        dense(json!({"experimental_attention_variant": "dsa"})),
        sparse(json!({"dsa_indexer_n_heads": null})),
        sparse(json!({"dsa_indexer_head_dim": null})),
        sparse(json!({"dsa_indexer_topk": null})),
        sparse(json!({"dsa_indexer_head_dim": 16})),
        sparse(json!({"q_lora_rank": null, "qk_layernorm": true})),
        sparse(json!({"add_bias_linear": true})),
        sparse(json!({"bf16": false, "fp16": true})),
        sparse(json!({"tensor_model_parallel_size": 2, "sequence_parallel": false})),
        sparse(json!({"apply_rope_fusion": true})),
        sparse(json!({"apply_rope_fusion": null})),
        sparse(json!({"context_parallel_size": 2})),
        sparse(
            json!({"fp8_format": "hybrid", "fp8_recipe": "tensorwise", "recompute_granularity": "selective", "recompute_modules": "mla_up_proj"}),
        ),
        sparse(json!({"mtp_num_layers": 2, "dsa_indexer_topk_freq": 4})),
        sparse(json!({"dsa_indexer_topk_freq": 3})),
        sparse(json!({"mtp_num_layers": 1, "pipeline_model_parallel_layout": "Et*6|t*6|t*4|mL"})),
        dense(json!({"enable_mhc_connections": true})),
        dense(json!({"recompute_granularity": "selective", "recompute_modules": "mhc"})),
        streams(json!({"fp32_residual_connection": true, "bf16": true})),
        streams(json!({"recompute_granularity": "selective", "recompute_modules": "mhc,mlp"})),
        streams(
            json!({"recompute_granularity": "selective", "recompute_modules": "mhc", "fine_grained_activation_offloading": true,
            "offload_modules": "attn_norm"}),
        ),
        hybrid(json!({"enable_mhc_connections": true, "software_stack": "megatron_dev"})),
        streams(
            json!({"mtp_num_layers": 1, "pipeline_model_parallel_layout": "Et*6|t*6|t*4|mL", "position_embedding_type": "rope"}),
        ),
        compressed(json!({"software_stack": null})),
        compressed(json!({"multi_latent_attention": false})),
        compressed(json!({"csa_compress_ratios": null})),
        compressed(json!({"csa_compress_ratios": "[4,128]*2"})),
        compressed(json!({"csa_compress_ratios": "[4,12]*8"})),
        compressed(json!({"mtp_num_layers": 2, "csa_compress_ratios": "[4,128]*9"})),
        compressed(json!({"q_lora_rank": null})),
        compressed(json!({"v_head_dim": 32})),
        compressed(json!({"o_groups": 3})),
        compressed(json!({"dsa_indexer_topk": null})),
        compressed(json!({"dsa_indexer_n_heads": null})),
        compressed(json!({"dsa_indexer_head_dim": null})),
        compressed(json!({"tensor_model_parallel_size": 2})),
        compressed(json!({"context_parallel_size": 2})),
        compressed(json!({"context_parallel_size": 2, "sft": true})),
        compressed(json!({"transformer_impl": "local"})),
        compressed(json!({"dsa_kernel_backend": "tilelang"})),
        compressed(json!({"recompute_granularity": "selective", "recompute_modules": "core_attn"})),
        compressed(json!({"fine_grained_activation_offloading": true, "offload_modules": "qkv_linear"})),
        compressed(json!({"peft_type": "lora"})),
        compressed(
            json!({"mtp_num_layers": 1, "csa_compress_ratios": "[4,128]*8+[0]", "pipeline_model_parallel_layout": "Et*6|t*6|t*4|mL"}),
        ),
        hybrid(json!({"experimental_attention_variant": "dsv4_hybrid", "software_stack": "megatron_dev"})),
        hashed(json!({"software_stack": null})),
        hashed(json!({"moe_n_hash_layers": 100})),
        hashed(json!({"overlap_moe_expert_parallel_comm": true})),
        hashed(json!({"pipeline_model_parallel_size": 2, "pipeline_model_parallel_layout": null})),
        hashed(json!({"pipeline_model_parallel_size": 2, "pipeline_model_parallel_layout": "Et|t*15L"})),
        dense(json!({"swiglu": true, "squared_relu": true})),
        dense(json!({"padded_vocab_size": 50000})),
        dense(json!({"padded_vocab_size": 50259})),
        dense(json!({"max_position_embeddings": 1024})),
        dense(json!({"max_position_embeddings": 1024, "position_embedding_type": "rope"})),
        (
            with(super::dense(), linear.clone()),
            json!({"linear_num_key_heads": 3, "tensor_model_parallel_size": 1, "sequence_parallel": false}),
        ),
        (
            with(super::dense(), linear.clone()),
            json!({"linear_num_key_heads": 1, "linear_num_value_heads": 1}),
        ),
        (
            with(super::dense(), linear.clone()),
            json!({"linear_num_key_heads": 2, "linear_num_value_heads": 8, "context_parallel_size": 4}),
        ),
        (
            with(super::dense(), linear.clone()),
            json!({"mtp_num_layers": 1, "linear_attention_freq": 3, "position_embedding_type": "rope"}),
        ),
        (
            with(super::dense(), linear.clone()),
            json!({"fp8_format": "hybrid", "linear_key_head_dim": 65}),
        ),
        (with(super::dense(), linear), json!({"linear_attention_freq": [1, 0]})),
        dense(
            json!({"num_attention_heads": 64, "kv_channels": 9, "group_query_attention": true, "num_query_groups": 1,
            "tensor_model_parallel_size": 4, "world_size": 64}),
        ),
        hybrid(json!({"hybrid_layer_pattern": "M-Mx*"})),
        hybrid(json!({"hybrid_layer_pattern": "M-M*/*-|*-"})),
        hybrid(json!({"hybrid_layer_pattern": "M-M*/*-/*"})),
        hybrid(json!({"hybrid_layer_pattern": "M-M*+"})),
        hybrid(json!({"hybrid_layer_pattern": "/*-"})),
        hybrid(json!({"hybrid_layer_pattern": "'M-' *"})),
        hybrid(json!({"hybrid_layer_pattern": "MEM*"})),
        hybrid(json!({"spec": "gated_delta_product_stack_spec", "hybrid_layer_pattern": "M-+-", "kv_lora_rank": 64})),
        hybrid(json!({"spec": "gated_delta_product_stack_spec", "mamba_num_heads": null})),
        hybrid(json!({"recompute_granularity": "selective", "recompute_modules": "gdn_norm_out"})),
        hybrid(
            json!({"spec": "gated_delta_product_stack_spec", "recompute_granularity": "selective", "recompute_modules": "gdp_in_proj",
            "fine_grained_activation_offloading": true, "offload_modules": "gdp_qkv"}),
        ),
        hybrid(json!({"num_layers": 12})),
        hybrid(json!({"mtp_num_layers": 2})),
        hybrid(json!({"hybrid_layer_pattern": "M-M*/*-/*-", "mtp_num_layers": 1})),
        hybrid(json!({"transformer_impl": "local"})),
        hybrid(json!({"mamba_num_heads": null, "mamba_head_dim": 48})),
        hybrid(json!({"mamba_num_heads": 6, "mamba_num_groups": 2, "tensor_model_parallel_size": 4})),
        hybrid(json!({"mamba_num_groups": 2, "tensor_model_parallel_size": 4})),
        hybrid(json!({"mamba_num_groups": 5})),
        hybrid(json!({"mamba_num_heads": 4, "context_parallel_size": 8})),
        hybrid(json!({"mamba_num_heads": 48, "mamba_num_groups": 6, "context_parallel_size": 4})),
        hybrid(json!({"mamba_num_heads": 36, "fp8_format": "hybrid"})),
        hybrid(json!({"hybrid_layer_pattern": "M-|M*|M-", "pipeline_model_parallel_size": 2})),
        hybrid(json!({"pipeline_model_parallel_size": 2, "virtual_pipeline_model_parallel_size": 2})),
        hybrid(
            json!({"hybrid_layer_pattern": "M-|M*", "pipeline_model_parallel_size": 2, "decoder_first_pipeline_num_layers": 1}),
        ),
        hybrid(
            json!({"hybrid_layer_pattern": "M-|M*", "pipeline_model_parallel_size": 2, "num_virtual_stages_per_pipeline_rank": 2}),
        ),
        dense(json!({"moe_ffn_hidden_size": 512})),
        dense(json!({"moe_latent_size": 512})),
        experts(json!({"moe_ffn_hidden_size": 513, "expert_tensor_parallel_size": 2, "expert_model_parallel_size": 2})),
        (with(moe(), shared.clone()), json!({"add_bias_linear": true})),
        experts(json!({"moe_shared_expert_intermediate_size": 513})),
        experts(json!({"moe_shared_expert_intermediate_size": 0})),
        (
            with(moe(), shared.clone()),
            json!({"moe_shared_expert_overlap": true, "moe_token_dispatcher_type": "allgather"}),
        ),
        experts(json!({"moe_pad_expert_input_to_capacity": true})),
        dense(json!({"data_parallel_size": 3})),
        dense(json!({"seq_length": 4095})),
        dense(json!({"tensor_model_parallel_size": 1})),
        dense(
            json!({"virtual_pipeline_model_parallel_size": 2, "microbatch_group_size_per_virtual_pipeline_stage": 2}),
        ),
        dense(json!({"virtual_pipeline_model_parallel_size": 2, "global_batch_size": 8})),
        dense(json!({"virtual_pipeline_model_parallel_size": 2, "global_batch_size": 68})),
        dense(json!({"virtual_pipeline_model_parallel_size": 2, "num_layers_per_virtual_pipeline_stage": 1})),
        dense(json!({"num_virtual_stages_per_pipeline_rank": 2, "num_layers_per_virtual_pipeline_stage": 1})),
        dense(json!({"decoder_first_pipeline_num_layers": 3})),
        dense(json!({"decoder_first_pipeline_num_layers": 3, "account_for_loss_in_pipeline_split": true})),
        dense(json!({"recompute_granularity": "full", "recompute_method": "uniform"})),
        dense(json!({"recompute_granularity": "selective", "recompute_method": "uniform"})),
        dense(json!({"distribute_saved_activations": true})),
        dense(json!({"recompute_granularity": "selective", "recompute_modules": "mla_up_proj"})),
        (
            with(moe(), shared),
            json!({"recompute_granularity": "selective", "recompute_modules": "shared_experts", "moe_shared_expert_overlap": true}),
        ),
        dense(json!({"fp8_format": "hybrid", "recompute_granularity": "selective", "recompute_modules": "layernorm"})),
        dense(json!({"cpu_offloading_num_layers": 2})),
        dense(
            json!({"fine_grained_activation_offloading": true, "offload_modules": "core_attn", "transformer_impl": "local"}),
        ),
        dense(json!({"fine_grained_activation_offloading": true})),
        dense(json!({"fine_grained_activation_offloading": true, "offload_modules": "attn_proj"})),
        dense(
            json!({"use_precision_aware_optimizer": true, "main_grads_dtype": "bf16", "accumulate_allreduce_grads_in_fp32": true}),
        ),
        dense(json!({"use_precision_aware_optimizer": true, "optimizer": "sgd"})),
        dense(json!({"use_precision_aware_optimizer": true, "use_distributed_optimizer": false})),
        dense(json!({"optimizer_cpu_offload": true})),
        dense(json!({"offload_optimizer_states": true, "use_distributed_optimizer": false})),
        dense(json!({"offload_optimizer_states": true, "use_distributed_optimizer": true, "optimizer": "lion"})),
        dense(
            json!({"offload_optimizer_states": true, "use_distributed_optimizer": true, "optimizer_cpu_offload": true,
            "use_precision_aware_optimizer": true}),
        ),
        dense(json!({"num_distributed_optimizer_instances": 3})),
        dense(json!({"use_megatron_fsdp": true, "pipeline_model_parallel_size": 2})),
        fsdp(json!({"optimizer": "lion"})),
        fsdp(json!({"outer_dp_sharding_strategy": "optim"})),
        fsdp(
            json!({"outer_dp_sharding_strategy": "optim", "num_distributed_optimizer_instances": 2,
            "data_parallel_sharding_strategy": "optim_grads"}),
        ),
        fsdp(json!({"init_model_with_meta_device": true, "data_parallel_sharding_strategy": "no_shard"})),
        fsdp(
            json!({"fp8_format": "e4m3", "fp8_recipe": "mxfp8", "fp8_param_gather": true, "gpu": "b200", "bf16": true,
            "megatron_fsdp_main_params_dtype": "auto"}),
        ),
        fsdp(json!({"use_nccl_ub": true, "expandable_segments": true})),
        experts(
            json!({"use_megatron_fsdp": true, "pipeline_model_parallel_size": 1, "virtual_pipeline_model_parallel_size": null,
            "bf16": true, "moe_token_dispatcher_type": "alltoall", "overlap_moe_expert_parallel_comm": true, "use_nccl_ub": true}),
        ),
        experts(
            json!({"use_megatron_fsdp": true, "pipeline_model_parallel_size": 1, "virtual_pipeline_model_parallel_size": null,
            "bf16": true, "moe_token_dispatcher_type": "alltoall", "overlap_moe_expert_parallel_comm": true,
            "cuda_graph_impl": "transformer_engine"}),
        ),
        experts(json!({"cuda_graph_impl": "local", "cuda_graph_modules": "mlp", "moe_layer_freq": 2})),
        dense(
            json!({"cuda_graph_impl": "transformer_engine", "recompute_granularity": "selective", "recompute_modules": "core_attn",
            "attention_dropout": 0}),
        ),
        experts(json!({"delay_wgrad_compute": true})),
        experts(json!({"delay_wgrad_compute": true, "transformer_impl": "local"})),
        delayed(json!({"gradient_accumulation_fusion": false, "cuda_graph_modules": "attn"})),
        delayed(json!({"add_bias_linear": true, "cuda_graph_modules": "attn"})),
        torch_fsdp2(json!({"pipeline_model_parallel_size": 2})),
        torch_fsdp2(json!({"use_distributed_optimizer": true})),
        torch_fsdp2(json!({"optimizer": "lion"})),
        torch_fsdp2(json!({"use_megatron_fsdp": true})),
        torch_fsdp2(json!({"gradient_accumulation_fusion": true})),
        torch_fsdp2(json!({"untie_embeddings_and_output_weights": false})),
        torch_fsdp2(json!({"bf16": false, "fp16": true})),
        experts(
            json!({"use_torch_fsdp2": true, "use_distributed_optimizer": false, "gradient_accumulation_fusion": false,
            "untie_embeddings_and_output_weights": true, "pipeline_model_parallel_size": 1,
            "virtual_pipeline_model_parallel_size": null, "expert_model_parallel_size": 2}),
        ),
        experts(json!({"num_distributed_optimizer_instances": 4})),
        dense(json!({"overlap_param_gather": true})),
        dense(json!({"cuda_graph_impl": "full_iteration", "cuda_graph_modules": "attn"})),
        experts(json!({"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": "moe_preprocess"})),
        dense(json!({"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": "moe_router"})),
        experts(json!({"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": "moe"})),
        dense(
            json!({"cuda_graph_impl": "transformer_engine", "recompute_granularity": "full", "recompute_method": "uniform",
            "recompute_num_layers": 1}),
        ),
        experts(
            json!({"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": "moe_router",
            "recompute_granularity": "selective", "recompute_modules": "moe"}),
        ),
        dense(
            json!({"cuda_graph_impl": "local", "recompute_granularity": "selective", "recompute_modules": "core_attn",
            "attention_dropout": 0.1}),
        ),
        dense(json!({"gpu": "h100-80gb", "gpu_generation": "ampere"})),
        dense(json!({"gpu": "A100"})),
        dense(json!({"step_time_calibration": "twice as long"})),
        dense(json!({"gpu": "b200", "step_time_calibration":
            "gpu=h100-80gb precision=bf16 model=32x4096 compute=1.1 host=1 network=2 within=9 runs=1"})),
        experts(json!({"gpu": "v100-32gb", "moe_grouped_gemm": true})),
        dense(json!({"gpu": "l40s", "fp8_format": "hybrid", "fp8_recipe": "blockwise"})),
        dense(json!({"gpu": "l40s", "fp8_format": "hybrid", "fp8_recipe": "mxfp8"})),
        dense(json!({"num_layers": null})),
        dense(json!({"vocab_size": null})),
    ]
}

/// Wrong changes of one module of a job of several.
fn module_cases() -> Vec<RawJob> {
    let changes = [
        ("img_h", 337),
        ("projector_output_size", 5),
        ("projector_hidden_size", 4097),
        ("micro_batch_size", 7),
        ("seq_length", 7),
        ("pipeline_model_parallel_size", 2),
        ("data_parallel_size", 3),
    ];
    let change = |(name, value): (&str, i128)| {
        let mut job = decode("#v1;m=llava-7b@1").0.setup.job;
        let images = job.modules.iter().position(|module| module.name != "language");
        job.put(images.unwrap(), FieldId::by_name(name).unwrap(), Value::Int(value));
        job
    };
    changes.map(change).into()
}

fn jobs() -> Vec<RawJob> {
    let cases = cases().into_iter().map(|(job, change, ..)| (job, change));
    let megatron = megatron::cases().into_iter().map(|(job, change, _)| (job, change));
    let plain = cases.chain(more_cases()).chain(megatron).map(|(job, change)| {
        let value: Value = serde_json::from_value(with(job, change)).unwrap();
        RawJob::from_value(&value)
    });
    plain.chain(module_cases()).collect()
}

/// Whether a problem is still there.
fn is_left(problem: &Problem, job: &RawJob) -> bool {
    let same = |p: &&Problem| p.rule == problem.rule && p.fields == problem.fields && p.module == problem.module;
    check(job).problems.iter().any(|p| same(&p))
}

#[test]
fn every_problem_has_a_way_out_and_every_way_out_is_one() {
    let mut ways = 0;
    for job in jobs() {
        for problem in check(&job).problems {
            for fix in &problem.fixes {
                let mut mended = job.clone();
                mended.put(problem.module, fix.field, fix.value.clone());
                assert!(
                    !is_left(&problem, &mended),
                    "{fix:?} leaves {}: {problem}",
                    problem.rule
                );
                ways += 1;
            }
            if let Some(repair) = &problem.repair {
                let mut mended = job.clone();
                mended.repair(repair);
                assert!(
                    !is_left(&problem, &mended),
                    "{repair:?} leaves {}: {problem}",
                    problem.rule
                );
                ways += 1;
            }
            let hopeless = NO_WAY_OUT.iter().any(|(rule, _)| *rule == problem.rule);
            let has = !problem.fixes.is_empty() || problem.repair.is_some();
            assert!(has != hopeless, "{} has {:?}: {problem}", problem.rule, problem.fixes);
        }
    }
    assert!(ways > 100, "{ways}");
}

/// No rule is left out of the test above.
#[test]
fn every_rule_is_broken_by_some_case() {
    let met: BTreeSet<&str> = jobs()
        .iter()
        .flat_map(|job| check(job).problems)
        .map(|p| p.rule)
        .collect();
    let mut known = 0;
    for name in rule_names() {
        assert!(met.contains(name), "no case breaks {name}");
        known += 1;
    }
    assert!(known > 100, "{known}");
}

#[test]
fn a_job_on_too_few_gpus_can_have_smaller_sizes_too() {
    let job = decode("#v1;m=qwen3-235b-a22b@2;gpus=64").0.setup.job;
    let checked = check(&job);
    assert!(checked.config.is_none());
    let mut fixes = checked.errors().flat_map(|problem| &problem.fixes);
    let first: Vec<(&str, Value)> = fixes
        .by_ref()
        .map(|fix| (fix.field.field().name, fix.value.clone()))
        .collect();
    for (field, value) in [
        ("world_size", 128),
        ("tensor_model_parallel_size", 2),
        ("pipeline_model_parallel_size", 8),
        ("context_parallel_size", 1),
    ] {
        let wanted = (field, Value::Int(value));
        assert!(first.contains(&wanted), "{wanted:?} is not in {first:?}");
    }
}

#[test]
fn a_value_that_a_field_cannot_take_comes_with_one_that_it_can() {
    for (link, field, value) in [
        ("#v1;m=llama3-8b@2;tp=abc", "tensor_model_parallel_size", Value::Null),
        (
            "#v1;m=llama3-8b@2;rc=selectiv",
            "recompute_granularity",
            Value::Text("selective".to_owned()),
        ),
        ("#v1;m=llama3-8b@2;bf16=maybe", "bf16", Value::Bool(true)),
        // As many as one copy of the model, and the grid of its experts, take.
        ("#v1;m=llama3-8b@2;gpus=0", "world_size", Value::Int(2)),
        ("#v1;m=deepseek-v3@2;gpus=0", "world_size", Value::Int(1024)),
        ("#v1;m=deepseek-v3@2;gpus=many", "world_size", Value::Int(1024)),
    ] {
        let checked = check(&decode(link).0.setup.job);
        let mut fixes = checked.errors().flat_map(|problem| &problem.fixes);
        let fits = fixes.any(|fix| fix.field.field().name == field && fix.value == value);
        assert!(fits, "{link}: {:?}", checked.problems);
    }
}

/// A message about the number of GPUs names those that the fixes set, and with each of them the rule is kept that the
/// copies of the model and its experts ask for.
#[test]
fn numbers_of_gpus_that_a_message_names_would_work() {
    for (link, works) in [
        ("#v1;m=deepseek-v3@2;gpus=1000", &[1024][..]),
        ("#v1;m=deepseek-v3@2;gpus=1500", &[1024, 2048]),
        ("#v1;m=deepseek-v3@2;gpus=8", &[1024]),
    ] {
        let job = decode(link).0.setup.job;
        let checked = check(&job);
        let problem = checked.errors().find(|problem| problem.rule.starts_with("world_"));
        let problem = problem.unwrap_or_else(|| panic!("{link}: {:?}", checked.problems));
        let fixes = problem.fixes.iter().filter(|fix| fix.field == FieldId::world_size);
        let offered: Vec<Value> = fixes.map(|fix| fix.value.clone()).collect();
        let expected: Vec<Value> = works.iter().map(|gpus| Value::Int(*gpus)).collect();
        assert_eq!(offered, expected, "{problem}");
        if let Some((_, named)) = problem.message.split_once("; ") {
            let words: Vec<String> = works.iter().map(i128::to_string).collect();
            assert_eq!(named, format!("{} GPUs would work", words.join(" or ")));
        }
        for gpus in works {
            let mut mended = job.clone();
            mended.put(0, FieldId::world_size, Value::Int(*gpus));
            let left = check(&mended).problems;
            assert!(left.iter().all(|p| !p.is_error()), "{gpus}: {left:?}");
        }
    }
}
