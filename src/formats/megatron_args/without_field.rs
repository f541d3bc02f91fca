//! The flags that matter for memory although no field has them: other names of fields, and what the estimate does not
//! follow. In the order of the parser's groups.

mod transformer;

use std::borrow::Cow;

use super::{Arity, FlagSpec};

/// A flag of the tables below.
struct Flag {
    /// The name without its leading dashes.
    name: &'static str,
    /// The destination, where it is not the name with underscores.
    dest: Option<&'static str>,
    arity: Arity,
    /// The destination's default, as Python would print it.
    default: &'static str,
}

impl Flag {
    const fn new(name: &'static str, arity: Arity, default: &'static str) -> Self {
        Self {
            name,
            dest: None,
            arity,
            default,
        }
    }

    /// The flag with a destination that is not its name.
    const fn to(self, dest: &'static str) -> Self {
        Self {
            dest: Some(dest),
            ..self
        }
    }
}

/// A flag without a value that sets its destination to true.
const fn switch(name: &'static str) -> Flag {
    Flag::new(name, Arity::Switch, "False")
}

/// A flag without a value that sets `dest` to false.
const fn inverted(name: &'static str, dest: &'static str) -> Flag {
    Flag::new(name, Arity::InvertedSwitch, "True").to(dest)
}

/// A flag with one value.
const fn one(name: &'static str, default: &'static str) -> Flag {
    Flag::new(name, Arity::One, default)
}

/// A flag with any number of values.
const fn many(name: &'static str, default: &'static str) -> Flag {
    Flag::new(name, Arity::Many, default)
}

impl From<&Flag> for FlagSpec {
    fn from(flag: &Flag) -> Self {
        Self {
            name: flag.name,
            dest: match flag.dest {
                Some(dest) => Cow::Borrowed(dest),
                None => Cow::Owned(flag.name.replace('-', "_")),
            },
            arity: flag.arity,
            default: Cow::Borrowed(flag.default),
        }
    }
}

/// The flags; several may set one destination.
pub(super) fn flags() -> impl Iterator<Item = FlagSpec> {
    transformer::FLAGS.iter().chain(FLAGS).map(FlagSpec::from)
}

/// The flags that the parser's own groups have.
const FLAGS: &[Flag] = &[
    // Network size
    one("encoder-num-layers", "None"),
    one("decoder-num-layers", "None"),
    one("window-size", "None"),
    one("window-attn-skip-freq", "None"),
    one("relative-attention-num-buckets", "32"),
    switch("use-rotary-position-embeddings"),
    inverted("no-position-embedding", "add_position_embedding"),
    switch("openai-gelu"),
    // Regularization
    one("muon-momentum", "0.9"),
    inverted("muon-no-split-qkv", "muon_split_qkv"),
    one("muon-tp-mode", "duplicated"),
    one("muon-scalar-optimizer", "adam"),
    // Training
    many("rampup-batch-size", "None"),
    one("step-batch-size-schedule", "None"),
    switch("decrease-batch-size-if-needed"),
    switch("recompute-activations"),
    switch("checkpoint-activations"),
    switch("use-flash-attn"),
    switch("optimizer-cuda-graph"),
    switch("use-torch-optimizer-for-cpu-offload"),
    switch("overlap-cpu-optimizer-d2h-h2d"),
    switch("no-persist-layer-norm"),
    switch("use-mcore-models").to("deprecated_use_mcore_models"),
    // Reinforcement learning
    switch("perform-rl-step"),
    // Checkpointing
    switch("load-main-params-from-ckpt"),
    switch("use-checkpoint-args"),
    switch("use-mp-args-from-checkpoint-args"),
    // Mixed precision
    switch("fp16-lm-cross-entropy"),
    one("output-logit-dtype", "None").to("logit_dtype"),
    switch("reuse-grad-buf-for-mxfp8-param-ag"),
    one("mamba-training-ssm-states-dtype", "None"),
    // Distribution
    switch("use-tp-pp-dp-mapping"),
    one("model-parallel-size", "None"),
    inverted("no-overlap-p2p-communication", "overlap_p2p_comm"),
    one("ddp-num-buckets", "None"),
    switch("ddp-pad-buckets-for-high-nccl-busbw"),
    switch("ddp-reduce-scatter-with-fp32-accumulation"),
    switch("gtp-remat-reduce-scatter-with-fp32-accumulation"),
    many("ddp-param-name-patterns-for-fp32-local-accumulation", ""),
    one("megatron-fsdp-version", "1"),
    inverted("no-use-layer-wise-param-layout", "use_layer_wise_param_layout"),
    switch("disable-symmetric-registration"),
    switch("gtp-remat-nccl-ub"),
    switch("gtp-expert-remat-nccl-ub"),
    switch("fsdp-manual-registration"),
    switch("create-all-gather-group"),
    switch("enable-full-sharding-in-hsdp"),
    switch("fake-process-group"),
    // Data
    one("encoder-seq-length", "None"),
    one("decoder-seq-length", "None"),
    switch("reset-position-ids"),
    // Tokenizer
    inverted("no-pad-vocab-size", "pad_vocab_size"),
    inverted("disable-pad-vocab-size", "pad_vocab_size"),
    one("vocab-extra-ids", "0"),
    one("tokenizer-type", "None"),
    // Mixture of experts
    switch("moe-use-upcycling"),
    many("moe-router-load-balancing-type", "aux_loss"),
    one("moe-upcycling-granularity", "1"),
    // Multi-latent attention
    switch("cache-mla-latents"),
    // Heterogeneous layers
    one("heterogeneous-layers-config-path", "None"),
    one("heterogeneous-layers-config-encoded-json", "None"),
    // CUDA graphs
    many("cuda-graph-scope", "None").to("cuda_graph_scope_deprecated"),
    // Transformer Engine
    one("te-precision-config-file", "None"),
    // Experimental
    one("hybrid-override-pattern", "None"),
    one("yaml-cfg", "None"),
    switch("megatron-fsdp-enable-fine-grained-param-gather"),
    // sft
];
