//! Frameworks whose configurations hold Megatron's arguments somewhere below sections of their own: which keys stand where, and
//! what they are called in Megatron-LM or Megatron-Bridge.

use crate::formats::detect::Format;

/// A framework.
pub struct Layout {
    /// The format of its files.
    pub format: Format,
    /// Single keys with other names, by their paths: the key that they mean.
    pub keys: &'static [(&'static str, &'static str)],
    /// Beginnings of paths, and what stands in their place. The first that fits counts.
    pub places: &'static [(&'static str, &'static str)],
    /// Beginnings of paths that say nothing of the memory of a training step.
    pub ignored: &'static [&'static str],
    /// The key that names the model.
    pub model: &'static str,
}

/// The layout of a format, where it is one of these frameworks.
#[must_use]
pub fn of(format: Format) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.format == format)
}

const LAYOUTS: &[Layout] = &[FLAG_SCALE, PRIMUS, NEMO_RL];

/// `FlagScale` gives every leaf below these sections to Megatron-LM as a flag.
const FLAG_SCALE: Layout = Layout {
    format: Format::FlagScaleYaml,
    keys: &[
        ("data.tokenizer.vocab_size", "vocab_size"),
        (
            "data.tokenizer.make_vocab_size_divisible_by",
            "make_vocab_size_divisible_by",
        ),
        ("data.tokenizer.padded_vocab_size", "padded_vocab_size"),
    ],
    places: &[("system.precision.", ""), ("system.", ""), ("model.", "")],
    ignored: &[
        "system.logging.",
        "system.checkpoint.",
        "system.no_shared_fs",
        "model.optimizer.lr_scheduler.",
        "data.",
        "experiment.",
        "defaults",
        "action",
        "hydra.",
    ],
    model: "",
};

/// Primus overrides Megatron-LM's arguments by the names under which its parser stores them.
const PRIMUS: Layout = Layout {
    format: Format::PrimusYaml,
    keys: &[],
    places: &[
        ("modules.pre_trainer.overrides.", ""),
        ("modules.post_trainer.overrides.", ""),
        ("modules.sft_trainer.overrides.", ""),
    ],
    ignored: &[
        "work_group",
        "user_name",
        "exp_name",
        "workspace",
        "platform.",
        "modules.pre_trainer.framework",
        "modules.pre_trainer.config",
        "modules.post_trainer.framework",
        "modules.post_trainer.config",
    ],
    model: "modules.pre_trainer.model",
};

/// NeMo-RL trains with Megatron-Bridge; `nemo_rl/models/megatron/setup.py` says what becomes of the keys.
const NEMO_RL: Layout = Layout {
    format: Format::NemoRlYaml,
    keys: &[
        ("policy.train_global_batch_size", "train.global_batch_size"),
        ("policy.train_micro_batch_size", "train.micro_batch_size"),
        ("policy.max_total_sequence_length", "model.seq_length"),
        ("policy.precision", "model.params_dtype"),
        (
            "policy.megatron_cfg.empty_unused_memory_level",
            "train.empty_unused_memory_level",
        ),
        ("policy.megatron_cfg.peft.enabled", "peft"),
    ],
    places: &[
        ("policy.megatron_cfg.optimizer.", "optimizer."),
        (
            "policy.megatron_cfg.distributed_data_parallel_config.",
            "ddp.",
        ),
        ("policy.megatron_cfg.model_overrides.", "model."),
        ("policy.megatron_cfg.", "model."),
    ],
    ignored: &[
        "policy.megatron_cfg.scheduler.",
        "policy.megatron_cfg.checkpoint.",
        "policy.megatron_cfg.env_vars.",
        "policy.megatron_cfg.enabled",
        "policy.megatron_cfg.force_",
        "policy.megatron_cfg.converter_type",
        "policy.megatron_cfg.peft.",
        "policy.megatron_cfg.fp8_cfg.",
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
    model: "policy.model_name",
};

/// What `primus/configs/modules/megatron/trainer_base.yaml` has otherwise than Megatron-LM's command line.
pub const PRIMUS_DEFAULTS: &[(&str, &str)] = &[
    ("bf16", "True"),
    ("micro_batch_size", "2"),
    ("data_parallel_sharding_strategy", "no_shard"),
    ("gtp_weight_remat_size", "1"),
    ("expert_gtp_weight_remat_size", "1"),
];

/// What NeMo-RL's own setup and the classes of Megatron-Bridge have otherwise than Megatron-LM's command line.
pub const NEMO_RL_DEFAULTS: &[(&str, &str)] = &[
    ("create_attention_mask_in_dataloader", "False"),
    ("cross_entropy_loss_fusion", "True"),
    ("accumulate_allreduce_grads_in_fp32", "False"),
    ("data_parallel_sharding_strategy", "no_shard"),
    ("optimizer_offload_fraction", "0.0"),
    ("q_lora_rank", "512"),
    ("kv_lora_rank", "512"),
];

/// The models of Primus, by the names of their files: what the model is called on the Hugging Face Hub.
const MODELS: &[(&str, &str)] = &[
    ("llama2_7B", "meta-llama/Llama-2-7b-hf"),
    ("llama2_70B", "meta-llama/Llama-2-70b-hf"),
    ("llama3_8B", "meta-llama/Meta-Llama-3-8B"),
    ("llama3_70B", "meta-llama/Meta-Llama-3-70B"),
    ("llama3.1_8B", "meta-llama/Llama-3.1-8B"),
    ("llama3.1_70B", "meta-llama/Llama-3.1-70B"),
    ("llama3.1_405B", "meta-llama/Llama-3.1-405B"),
    ("llama3.3_70B", "meta-llama/Llama-3.1-70B"),
    ("deepseek_v2_lite", "deepseek-ai/DeepSeek-V2-Lite"),
    ("deepseek_v2", "deepseek-ai/DeepSeek-V2"),
    ("deepseek_v3", "deepseek-ai/DeepSeek-V3"),
    ("mixtral_8x7B_v0.1", "mistralai/Mixtral-8x7B-v0.1"),
    (
        "mixtral_8x22B_v0.1",
        "mistralai/Mixtral-8x22B-Instruct-v0.1",
    ),
    ("qwen2.5_7B", "Qwen/Qwen2.5-7B"),
    ("qwen2.5_72B", "Qwen/Qwen2.5-72B"),
];

/// The model's name on the Hub, where the framework has names of its own.
#[must_use]
pub fn hub_name(model: &str) -> &str {
    let file = model.trim_end_matches(".yaml");
    let found = MODELS.iter().find(|(known, _)| *known == file);
    found.map_or(model, |(_, name)| *name)
}
