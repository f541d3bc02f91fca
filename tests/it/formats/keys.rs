//! The key tables of Megatron-Bridge, verl, ms-swift and slime.

use megatron_memory::config::fields::FieldId;
use megatron_memory::config::not_modelled::MemoryEffect;
use megatron_memory::formats::dialects::meaning::KeyMeaning;
use megatron_memory::formats::dialects::{bridge, slime, swift, verl};
use megatron_memory::formats::megatron_args::default_of;

/// Fields that Megatron-Bridge's own translation keeps under their names, by section.
const SAME: &[(&str, &str)] = &[
    (
        "model",
        "num_layers hidden_size ffn_hidden_size num_attention_heads num_query_groups \
     kv_channels max_position_embeddings position_embedding_type normalization \
     make_vocab_size_divisible_by window_size attention_backend attention_softmax_in_fp32 \
     fp16_lm_cross_entropy calculate_per_token_loss add_qkv_bias qk_layernorm \
     sequence_parallel account_for_embedding_in_pipeline_split \
     account_for_loss_in_pipeline_split cross_entropy_loss_fusion \
     cross_entropy_fusion_impl hybrid_layer_pattern mamba_state_dim mamba_head_dim \
     mamba_num_groups mamba_num_heads multi_latent_attention q_lora_rank kv_lora_rank \
     qk_head_dim qk_pos_emb_head_dim v_head_dim moe_layer_freq moe_ffn_hidden_size \
     moe_shared_expert_intermediate_size moe_router_topk moe_router_load_balancing_type \
     moe_router_group_topk moe_router_num_groups moe_router_score_function \
     moe_router_enable_expert_bias moe_router_dtype moe_grouped_gemm \
     moe_token_dispatcher_type moe_permute_fusion moe_router_fusion mtp_num_layers \
     mtp_use_repeated_layer mtp_hybrid_override_pattern tensor_model_parallel_size \
     pipeline_model_parallel_size pipeline_model_parallel_layout context_parallel_size \
     expert_model_parallel_size expert_tensor_parallel_size attention_dropout \
     hidden_dropout recompute_granularity recompute_method recompute_num_layers \
     cuda_graph_impl cuda_graph_warmup_steps microbatch_group_size_per_vp_stage",
    ),
    (
        "ddp",
        "use_distributed_optimizer overlap_grad_reduce overlap_param_gather",
    ),
    ("train", "micro_batch_size global_batch_size"),
    (
        "mixed_precision",
        "fp8 fp8_recipe fp8_amax_history_len fp8_param_gather",
    ),
];

#[test]
fn bridge_keys_agree_with_its_own_translation() {
    for (section, names) in SAME {
        for name in names.split_whitespace() {
            let key = format!("{section}.{name}");
            let field = match bridge::find(&key) {
                Some(KeyMeaning::Field(field)) => field,
                // The presence of the number is the switch.
                Some(KeyMeaning::Role(role)) if role.name == "num_query_groups" => {
                    continue;
                }
                // Read together with the keys around it.
                Some(KeyMeaning::Role(role)) if role.name == name => name,
                other => panic!("{key}: {other:?}"),
            };
            assert_eq!(field, name, "{key}");
            assert_eq!(bridge::key_of(field), Some((key, false)));
        }
    }
}

#[test]
fn bridge_keys_with_other_names() {
    for (key, expected) in [
        ("model.num_moe_experts", Some(KeyMeaning::Field("num_experts"))),
        ("tokenizer.vocab_size", Some(KeyMeaning::Field("vocab_size"))),
        ("dataset.seq_length", Some(KeyMeaning::Field("seq_length"))),
        ("model.add_bias_linear", Some(KeyMeaning::Field("add_bias_linear"))),
        (
            "model.share_embeddings_and_output_weights",
            Some(KeyMeaning::Opposite("untie_embeddings_and_output_weights")),
        ),
        (
            "model.num_layers_in_first_pipeline_stage",
            Some(KeyMeaning::Field("decoder_first_pipeline_num_layers")),
        ),
        ("mixed_precision.fp8", Some(KeyMeaning::Field("fp8"))),
        ("optimizer.exp_avg_dtype", Some(KeyMeaning::Field("exp_avg_dtype"))),
        ("optimizer.lr", Some(KeyMeaning::Irrelevant)),
        ("scheduler.lr_warmup_iters", Some(KeyMeaning::Irrelevant)),
        ("checkpoint.save", Some(KeyMeaning::Irrelevant)),
        ("model.nonsense", None),
        ("nonsense.num_layers", None),
        ("nonsense", None),
    ] {
        assert_eq!(bridge::find(key), expected, "{key}");
    }
    assert_eq!(
        bridge::key_of("untie_embeddings_and_output_weights"),
        Some(("model.share_embeddings_and_output_weights".to_owned(), true))
    );
    assert_eq!(bridge::key_of("nonsense"), None);
}

