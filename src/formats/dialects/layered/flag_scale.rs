//! `FlagScale`'s training configurations.

use super::Layout;
use crate::formats::detect::Format;
use crate::formats::dialects::meaning::KeyMeaning::{self, Field, Irrelevant, Rule};
use crate::formats::dialects::meaning::{KeyRule, look_up};
use crate::formats::dialects::{Dialect, megatron_lm};

/// `FlagScale` gives every leaf below these sections to Megatron-LM as a flag.
pub(super) const LAYOUT: Layout = Layout {
    format: Format::FlagScaleYaml,
    dialect: Dialect::FlagScale,
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
        "model.seed",
    ],
    refused: &[
        ("model.action_horizon", "a FlagScale configuration of a robot's policy"),
        ("model.training_dtype", "a FlagScale configuration of a robot's policy"),
        ("model.use_rwkv", "a FlagScale configuration of RWKV"),
    ],
    model: "",
};

/// Arguments that `FlagScale` adds to Megatron-LM's. `multiple_of` and `hidden_dim_multiplier` decide the width of the
/// MLP, in `import/sources/layered/flag_scale.rs`; what stands below `hetero` is read in `flag_scale/hetero.rs` there.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("norm_init_weight", Irrelevant),
    ("wandb_mode", Irrelevant),
    ("enable_variable_seq_lengths", Irrelevant),
    ("max_padding_length", Irrelevant),
    ("mm_patch_merge_type", Irrelevant),
    ("attention_backend", Field("attention_backend")),
    ("freeze_ViT", FROZEN),
    ("peft_type", Rule(KeyRule::Adapter)),
    ("lora_target_modules", Rule(KeyRule::Adapter)),
    ("lora_dim", Rule(KeyRule::Adapter)),
    ("lora_alpha", Rule(KeyRule::Adapter)),
    ("lora_dropout", Rule(KeyRule::Adapter)),
    ("lora_dropout_position", Rule(KeyRule::Adapter)),
    ("lora_in_init_method", Rule(KeyRule::Adapter)),
    ("lora_out_init_method", Rule(KeyRule::Adapter)),
    ("allow_missing_vision_projection_checkpoint", Irrelevant),
    ("disable_vision_class_token", VISION),
    ("use_partial_reduce_for_shared_embedding", Irrelevant),
    ("recompute_granularity_per_stage_micro_batch", RECOMPUTED),
    ("recompute_method_per_stage_micro_batch", RECOMPUTED),
    ("recompute_num_layers_per_stage_micro_batch", RECOMPUTED),
    (
        "use_dualpipev",
        KeyMeaning::more("a schedule of the pipeline that is not counted"),
    ),
    (
        "moe_fb_overlap",
        KeyMeaning::more("forward and backward of two micro batches run at the same time"),
    ),
];

const VISION: KeyMeaning = KeyMeaning::more("encoders beside the language model are not counted: add them as modules");
const FROZEN: KeyMeaning = KeyMeaning::more("frozen parameters need no gradients and no optimizer states");
const RECOMPUTED: KeyMeaning = KeyMeaning::more("stages and micro batches recompute different layers");

/// What a key means; given without its sections.
pub(in crate::formats::dialects) fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key).or_else(|| megatron_lm::find(key))
}
