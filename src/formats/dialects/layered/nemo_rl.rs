//! NeMo-RL's policies with Megatron-Bridge.

use super::Layout;
use crate::formats::detect::Format;
use crate::formats::dialects::meaning::KeyMeaning::{self, Field, Irrelevant};
use crate::formats::dialects::meaning::look_up;
use crate::formats::dialects::{Dialect, bridge};

/// NeMo-RL trains with Megatron-Bridge; `nemo_rl/models/megatron/setup.py` says what becomes of the keys.
pub(super) const LAYOUT: Layout = Layout {
    format: Format::NemoRlYaml,
    dialect: Dialect::NemoRl,
    keys: &[
        ("policy.train_global_batch_size", "train.global_batch_size"),
        ("policy.train_micro_batch_size", "train.micro_batch_size"),
        ("policy.max_total_sequence_length", "model.seq_length"),
        ("policy.precision", "model.params_dtype"),
        (
            "policy.megatron_cfg.empty_unused_memory_level",
            "train.empty_unused_memory_level",
        ),
        ("policy.megatron_cfg.defer_fp32_logits", "defer_fp32_logits"),
        ("policy.megatron_cfg.use_fused_linear_logprobs", "logits"),
        ("policy.megatron_cfg.use_linear_ce_fusion_loss", "logits"),
        ("policy.logprob_chunk_size", "logprob_chunk_size"),
        ("policy.megatron_cfg.freeze_moe_router", "frozen_router"),
        ("policy.draft.enabled", "draft_model"),
        ("policy.router_replay.enabled", "router_replay"),
    ],
    places: &[
        ("policy.megatron_cfg.optimizer.", "optimizer."),
        ("policy.megatron_cfg.distributed_data_parallel_config.", "ddp."),
        ("policy.megatron_cfg.model_overrides.", "model."),
        ("policy.megatron_cfg.peft.", "peft."),
        ("policy.megatron_cfg.", "model."),
    ],
    ignored: &[
        "policy.megatron_cfg.scheduler.",
        "policy.megatron_cfg.checkpoint.",
        "policy.megatron_cfg.env_vars.",
        "policy.megatron_cfg.enabled",
        "policy.megatron_cfg.force_",
        "policy.megatron_cfg.converter_type",
        "policy.megatron_cfg.fp8_cfg.",
        "policy.megatron_cfg.fused_linear_logprobs_chunk_size",
        "policy.megatron_cfg.linear_ce_fusion_chunk_size",
        "policy.megatron_cfg.moe_per_layer_logging",
        "policy.megatron_cfg.model_overrides",
        "policy.megatron_cfg.use_fused_weighted_squared_relu",
        "policy.megatron_cfg.use_gloo_process_groups",
        "policy.megatron_cfg.cuda_graph_warmup_steps",
        "policy.hf_config_overrides",
        "policy.sequence_packing",
        "policy.dynamic_batching",
        "policy.make_sequence_length_divisible_by",
        "policy.draft.",
        "policy.router_replay.",
        "policy.offload_optimizer_for_logprob",
        "policy.refit",
        "policy.worker_extension",
        "defaults",
        "teacher",
        "reward_model",
        "rm.",
        "async_rl.",
        "data_plane.",
        "ppo.",
        "value.",
        "s3_checkpointing",
        "policy.tokenizer.",
        "policy.generation",
        "policy.dtensor_cfg",
        "policy.logprob_",
        "policy.optimizer",
        "policy.scheduler",
        "policy.max_grad_norm",
        "grpo.",
        "loss_fn.",
        "sft.",
        "dpo.",
        "distillation.",
        "checkpointing.",
        "data.",
        "env.",
        "logger.",
        "cluster.",
    ],
    refused: &[],
    model: "policy.model_name",
};

/// Keys that Megatron-Bridge does not have.
const KEYS: &[(&str, KeyMeaning)] = &[
    (
        "logits",
        KeyMeaning::more("log-probabilities are computed without logits"),
    ),
    (
        "frozen_router",
        KeyMeaning::less("frozen parameters need no gradients and no optimizer states"),
    ),
    ("draft_model", KeyMeaning::more("draft models are not counted")),
    ("defer_fp32_logits", Field("token_loss")),
    ("logprob_chunk_size", Field("logprob_chunk_size")),
    ("router_replay", Irrelevant),
    ("model.freeze_config.freeze_language_model", FROZEN),
    ("model.freeze_config.freeze_vision_model", FROZEN),
    ("model.freeze_config.freeze_vision_projection", FROZEN),
];

