//! ROLL's policies that train with Megatron-Core by its own adapter.

use super::Layout;
use crate::formats::detect::Format;
use crate::formats::dialects::meaning::KeyMeaning::{self, Field, Irrelevant, Rule};
use crate::formats::dialects::meaning::{KeyRule, look_up};
use crate::formats::dialects::{Dialect, bridge};

/// `strategy_config` has arguments of the adapter (`mcore_adapter/training_args.py`), most of them fields of
/// Megatron-Core's `TransformerConfig`.
pub(super) const LAYOUT: Layout = Layout {
    format: Format::RollYaml,
    dialect: Dialect::Roll,
    keys: &[
        ("prompt_length", "prompt"),
        ("response_length", "response"),
        ("sequence_length", "model.seq_length"),
        ("is_offload_optimizer_states_in_train_step", "offloaded_states"),
    ],
    places: &[
        ("actor_train.strategy_args.strategy_config.", "model."),
        ("student.strategy_args.strategy_config.", "model."),
        ("actor_train.", "worker."),
        ("student.", "worker."),
    ],
    ignored: &[
        "action_pattern",
        "actor_infer",
        "actor_train.data_args",
        "actor_train.generating_args",
        "add_token_level_kl",
        "adv_estimator",
        "advantage_clip",
        "agent_",
        "all_response_pattern",
        "answer_key",
        "async_generation_ratio",
        "batch_adjust_mode",
        "beta",
        "checkpoint_config",
        "code_agent",
        "critic",
        "custom_env",
        "default_history_length",
        "difficulty_",
        "distill_",
        "dual_clip_loss",
        "enable_old_logprobs_recompute",
        "entropy_loss_coef",
        "env_manager_cls",
        "episode_reward_weight",
        "error_max_len_clip",
        "eval_steps",
        "exp_name",
        "format_penalty",
        "gamma",
        "global_template",
        "hydra",
        "importance_sampling",
        "init_kl_coef",
        "is_num_return_sequences_expand",
        "is_offload_states",
        "kd_objective",
        "kl_",
        "lambd",
        "length_loss_weight",
        "logging_",
        "logits_",
        "loss_agg_mode",
        "max_actions_per_traj",
        "max_grad_norm",
        "max_len_mask",
        "max_steps",
        "max_tokens_per_step",
        "model_download_type",
        "model_name",
        "norm_",
        "num_gpus_per_node",
        "num_nodes",
        "num_return_sequences_in_group",
        "offload_nccl",
        "output_dir",
        "pg_",
        "positive_loss_coef",
        "ppo_epochs",
        "profiler_",
        "query",
        "question_key",
        "reference",
        "render_save_dir",
        "response_key",
        "resume_from_checkpoint",
        "reward",
        "rl_loss_coef",
        "rollout_",
        "rpc_timeout",
        "save_steps",
        "seed",
        "step_reward",
        "student.data_args",
        "system_envs",
        "tag_to_template",
        "target_kl",
        "teacher",
        "track_with",
        "tracker_kwargs",
        "train_env_manager",
        "train_infer_correction",
        "use_kl_loss",
        "use_topr_neg_loss_coef",
        "val_",
        "validation",
        "value_clip",
        "whiten_",
    ],
    refused: &[],
    model: "",
};

/// Keys of a worker, and arguments that are not called like those of Megatron-Bridge.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("prompt", Rule(KeyRule::PromptLength)),
    ("response", Rule(KeyRule::ResponseLength)),
    (
        "offloaded_states",
        KeyMeaning::more("optimizer states are on the host during the passes"),
    ),
    ("worker.model_args.dtype", Rule(KeyRule::Dtype)),
    ("worker.model_args.attn_implementation", Irrelevant),
    ("worker.model_args.flash_attn", Irrelevant),
    ("worker.model_args.model_type", Irrelevant),
    // Megatron's own recomputation decides.
    ("worker.model_args.disable_gradient_checkpointing", Irrelevant),
    (
        "worker.model_args.freeze_module_prefix",
        KeyMeaning::more("frozen parameters need no gradients and no optimizer states"),
    ),
    ("worker.model_args.lora_target", KeyMeaning::more("adapters of ROLL")),
    ("worker.model_args.lora_rank", Irrelevant),
    ("worker.model_args.lora_alpha", Irrelevant),
    (
        "worker.training_args.per_device_train_batch_size",
        Field("micro_batch_size"),
    ),
    ("worker.training_args.learning_rate", Irrelevant),
    ("worker.training_args.lr_scheduler_type", Irrelevant),
    ("worker.training_args.max_grad_norm", Irrelevant),
    ("worker.training_args.num_train_epochs", Irrelevant),
    ("worker.training_args.warmup_ratio", Irrelevant),
    ("worker.training_args.warmup_steps", Irrelevant),
    ("worker.training_args.weight_decay", Irrelevant),
    ("worker.infer_batch_size", Irrelevant),
    ("worker.pg_variant", Irrelevant),
    ("worker.system_envs", Irrelevant),
    ("worker.worker_cls", Irrelevant),
    ("worker.offload_nccl", Irrelevant),
    ("worker.strategy_args.strategy_name", Irrelevant),
    (
        "worker.use_sequence_packing",
        KeyMeaning::nothing("at most as many tokens as the samples of a micro batch have"),
    ),
    ("worker.use_dynamic_batching_in_train", Rule(KeyRule::DynamicBatch)),
    ("worker.max_tokens_per_microbatch_in_train", Rule(KeyRule::TokensPerGpu)),
    ("worker.sequence_length_round_in_train", Irrelevant),
    ("worker.use_dynamic_batching_in_infer", Irrelevant),
    ("worker.max_tokens_per_microbatch_in_infer", Irrelevant),
    ("worker.sequence_length_round_in_infer", Irrelevant),
    ("model.use_distributed_optimizer", Field("use_distributed_optimizer")),
    ("model.distrib_optim_fully_reshardable", Irrelevant),
    ("model.overlap_grad_reduce", Field("overlap_grad_reduce")),
    // As in Megatron-LM, `bf16` alone turns it on.
    (
        "model.accumulate_allreduce_grads_in_fp32",
        Field("accumulate_allreduce_grads_in_fp32"),
    ),
    ("model.bias_activation_fusion", Field("bias_swiglu_fusion")),
    ("model.moe_layer_recompute", Field("moe_layer_recompute")),
    ("model.variable_seq_lengths", Irrelevant),
    ("model.mtp_training_mode", Irrelevant),
    ("model.optimization_level", Irrelevant),
];

/// Defaults of ROLL's adapter of Megatron-Core and of Megatron-Core's classes that differ from those of Megatron-LM's
/// command line.
pub(in crate::formats::dialects) const DEFAULTS: &[(&str, &str)] = &[
    ("bf16", "True"),
    ("create_attention_mask_in_dataloader", "False"),
    ("data_parallel_sharding_strategy", "no_shard"),
    ("optimizer_offload_fraction", "0.0"),
    ("bias_swiglu_fusion", "False"),
];

/// The meaning of a key, once the beginning of its path has been replaced as the layout's `places` say.
pub(in crate::formats::dialects) fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key).or_else(|| {
        let argument = key.starts_with("model.");
        argument.then(|| bridge::find(key)).flatten()
    })
}
