//! Keys of verl's Megatron back end and the Megatron-LM fields behind them.
//!
//! After verl's `verl/trainer/config/engine/megatron.yaml`. The engine's keys stand under
//! `actor_rollout_ref.actor.megatron`; the transformer's own under `override_transformer_config` there.
//! Only the training phase is meant: rollout engines and reference models are not.

use super::keys::{Meaning, Rule, look_up, same_field};

/// Where the engine's keys stand, in the order in which they count.
pub const ENGINES: [&str; 4] = [
    "actor_rollout_ref.actor.megatron",
    "actor_rollout_ref.actor.engine",
    "actor.megatron",
    "engine",
];

/// Keys of the engine that are not called like Megatron-LM's fields.
const ENGINE: &[(&str, Meaning)] = &[
    (
        "virtual_pipeline_model_parallel_size",
        Meaning::Rule(Rule::VirtualStages),
    ),
    ("dtype", Meaning::Rule(Rule::Dtype)),
    (
        "param_offload",
        Meaning::NotModelled("parameters move to the host between phases, not during training"),
    ),
    (
        "grad_offload",
        Meaning::NotModelled("gradients move to the host between phases, not during training"),
    ),
    (
        "optimizer_offload",
        Meaning::NotModelled(
            "optimizer states move to the host between phases, not during training",
        ),
    ),
    ("override_ddp_config", Meaning::Rule(Rule::Nested)),
    ("override_transformer_config", Meaning::Rule(Rule::Nested)),
    ("override_mcore_model_config", Meaning::Rule(Rule::Nested)),
    ("use_dist_checkpointing", Meaning::Irrelevant),
    ("dist_checkpointing_path", Meaning::Irrelevant),
    ("dist_checkpointing_prefix", Meaning::Irrelevant),
    ("seed", Meaning::Irrelevant),
    ("use_mbridge", Meaning::Irrelevant),
    ("vanilla_mbridge", Meaning::Irrelevant),
    ("forward_only", Meaning::Irrelevant),
    ("_target_", Meaning::Irrelevant),
    ("variable_seq_lengths", Meaning::Irrelevant),
];

/// Keys outside the engine.
const OTHERS: &[(&str, Meaning)] = &[
    ("actor_rollout_ref.model.path", Meaning::Rule(Rule::HfModel)),
    ("data.max_prompt_length", Meaning::Rule(Rule::PromptLength)),
    (
        "data.max_response_length",
        Meaning::Rule(Rule::ResponseLength),
    ),
    (
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
        Meaning::Field("micro_batch_size"),
    ),
    (
        "actor_rollout_ref.actor.ppo_mini_batch_size",
        Meaning::Rule(Rule::PromptBatch),
    ),
    (
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
        Meaning::Rule(Rule::TokensPerGpu),
    ),
    (
        "actor_rollout_ref.actor.use_dynamic_bsz",
        Meaning::Rule(Rule::DynamicBatch),
    ),
    (
        "actor_rollout_ref.rollout.n",
        Meaning::Rule(Rule::SamplesPerPrompt),
    ),
    ("trainer.nnodes", Meaning::Rule(Rule::Nodes)),
    ("trainer.n_gpus_per_node", Meaning::Rule(Rule::GpusPerNode)),
];

/// What the dotted key means; none when it is unknown or about another phase.
#[must_use]
pub fn find(key: &str) -> Option<Meaning> {
    if let Some(meaning) = look_up(OTHERS, key) {
        return Some(meaning);
    }
    let engine = ENGINES
        .iter()
        .find_map(|engine| key.strip_prefix(engine)?.strip_prefix('.'))?;
    if let Some(name) = engine.strip_prefix("override_transformer_config.") {
        return transformer(name);
    }
    if let Some(name) = engine.strip_prefix("override_ddp_config.") {
        return super::bridge_keys::find(&format!("ddp.{name}"));
    }
    if let Some(name) = engine.strip_prefix("override_mcore_model_config.") {
        return transformer(name);
    }
    look_up(ENGINE, engine).or_else(|| same_field(engine))
}

/// A field of Megatron's transformer configuration.
fn transformer(name: &str) -> Option<Meaning> {
    look_up(ENGINE, name).or_else(|| super::bridge_keys::find(&format!("model.{name}")))
}

/// Fields whose default differs from that of Megatron-LM's command line.
pub const DEFAULTS: &[(&str, &str)] = &[
    ("sequence_parallel", "True"),
    ("use_distributed_optimizer", "True"),
    ("bf16", "True"),
    ("recompute_modules", "core_attn"),
    ("attention_backend", "flash"),
    ("moe_token_dispatcher_type", "alltoall"),
];