#[test]
fn precision_presets_have_their_fields() {
    let preset = |name: &str| bridge::precision::by_name(name).map(|preset| preset.fields().collect::<Vec<_>>());
    assert_eq!(
        preset("bf16-mixed"),
        Some(vec![("bf16", "True"), ("accumulate_allreduce_grads_in_fp32", "True")])
    );
    assert!(
        preset("bf16_with_mxfp8_mixed")
            .unwrap()
            .contains(&("fp8_recipe", "mxfp8"))
    );
    assert!(
        preset("bf16_with_fp8_subchannel_scaling_mixed")
            .unwrap()
            .iter()
            .all(|(field, _)| *field != "fp8_param_gather")
    );
    assert_eq!(preset("16-mixed"), preset("fp16_mixed"));
    assert_eq!(preset("fp64"), None);
    for preset in bridge::precision::PRESETS {
        for (field, _) in preset.fields() {
            assert!(default_of(field).is_some(), "{}: {field}", preset.name);
        }
    }
}

#[test]
fn defaults_are_of_known_fields_and_differ_from_the_command_line() {
    let tables = [
        bridge::DEFAULTS,
        bridge::CLASS_DEFAULTS,
        bridge::FUSIONS,
        verl::DEFAULTS,
        swift::DEFAULTS,
        slime::DEFAULTS,
    ];
    for (field, value) in tables.into_iter().flatten() {
        let Some(other) = default_of(field) else {
            // A field that Megatron-LM's command line does not have.
            assert!(FieldId::by_name(field).is_some(), "{field}");
            continue;
        };
        // Whether gradients are summed in fp32 is decided by more than this field.
        assert!(
            other != *value || *field == "accumulate_allreduce_grads_in_fp32",
            "{field}"
        );
    }
}

#[test]
fn verl_keys_are_found_under_the_actor() {
    for (key, expected) in [
        (
            "actor_rollout_ref.actor.megatron.tensor_model_parallel_size",
            Some(KeyMeaning::Field("tensor_model_parallel_size")),
        ),
        (
            "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity",
            Some(KeyMeaning::Field("recompute_granularity")),
        ),
        (
            "actor_rollout_ref.actor.megatron.override_transformer_config.num_layers_in_first_pipeline_stage",
            Some(KeyMeaning::Field("decoder_first_pipeline_num_layers")),
        ),
        (
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
            Some(KeyMeaning::Field("micro_batch_size")),
        ),
        (
            "actor_rollout_ref.ref.megatron.tensor_model_parallel_size",
            Some(KeyMeaning::NotModelled {
                effect: MemoryEffect::Nothing,
                reason: "reference, reward and value models are not of the training of the actor",
            }),
        ),
        ("algorithm.adv_estimator", Some(KeyMeaning::Irrelevant)),
        ("trainer.save_freq", Some(KeyMeaning::Irrelevant)),
        // A misspelled one beside keys that matter.
        ("trainer.nnode", None),
        ("data.max_prompt_len", None),
        ("actor_rollout_ref.actor.ppo_minibatch_size", None),
        (
            "actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction",
            Some(KeyMeaning::Field("optimizer_offload_fraction")),
        ),
        ("actor_rollout_ref.actor.optim.lr", Some(KeyMeaning::Irrelevant)),
    ] {
        assert_eq!(verl::find(key), expected, "{key}");
    }
}

#[test]
fn swift_arguments_and_slime_flags() {
    for (name, expected) in [
        (
            "tensor_model_parallel_size",
            Some(KeyMeaning::Field("tensor_model_parallel_size")),
        ),
        ("max_length", Some(KeyMeaning::Field("seq_length"))),
        ("fp8_format", Some(KeyMeaning::Field("fp8"))),
        ("lr", Some(KeyMeaning::Irrelevant)),
        ("num_train_epochs", Some(KeyMeaning::Irrelevant)),
        ("no_such_thing", None),
    ] {
        assert_eq!(swift::find(name), expected, "{name}");
    }
    for (name, expected) in [
        ("sglang-mem-fraction-static", Some(KeyMeaning::Irrelevant)),
        // Megatron-LM's own flags are looked up in Megatron-LM's table.
        ("tensor-model-parallel-size", None),
    ] {
        assert_eq!(slime::find(name), expected, "{name}");
    }
}

/// What a key is for the functions that read it, by the front end.
#[test]
fn keys_have_roles_in_derivations() {
    type Find = fn(&str) -> Option<KeyMeaning>;
    let all: [(Find, &[(&str, &str)]); 4] = [
        (
            bridge::find,
            &[
                ("model.vocab_size", "vocabulary"),
                ("model.virtual_pipeline_model_parallel_size", "virtual_stages"),
                ("mixed_precision", "precision_preset"),
                ("peft.dim", "adapters"),
            ],
        ),
        (
            verl::find,
            &[
                (
                    "actor_rollout_ref.actor.megatron.override_ddp_config.grad_reduce_in_fp32",
                    "gradients",
                ),
                ("data.max_prompt_length", "prompt_length"),
                ("trainer.nnodes", "nodes"),
            ],
        ),
        (swift::find, &[("model", "hf_model")]),
        (
            slime::find,
            &[("actor-num-nodes", "nodes"), ("max_tokens_per_gpu", "tokens_per_gpu")],
        ),
    ];
    for (find, keys) in all {
        for (key, expected) in keys {
            let Some(KeyMeaning::Role(role)) = find(key) else {
                panic!("{key}");
            };
            assert_eq!(role.name, *expected, "{key}");
        }
    }
}
