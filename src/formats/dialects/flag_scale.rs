//! `FlagScale`'s training configurations.

mod meshes;
mod tower;

use super::framework::{Files, Framework, Signs};
use super::meaning::KeyMeaning::{self, Field, Irrelevant, Role};
use super::meaning::look_up;
use super::megatron_lm;
use crate::config::canonical::is_on;
use crate::config::choices::AdapterType;
use crate::config::fields::FieldId;
use crate::formats::derivations::{activation, adapters, hybrid, vocabulary};
use crate::formats::import::ImportError;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::values::{Decimal, int, is_off};
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// `FlagScale`'s training configurations.
pub static FLAG_SCALE: Framework = Framework {
    name: "FlagScale",
    find,
    files: Some(FILES),
    signs: &[
        Signs {
            refused: None,
            all: &["system:", "model:"],
            any: &[
                "tensor_model_parallel_size",
                "precision",
                "make_vocab_size_divisible_by",
            ],
        },
        Signs {
            refused: Some("the part of a FlagScale configuration that says how it is launched"),
            all: &["experiment", "action"],
            any: &["defaults"],
        },
    ],
    begin: |_, _, keys| refuse(keys),
    special,
    derivations: &[
        meshes::sizes,
        width,
        |draft, keys| draft.towers = tower::read(keys).into_iter().collect(),
        adapters,
        hybrid::layers,
        vocabulary::of_tokenizer,
    ],
    after_defaults: activation::quick_geglu_of_arguments,
    ..Framework::PLAIN
};

/// `FlagScale` gives every leaf below these sections to Megatron-LM as a flag.
const FILES: Files = Files {
    id: "flag_scale_yaml",
    label: "a FlagScale configuration",
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
    ..Files::NONE
};

/// Arguments that `FlagScale` adds to Megatron-LM's, but for those of [`WIDTH`] and of process meshes.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("norm_init_weight", Irrelevant),
    ("wandb_mode", Irrelevant),
    ("enable_variable_seq_lengths", Irrelevant),
    ("max_padding_length", Irrelevant),
    ("mm_patch_merge_type", Irrelevant),
    ("attention_backend", Field("attention_backend")),
    ("freeze_ViT", FROZEN),
    ("peft_type", Role(adapters::SETTING)),
    ("lora_target_modules", Role(adapters::SETTING)),
    ("lora_dim", Role(adapters::SETTING)),
    ("lora_alpha", Role(adapters::SETTING)),
    ("lora_dropout", Role(adapters::SETTING)),
    ("lora_dropout_position", Role(adapters::SETTING)),
    ("lora_in_init_method", Role(adapters::SETTING)),
    ("lora_out_init_method", Role(adapters::SETTING)),
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

/// The meaning of a key; given without its sections.
fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key).or_else(|| megatron_lm::find(key))
}

/// Keys that decide the width of the MLP where it is not given.
const WIDTH: [&str; 2] = ["multiple_of", "hidden_dim_multiplier"];

/// Reports the keys that [`width`] and [`meshes::sizes`] read. Returns whether the key is one of them.
fn special(draft: &mut JobDraft, _: &mut Keys<'_>, item: &KeyValue, name: &str) -> bool {
    let is_width = WIDTH.contains(&name);
    if is_width {
        draft.row(item, KeyStatus::Derived, Some(FieldId::ffn_hidden_size), "");
    }
    is_width || meshes::special(draft, item, name)
}

/// Refuses files of jobs that are not read.
fn refuse(keys: &Keys<'_>) -> Result<(), ImportError> {
    let rwkv = "a FlagScale configuration of RWKV, whose tokenizer has a path and no type";
    match meshes::refused(keys).or_else(|| is_rwkv(keys).then_some(rwkv)) {
        Some(what) => Err(ImportError::NotRead(what)),
        None => Ok(()),
    }
}

/// Whether a file can only be for `train_rwkv.py`. The trainers of GPTs take GPT-2's tokenizer where no type is given,
/// and that one needs the file of its vocabulary; the trainer of Qwen2.5-VL takes that of its model, and has its kind
/// of positions.
fn is_rwkv(keys: &Keys<'_>) -> bool {
    let has = |name: &str| keys.named(name).is_some();
    has("tokenizer_path")
        && ["tokenizer_type", "vocab_file", "mrope_section"]
            .into_iter()
            .all(|name| !has(name))
}

/// Sets the width of a gated MLP: two thirds of four times the hidden size, widened by a factor, and rounded up to a
/// multiple.
fn width(draft: &mut JobDraft, keys: &Keys<'_>) {
    let id = FieldId::ffn_hidden_size;
    let Some(item) = keys.named("multiple_of") else {
        return;
    };
    let (Some(multiple), Some(hidden)) = (int(item), draft.number(FieldId::hidden_size)) else {
        return;
    };
    if draft.has(id) || multiple == 0 || !is_on(&draft.settings, FieldId::swiglu) {
        return;
    }
    let base = hidden.saturating_mul(8) / 3;
    let factor = keys.named("hidden_dim_multiplier");
    let factor = factor.and_then(|item| shown(&item.value).parse::<Decimal>().ok());
    let wide = factor.map_or(base, |factor| factor.of(base));
    let width = wide.div_ceil(multiple).saturating_mul(multiple);
    let note = "two thirds of 4 · hidden_size, rounded up";
    draft.set(item, id, Value::Int(width.into()), KeyStatus::Derived, note);
}

/// `flagscale/train/peft` has `LoRA` alone. Its second matrix beside a row-parallel layer is whole on every
/// tensor-parallel rank, where Megatron-Bridge's is split: less than 1 % of the memory of a rank.
fn adapters(draft: &mut JobDraft, keys: &Keys<'_>) {
    let kind = adapters::find(keys, "peft_type").filter(|item| !is_off(&item.value));
    adapters::set(draft, keys, Ok(kind.map(|_| adapters::named(AdapterType::Lora))), &[]);
}
