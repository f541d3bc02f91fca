//! Flags that `MindSpeed-LLM` adds to Megatron-LM's, for training on Ascend's NPUs.
//!
//! After `mindspeed_llm/features_manager` and `mindspeed_llm/core/transformer`. All flags of Megatron-LM work
//! unchanged.

use super::framework::Framework;
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Role};
use super::meaning::{Decides, KeyRole, look_up};
use super::megatron_lm;
use crate::config::fields::FieldId;
use crate::config::not_modelled::NotModelled;
use crate::formats::derivations::stages::{MAX_LAYERS, numbers, set_stages};
use crate::formats::derivations::{activation, hybrid, vocabulary};
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{int, is_off};
use crate::formats::megatron_args::{self, Arity};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// MindSpeed-LLM: Megatron-LM's flags and some of its own.
pub static MINDSPEED: Framework = Framework {
    name: "MindSpeed-LLM",
    find: |name| find(name).or_else(|| megatron_lm::find(name)),
    derivations: &[
        hybrid::layers,
        shared_experts,
        first_dense,
        noop_layers,
        layer_list,
        vocabulary::of_tokenizer,
        like_transformer_engine,
    ],
    after_defaults: activation::quick_geglu_of_arguments,
    ..Framework::PLAIN
};

/// `--first-k-dense-replace`: this many layers have no experts.
const FIRST_DENSE: KeyRole = KeyRole::kept("first_dense_layers", Decides::field(FieldId::moe_layer_freq));
/// `--n-shared-experts`: shared experts, each as wide as one of the others.
const SHARED_EXPERTS: KeyRole = KeyRole::kept(
    "shared_experts",
    Decides::field(FieldId::moe_shared_expert_intermediate_size),
);
/// `--noop-layers`: the numbers of layers that do nothing, from 0, separated by commas.
const NOOP_LAYERS: KeyRole = KeyRole::kept("noop_layers", Decides::field(FieldId::num_layers));
/// `--num-layer-list`: the layers of each pipeline stage, separated by commas.
const LAYER_LIST: KeyRole = KeyRole::kept("layer_list", Decides::field(FieldId::pipeline_model_parallel_layout));

/// Flags with a value, without leading dashes.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("first-k-dense-replace", Role(FIRST_DENSE)),
    ("n-shared-experts", Role(SHARED_EXPERTS)),
    ("noop-layers", Role(NOOP_LAYERS)),
    ("num-layer-list", Role(LAYER_LIST)),
    ("tokenizer-name-or-path", Role(vocabulary::TOKENIZER_MODEL)),
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

/// The meaning of a flag of `MindSpeed`'s own (no leading dashes; underscores count as dashes); none for flags of
/// Megatron-LM and unknown ones.
fn find(name: &str) -> Option<KeyMeaning> {
    let name = name.replace('_', "-");
    let has = |names: &[&str]| names.contains(&name.as_str());
    look_up(KEYS, &name)
        .or_else(|| look_up(SWITCHES, &name))
        .or_else(|| (has(IRRELEVANT) || has(IRRELEVANT_SWITCHES)).then_some(Irrelevant))
}

