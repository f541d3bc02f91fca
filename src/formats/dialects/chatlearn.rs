//! Overrides of `ChatLearn` that decide how its policy is trained with Megatron-Core.
//!
//! After `template/grpo_megatron.yaml` and `chatlearn/configs` of `alibaba/ChatLearn` at b7af31a9. The names below
//! `policy_trainer` and its `megatron_model_cfg` are arguments of Megatron-LM, which `MegatronModule.init` sets. What
//! else stays on the GPUs is read in `import/chatlearn.rs`.

use super::meaning::{
    KeyMeaning::{self, Field, Irrelevant, Rule},
    KeyRule, look_up,
};
use super::megatron_lm;

/// Where the settings of the training stand.
const TRAINER: &str = "models.policy_trainer.";
/// Where the architecture stands below them, which `ChatLearn` reads from the Hugging Face model unless it is given.
const ARCHITECTURE: &str = "megatron_model_cfg.";

/// Keys outside the trainer, by their whole path.
const OTHERS: &[(&str, KeyMeaning)] = &[
    ("models.policy.load", Rule(KeyRule::HfModel)),
    ("models.policy.max_prompt_tokens_length", Rule(KeyRule::PromptLength)),
    (
        "models.policy.max_response_tokens_length",
        Rule(KeyRule::ResponseLength),
    ),
    ("runtime_args.train_global_batch_size", Field("global_batch_size")),
    ("runtime_args.train_micro_batch_size", Field("micro_batch_size")),
];

/// Keys of the trainer that are not called like Megatron-LM's arguments.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("num_gpu", Field("world_size")),
    ("model_provider_module", Rule(KeyRule::ModelProvider)),
    ("packing", Rule(KeyRule::DynamicBatch)),
    ("max_token_in_packing", Rule(KeyRule::TokensPerGpu)),
    ("max_prompt_tokens_length", Rule(KeyRule::PromptLength)),
    ("max_response_tokens_length", Rule(KeyRule::ResponseLength)),
    ("train_micro_batch_size", Field("micro_batch_size")),
    ("use_expandable_segments", Field("expandable_segments")),
    ("num_query_groups", Rule(KeyRule::QueryGroups)),
    ("hybrid_override_pattern", Rule(KeyRule::OlderHybridPattern)),
    ("virtual_pipeline_model_parallel_size", Rule(KeyRule::VirtualStages)),
    ("freeze_LM", FROZEN),
    ("freeze_ViT", FROZEN),
    ("freeze_VP", FROZEN),
    ("free_gpu_memory.offload_weights", BETWEEN_PHASES),
    ("free_gpu_memory.offload_optimizer_states", BETWEEN_PHASES),
    ("free_gpu_memory.free_grad_buffers", BETWEEN_PHASES),
];

const FROZEN: KeyMeaning = KeyMeaning::more("frozen parameters need no gradients and no optimizer states");
const BETWEEN_PHASES: KeyMeaning = KeyMeaning::nothing("moved to the host between phases, not during training");

/// Names of the trainer that change no memory of a training step.
const HARMLESS: &str = "\
    batch_p2p_comm cpu_per_process deallocate_pipeline_outputs diff_clip_ratio empty_unused_memory_level enable_thinking entropy_coef \
    final_clip_ratio generation_batch_size gpu_per_process is_hybrid_model kl_coef load neg_clip_ratio no_load_scheduler \
    num_cpu num_inference_per_prompt overlap_p2p_comm pos_clip_ratio rerun_mode sync_frequency tokenizer_model tokenizer_type \
    trainable trust_remote_code use_group_sequence_policy variable_seq_lengths";

/// What the dotted key means; none when it is unknown.
pub(super) fn find(key: &str) -> Option<KeyMeaning> {
    if let Some(meaning) = look_up(OTHERS, key) {
        return Some(meaning);
    }
    let Some(name) = key.strip_prefix(TRAINER) else {
        let is_other = ["runtime_args.", "models."].iter().any(|start| key.starts_with(start));
        return is_other.then_some(Irrelevant);
    };
    let name = name.strip_prefix(ARCHITECTURE).unwrap_or(name);
    let is_harmless = HARMLESS.split_ascii_whitespace().any(|known| known == name);
    if is_harmless || name.starts_with("optimizer.") {
        return Some(Irrelevant);
    }
    look_up(KEYS, name).or_else(|| megatron_lm::find(name))
}

/// Fields whose default differs from that of Megatron-LM's command line.
pub(super) const DEFAULTS: &[(&str, &str)] = &[
    ("bf16", "True"),
    ("sequence_parallel", "True"),
    ("use_distributed_optimizer", "True"),
    ("attention_dropout", "0.0"),
    ("hidden_dropout", "0.0"),
    ("gradient_accumulation_fusion", "False"),
    ("moe_token_dispatcher_type", "alltoall"),
    ("moe_grouped_gemm", "True"),
    ("token_loss", "chatlearn"),
];