const FROZEN: KeyMeaning = KeyMeaning::more("frozen parameters need no gradients and no optimizer states");

/// The meaning of a key, once the beginning of its path has been replaced as the layout's `places` say.
pub(in crate::formats::dialects) fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key).or_else(|| bridge::find(key))
}

/// The settings that matter of the files that most configurations change, by the files' names (`examples/configs` of
/// NeMo-RL).
pub(super) const BASES: &[(&str, &[(&str, &str)])] = &[
    (
        "grpo_math_1B.yaml",
        &[
            ("policy.model_name", "Qwen/Qwen2.5-1.5B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.train_micro_batch_size", "4"),
            ("policy.max_total_sequence_length", "512"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("policy.megatron_cfg.sequence_parallel", "false"),
            ("policy.megatron_cfg.freeze_moe_router", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            ("policy.sequence_packing.enabled", "true"),
            ("cluster.gpus_per_node", "1"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "grpo_math_1B_megatron.yaml",
        &[
            ("policy.model_name", "Qwen/Qwen2.5-1.5B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.train_micro_batch_size", "4"),
            ("policy.max_total_sequence_length", "512"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "true"),
            ("policy.megatron_cfg.freeze_moe_router", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            ("policy.sequence_packing.enabled", "true"),
            ("cluster.gpus_per_node", "1"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "sft_openmathinstruct2.yaml",
        &[
            ("policy.model_name", "meta-llama/Llama-3.1-8B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.train_micro_batch_size", "2"),
            ("policy.max_total_sequence_length", "4096"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "sft.yaml",
        &[
            ("policy.model_name", "meta-llama/Llama-3.2-1B"),
            ("policy.train_global_batch_size", "32"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "1024"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("cluster.gpus_per_node", "1"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "dpo.yaml",
        &[
            ("policy.model_name", "meta-llama/Llama-3.2-1B-Instruct"),
            ("policy.train_global_batch_size", "128"),
            ("policy.train_micro_batch_size", "2"),
            ("policy.max_total_sequence_length", "1024"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "2"),
            ("policy.megatron_cfg.sequence_parallel", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            ("cluster.gpus_per_node", "1"),
            ("cluster.num_nodes", "1"),
        ],
    ),
    (
        "distillation_math.yaml",
        &[
            ("policy.model_name", "Qwen/Qwen3-1.7B-Base"),
            ("policy.train_global_batch_size", "64"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "8192"),
            ("policy.precision", "bfloat16"),
            ("policy.megatron_cfg.enabled", "false"),
            ("policy.megatron_cfg.empty_unused_memory_level", "0"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "2"),
            ("policy.megatron_cfg.pipeline_model_parallel_size", "2"),
            ("policy.megatron_cfg.context_parallel_size", "2"),
            ("policy.megatron_cfg.sequence_parallel", "false"),
            ("policy.megatron_cfg.freeze_moe_router", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "1"),
        ],
    ),
];

/// The settings that matter of published files that change one of [`BASES`]; `defaults` names the file that they
/// change.
pub(super) const CHANGED_BASES: &[(&str, &[(&str, &str)])] = &[
    (
        "distillation-qwen3-32b-to-1.7b-base-1n8g-megatron-tp2pp2cp2-pack.yaml",
        &[
            ("defaults", "distillation_math.yaml"),
            ("policy.train_global_batch_size", "32"),
            ("policy.sequence_packing.enabled", "true"),
            ("policy.megatron_cfg.enabled", "true"),
        ],
    ),
    (
        "dpo-llama3.1-8b-instruct-4n8g-megatrontp2pp2-quick.yaml",
        &[
            ("defaults", "dpo.yaml"),
            ("policy.model_name", "meta-llama/Llama-3.1-8B-Instruct"),
            ("policy.train_global_batch_size", "256"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "2048"),
            ("policy.megatron_cfg.enabled", "true"),
            ("policy.megatron_cfg.pipeline_model_parallel_size", "2"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "4"),
        ],
    ),
    (
        "grpo_math_qwen30ba3b_megatron.yaml",
        &[
            ("defaults", "grpo_math_1B_megatron.yaml"),
            ("policy.model_name", "Qwen/Qwen3-30B-A3B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "4096"),
            ("policy.sequence_packing.enabled", "false"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "2"),
            ("policy.megatron_cfg.expert_model_parallel_size", "8"),
            ("policy.megatron_cfg.sequence_parallel", "true"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "8"),
        ],
    ),
    (
        "grpo-qwen3-30ba3b-8n8g-megatron-cp2-r3.yaml",
        &[
            ("defaults", "grpo_math_qwen30ba3b_megatron.yaml"),
            ("policy.train_global_batch_size", "128"),
            ("policy.sequence_packing.enabled", "true"),
            ("policy.router_replay.enabled", "true"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "4"),
            ("policy.megatron_cfg.pipeline_model_parallel_size", "2"),
            ("policy.megatron_cfg.context_parallel_size", "2"),
            ("policy.megatron_cfg.expert_model_parallel_size", "4"),
        ],
    ),
    (
        "grpo-qwen3-30ba3b-10n8g-megatron-cp2-r3-async.yaml",
        &[
            ("defaults", "grpo-qwen3-30ba3b-8n8g-megatron-cp2-r3.yaml"),
            ("policy.generation.colocated.enabled", "false"),
            ("policy.generation.colocated.resources.num_nodes", "2"),
            ("policy.generation.colocated.resources.gpus_per_node", "8"),
            ("cluster.num_nodes", "10"),
        ],
    ),
    (
        "grpo-qwen3.5-35ba3b-2n8g-megatron-ep16tp2cp2.yaml",
        &[
            ("defaults", "grpo_math_1B.yaml"),
            ("policy.model_name", "Qwen/Qwen3.5-35B-A3B-Base"),
            ("policy.train_micro_batch_size", "1"),
            ("policy.max_total_sequence_length", "4096"),
            ("policy.megatron_cfg.enabled", "true"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "2"),
            ("policy.megatron_cfg.context_parallel_size", "2"),
            ("policy.megatron_cfg.sequence_parallel", "true"),
            ("policy.megatron_cfg.expert_model_parallel_size", "16"),
            ("policy.megatron_cfg.apply_rope_fusion", "false"),
            ("policy.megatron_cfg.activation_checkpointing", "true"),
            ("policy.megatron_cfg.defer_fp32_logits", "true"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "2"),
        ],
    ),
    (
        "sft-qwen2.5-math7b-2n8g-megatron.yaml",
        &[
            ("defaults", "sft.yaml"),
            ("policy.model_name", "Qwen/Qwen2.5-Math-7B"),
            ("policy.train_global_batch_size", "512"),
            ("policy.max_total_sequence_length", "16384"),
            ("policy.megatron_cfg.enabled", "true"),
            ("policy.megatron_cfg.tensor_model_parallel_size", "4"),
            ("policy.megatron_cfg.context_parallel_size", "2"),
            ("policy.megatron_cfg.sequence_parallel", "true"),
            ("policy.megatron_cfg.freeze_moe_router", "true"),
            ("policy.megatron_cfg.moe_router_dtype", "fp64"),
            (
                "policy.megatron_cfg.distributed_data_parallel_config.overlap_param_gather",
                "false",
            ),
            ("policy.megatron_cfg.optimizer.use_distributed_optimizer", "false"),
            ("policy.megatron_cfg.optimizer.use_precision_aware_optimizer", "false"),
            ("policy.sequence_packing.enabled", "true"),
            ("cluster.gpus_per_node", "8"),
            ("cluster.num_nodes", "2"),
        ],
    ),
];

/// The settings that are the same in all of [`BASES`].
pub(super) const IN_ALL_BASES: &[(&str, &str)] = &[
    ("policy.megatron_cfg.empty_unused_memory_level", "1"),
    ("policy.megatron_cfg.activation_checkpointing", "false"),
    ("policy.megatron_cfg.expert_tensor_parallel_size", "1"),
    ("policy.megatron_cfg.moe_permute_fusion", "true"),
    ("policy.megatron_cfg.apply_rope_fusion", "true"),
    ("policy.megatron_cfg.moe_token_dispatcher_type", "alltoall"),
    ("policy.megatron_cfg.optimizer.optimizer", "adam"),
    ("policy.megatron_cfg.optimizer.bf16", "true"),
    ("policy.megatron_cfg.optimizer.use_distributed_optimizer", "true"),
    ("policy.megatron_cfg.optimizer.use_precision_aware_optimizer", "true"),
    (
        "policy.megatron_cfg.distributed_data_parallel_config.grad_reduce_in_fp32",
        "false",
    ),
    (
        "policy.megatron_cfg.distributed_data_parallel_config.overlap_grad_reduce",
        "true",
    ),
    (
        "policy.megatron_cfg.distributed_data_parallel_config.overlap_param_gather",
        "true",
    ),
];

/// NeMo-RL's losses are of log-probabilities, of logits that `Float16Module` returns in fp32.
pub(in crate::formats::dialects) const DEFAULTS: &[(&str, &str)] = &[("token_loss", "nemo_rl")];