/// How many words a flag of `MindSpeed`'s own takes.
pub(super) fn arity(name: &str) -> Option<Arity> {
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

/// Whether a flag is one that only `MindSpeed` has.
pub(in crate::formats) fn is_own(name: &str) -> bool {
    megatron_args::find(name).is_none() && find(name).is_some()
}

/// Sets the width of shared experts.
fn shared_experts(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(SHARED_EXPERTS) else { return };
    let id = FieldId::moe_shared_expert_intermediate_size;
    let width = draft
        .number(FieldId::moe_ffn_hidden_size)
        .or_else(|| draft.number(FieldId::ffn_hidden_size));
    let (Some(count), Some(width)) = (int(item), width) else {
        return draft.row(item, KeyStatus::Ignored, None, "the width of experts is not given");
    };
    if draft.has(id) {
        return draft.row(item, KeyStatus::Ignored, Some(id), "another key says it");
    }
    let value = Value::Int(count.saturating_mul(width).into());
    draft.set(
        item,
        id,
        value,
        KeyStatus::Derived,
        "shared experts · width of an expert",
    );
}

/// The layers that have experts: from the first on that is not dense, every `moe_layer_freq`-th.
fn first_dense(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(FIRST_DENSE).filter(|item| !is_off(&item.value)) else {
        return;
    };
    let noops = keys.get(NOOP_LAYERS);
    let id = FieldId::moe_layer_freq;
    let layers = draft.number(FieldId::num_layers).and_then(|n| usize::try_from(n).ok());
    let Some(layers) = layers.filter(|layers| *layers <= MAX_LAYERS) else {
        return draft.row(item, KeyStatus::Ignored, None, "num_layers is not given");
    };
    // Negative numbers leave no layer dense.
    let first = shown(&item.value).parse::<i64>().unwrap_or(0);
    let first = usize::try_from(first).unwrap_or(0);
    let every = draft.settings.get(id).map(|value| shown(value).parse::<i64>());
    let every = match every {
        Some(Ok(number)) => usize::try_from(number.unsigned_abs()).unwrap_or(1).max(1),
        _ => 1,
    };
    draft.missing.retain(|missing| !missing.is_of(id));
    let noops = noops.map(|item| numbers(&item.value)).unwrap_or_default();
    let real = (0..layers).filter(|layer| !noops.contains(layer));
    let pattern = real.map(|layer| Value::Int(i128::from(layer >= first && layer % every == 0)));
    let pattern = Value::List(pattern.collect());
    draft.settings.unset(id);
    draft.set(item, id, pattern, KeyStatus::Derived, "");
}

/// Takes layers that do nothing out of the model, and leaves the others on the stages where they are.
fn noop_layers(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(NOOP_LAYERS).filter(|item| !is_off(&item.value)) else {
        return;
    };
    let noops = numbers(&item.value);
    let given = draft.number(FieldId::num_layers).and_then(|n| usize::try_from(n).ok());
    let pp = draft.number(FieldId::pipeline_model_parallel_size).unwrap_or(1);
    let pp = usize::try_from(pp).unwrap_or(1).max(1);
    let Some(layers) = given.filter(|layers| *layers <= MAX_LAYERS) else {
        return draft.row(item, KeyStatus::Ignored, None, "num_layers is not given");
    };
    let each = draft.number(FieldId::num_layers_per_virtual_pipeline_stage);
    let each = each.and_then(|each| usize::try_from(each).ok());
    let chunk = each.unwrap_or(layers / pp).max(1);
    let stages: Vec<usize> = (0..layers)
        .step_by(chunk)
        .map(|start| {
            (start..start.saturating_add(chunk).min(layers))
                .filter(|layer| !noops.contains(layer))
                .count()
        })
        .collect();
    let real: usize = stages.iter().sum();
    set_count(draft, item, FieldId::num_layers, real);
    if stages.len() > 1 {
        draft.settings.unset(FieldId::num_layers_per_virtual_pipeline_stage);
        set_stages(draft, item, &stages);
    }
}

/// Sets the layers of each pipeline stage.
fn layer_list(draft: &mut JobDraft, keys: &Keys<'_>) {
    let Some(item) = keys.get(LAYER_LIST) else { return };
    let stages = numbers(&item.value);
    if stages.len() < 2 {
        return draft.row(item, KeyStatus::Ignored, None, "one stage has all layers");
    }
    set_stages(draft, item, &stages);
}

fn set_count(draft: &mut JobDraft, item: &KeyValue, id: FieldId, count: usize) {
    let value = Value::Int(i128::try_from(count).unwrap_or(i128::MAX));
    draft.settings.unset(id);
    draft.set(item, id, value, KeyStatus::Derived, "layers that do something");
}

/// Marks a job of `MindSpeed`, and counts its layers like those of Transformer Engine: both fuse norms, rotary
/// embeddings, activation functions and attention.
fn like_transformer_engine(draft: &mut JobDraft, _: &Keys<'_>) {
    draft.settings.unset(FieldId::transformer_impl);
    let dispatcher = FieldId::moe_token_dispatcher_type;
    if draft.settings.get(dispatcher) == Some(&Value::Text("alltoall_seq".to_owned())) {
        draft.settings.set(dispatcher, Value::Text("alltoall".to_owned()));
        draft.missing.retain(|missing| !missing.is_of(dispatcher));
    }
    let reason = "what kernels of Ascend's NPUs keep is counted like what Transformer Engine keeps";
    draft.marks.push(NotModelled::new("MindSpeed", reason));
}
