//! Flags that `MindSpeed-LLM` adds to Megatron-LM's, for training on Ascend's NPUs.
//!
//! After `mindspeed_llm/features_manager` and `mindspeed_llm/core/transformer`. All flags of Megatron-LM work
//! unchanged.

use super::meaning::{
    KeyMeaning::{self, Field, Irrelevant, Rule},
    KeyRule, look_up,
};
use crate::formats::megatron_args::Arity;

/// Flags with a value, without leading dashes.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("first-k-dense-replace", Rule(KeyRule::FirstDenseLayers)),
    ("n-shared-experts", Rule(KeyRule::SharedExperts)),
    ("noop-layers", Rule(KeyRule::NoopLayers)),
    ("num-layer-list", Rule(KeyRule::LayerList)),
    ("tokenizer-name-or-path", Rule(KeyRule::TokenizerModel)),
    ("moe-intermediate-size", Field("moe_ffn_hidden_size")),
    (
        "context-parallel-algo",
        KeyMeaning::less("context parallelism is counted as Megatron's"),
    ),
    ("lora-r", ADAPTERS),
    ("lora-target-modules", ADAPTERS),
    ("schedules-method", SCHEDULE),
    ("swap-optimizer-times", Irrelevant),
    (
        "loss-chunk-size",
        KeyMeaning::more("the chunks of the loss are not followed"),
    ),
    ("full-attention-interval", LINEAR),
    (
        "sliding-window-size",
        KeyMeaning::nothing("fused attention saves as much for a window"),
    ),
    ("hc-mult", KeyMeaning::more("hyper-connections are not counted")),
    (
        "compress-ratios",
        KeyMeaning::more("compressed attention is not counted"),
    ),
    ("index-topk", INDEXER),
    ("index-n-heads", INDEXER),
    ("index-head-dim", INDEXER),
    (
        "num-zero-experts",
        KeyMeaning::more("experts that compute nothing are not counted"),
    ),
];

/// Switches, without leading dashes.
const SWITCHES: &[(&str, KeyMeaning)] = &[
    ("shared-expert-gate", Field("moe_shared_expert_gate")),
    (
        "reuse-fp32-param",
        KeyMeaning::more("weights in half precision share the memory of the main weights"),
    ),
    (
        "swap-optimizer",
        KeyMeaning::more("optimizer states wait in the memory of the host"),
    ),
    (
        "swap-attention",
        KeyMeaning::more("activations wait in the memory of the host"),
    ),
    (
        "recompute-activation-function",
        KeyMeaning::more("activation functions are recomputed"),
    ),
    ("recompute-norm", KeyMeaning::more("norms are recomputed")),
    ("mla-zero-memory", KeyMeaning::more("latent attention is recomputed")),
    ("moe-zero-memory", KeyMeaning::more("experts are recomputed")),
    (
        "mtp-mem-efficient-logits",
        KeyMeaning::more("logits of multi-token prediction are made in chunks"),
    ),
    ("moe-fb-overlap", SCHEDULE),
    (
        "moe-alltoall-overlap-comm",
        KeyMeaning::more("experts keep tensors for overlapped communication"),
    ),
    ("enable-dsa-indexer", INDEXER),
    ("enable-mhc", KeyMeaning::more("hyper-connections are not counted")),
    (
        "post-norm",
        KeyMeaning::more("norms after attention and MLP are not counted"),
    ),
    ("lora-fusion", Irrelevant),
    (
        "o2-optimizer",
        KeyMeaning::more("the states of this optimizer are not counted"),
    ),
    ("o2-gradient", KeyMeaning::more("gradients in half precision")),
    ("pack", Irrelevant),
    ("neat-pack", Irrelevant),
    (
        "moe-tp-extend-ep",
        KeyMeaning::more("experts are split over tensor-parallel ranks as well"),
    ),
];

const ADAPTERS: KeyMeaning =
    KeyMeaning::more("only adapters are trained: all other weights need no gradients and no optimizer states");
