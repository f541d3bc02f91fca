//! Flags that slime adds to Megatron-LM's.
//!
//! After slime's `slime/utils/arguments.py`. All flags of Megatron-LM work unchanged, with a few defaults
//! set anew. Only the training actor is meant: rollout engines are not.

use super::keys::{Meaning, Rule, look_up};

/// The flags, without leading dashes.
const KEYS: &[(&str, Meaning)] = &[
    ("actor-num-nodes", Meaning::Rule(Rule::Nodes)),
    ("actor-num-gpus-per-node", Meaning::Rule(Rule::GpusPerNode)),
    ("hf-checkpoint", Meaning::Rule(Rule::HfModel)),
    ("max-tokens-per-gpu", Meaning::Rule(Rule::TokensPerGpu)),
    ("use-dynamic-batch-size", Meaning::Rule(Rule::DynamicBatch)),
    ("rollout-batch-size", Meaning::Rule(Rule::PromptBatch)),
    (
        "n-samples-per-prompt",
        Meaning::Rule(Rule::SamplesPerPrompt),
    ),
    (
        "rollout-max-response-len",
        Meaning::Rule(Rule::ResponseLength),
    ),
    ("rollout-max-prompt-len", Meaning::Rule(Rule::PromptLength)),
    (
        "use-gated-attention",
        Meaning::Field("attention_output_gate"),
    ),
    (
        "colocate",
        Meaning::NotModelled("rollout engines on the same GPUs are not counted"),
    ),
    (
        "offload",
        Meaning::NotModelled("moves between phases, not during training"),
    ),
    (
        "offload-train",
        Meaning::NotModelled("moves between phases, not during training"),
    ),
    (
        "offload-rollout",
        Meaning::NotModelled("moves between phases, not during training"),
    ),
    (
        "freeze-params-name-list",
        Meaning::NotModelled("frozen parameters have no gradients"),
    ),
    (
        "only-train-params-name-list",
        Meaning::NotModelled("frozen parameters have no gradients"),
    ),
    (
        "freeze-indexer",
        Meaning::NotModelled("frozen parameters have no gradients"),
    ),
    (
        "log-probs-chunk-size",
        Meaning::NotModelled("the chunks of the loss are not followed"),
    ),
    (
        "recompute-loss-function",
        Meaning::NotModelled("the chunks of the loss are not followed"),
    ),
    (
        "ref-load",
        Meaning::NotModelled("reference models are not counted"),
    ),
    (
        "post-self-attn-layernorm",
        Meaning::NotModelled("norms after attention are not counted"),
    ),
    (
        "post-mlp-layernorm",
        Meaning::NotModelled("norms after the MLP are not counted"),
    ),
    ("rollout-num-gpus", Meaning::Irrelevant),
    ("rollout-num-gpus-per-engine", Meaning::Irrelevant),
    ("num-gpus-per-node", Meaning::Irrelevant),
    ("num-rollout", Meaning::Irrelevant),
    ("prompt-data", Meaning::Irrelevant),
    ("input-key", Meaning::Irrelevant),
    ("label-key", Meaning::Irrelevant),
    ("apply-chat-template", Meaning::Irrelevant),
    ("rollout-shuffle", Meaning::Irrelevant),
    ("rm-type", Meaning::Irrelevant),
    ("rollout-temperature", Meaning::Irrelevant),
    ("balance-data", Meaning::Irrelevant),
    ("advantage-estimator", Meaning::Irrelevant),
    ("use-kl-loss", Meaning::Irrelevant),
    ("kl-loss-coef", Meaning::Irrelevant),
    ("kl-loss-type", Meaning::Irrelevant),
    ("entropy-coef", Meaning::Irrelevant),
    ("eps-clip", Meaning::Irrelevant),
    ("eps-clip-high", Meaning::Irrelevant),
    ("train-env-vars", Meaning::Irrelevant),
    ("model-name", Meaning::Irrelevant),
];

/// What a flag of slime's own means (no leading dashes; underscores count as dashes); none for flags of
/// Megatron-LM and unknown ones.
#[must_use]
pub fn find(name: &str) -> Option<Meaning> {
    let name = name.replace('_', "-");
    look_up(KEYS, &name).or_else(|| {
        // Options of the rollout engine.
        name.starts_with("sglang-").then_some(Meaning::Irrelevant)
    })
}

/// Fields whose default differs from that of Megatron-LM's command line; the first two are fixed unless
/// `fp16` is chosen.
pub const DEFAULTS: &[(&str, &str)] = &[
    ("use_distributed_optimizer", "True"),
    ("bf16", "True"),
    ("seq_length", "4096"),
    ("micro_batch_size", "1"),
    ("moe_token_dispatcher_type", "alltoall"),
];