const SCHEDULE: KeyMeaning = KeyMeaning::more("a schedule of the pipeline that is not counted");
const LINEAR: KeyMeaning = KeyMeaning::more("layers with linear attention are counted as full attention");
const INDEXER: KeyMeaning = KeyMeaning::more("the indexer of sparse attention is not counted");

/// Switches that change no memory of a training step, or only that of NPU kernels.
const IRRELEVANT_SWITCHES: &[&str] = &[
    "add-rmsnorm-offset",
    "append-eod",
    "coc-fused-kernel",
    "enable-hf2mg-convert",
    "enable-mg2hf-convert",
    "enable-mla-absorb",
    "enable-thinking",
    "gelu-tanh",
    "gemm-gradient-accumulation-fusion",
    "init-norm-weight-in-fp32",
    "input-embeds-norm",
    "is-instruction-dataset",
    "mla-fa-without-pad",
    "mla-mm-split",
    "moe-permutation-async-comm",
    "no-enable-linear-qkv",
    "no-pad-to-seq-lengths",
    "no-shared-storage",
    "no-shuffle",
    "norm-topk-prob",
    "rmsnorm-weight-in-fp32",
    "router-gating-in-fp32",
    "seq-aux",
    "tokenizer-not-use-fast",
    "topk-softmax-in-fp32",
    "use-ascend-coc",
    "use-ascend-mc2",
    "use-cp-send-recv-overlap",
    "use-fused-lightning-indexer",
    "use-fused-lightning-indexer-loss",
    "use-fused-mhc",
    "use-fused-moe-token-permute-and-unpermute",
    "use-fused-ring-attention-update",
    "use-fused-rmsnorm",
    "use-fused-rotary-pos-emb",
    "use-fused-swiglu",
    "use-sparse-flash-attn",
    "use-triton-gdn",
    "use-triton-mhc",
];

/// Flags with a value that change no memory of a training step.
const IRRELEVANT: &[&str] = &[
    "attention-mask-type",
    "beta-fast",
    "beta-slow",
    "cp-attention-mask-type",
    "handler-name",
    "hf-cfg-dir",
    "indexer-loss-coeff",
    "lora-alpha",
    "loss-compute-mode",
    "model-type-hf",
    "original-seq-len",
    "output-logit-softcapping",
    "pad-to-multiple-of",
    "padded-samples",
    "partial-rotary-factor",
    "prompt-type",
    "query-pre-attn-scalar",
    "rope-factor",
    "rope-scaling-factor",
    "rope-scaling-mscale",
    "rope-scaling-mscale-all-dim",
    "rope-scaling-original-max-position-embeddings",
    "rope-scaling-type",
    "shape-order",
    "stage",
    "swiglu-limit",
    "tokenizer-padding-side",
    "workers",
];

/// Flags with any number of values.
const MANY: &[&str] = &["lora-target-modules", "compress-ratios"];

/// What a flag of `MindSpeed`'s own means (no leading dashes; underscores count as dashes); none for flags of
/// Megatron-LM and unknown ones.
#[must_use]
pub fn find(name: &str) -> Option<KeyMeaning> {
    let name = name.replace('_', "-");
    let has = |names: &[&str]| names.contains(&name.as_str());
    look_up(KEYS, &name)
        .or_else(|| look_up(SWITCHES, &name))
        .or_else(|| (has(IRRELEVANT) || has(IRRELEVANT_SWITCHES)).then_some(Irrelevant))
}

/// How many words a flag of `MindSpeed`'s own takes.
#[must_use]
pub fn arity(name: &str) -> Option<Arity> {
    let name = name.replace('_', "-");
    if IRRELEVANT_SWITCHES.contains(&name.as_str()) || look_up(SWITCHES, &name).is_some() {
        return Some(Arity::Switch);
    }
    let arity = if MANY.contains(&name.as_str()) {
        Arity::Many
    } else {
        Arity::One
    };
    find(&name).map(|_| arity)
}
