//! Recipes of `NeMo` 2: what the parts of a recipe are called in Megatron-Bridge, whose configuration has the same
//! fields in other sections (`nemo/lightning` and `nemo/collections/llm` at 8cfedd7203).

pub mod models;

use super::Layout;
use crate::formats::detect::Format;
use crate::formats::dialects::meaning::{
    KeyMeaning::{self, Field, Irrelevant, Rule},
    KeyRule, look_up,
};
use crate::formats::dialects::{Dialect, bridge};

/// The parts of a recipe.
pub(super) const LAYOUT: Layout = Layout {
    format: Format::Nemo2Python,
    dialect: Dialect::Nemo2,
    keys: &[
        ("trainer.num_nodes", "num_nodes"),
        ("trainer.devices", "devices"),
        ("trainer.plugins.fp8_params", "mixed_precision.fp8_param"),
        ("trainer.strategy.fsdp", "fsdp"),
        ("data.seq_length", "dataset.seq_length"),
        ("data.micro_batch_size", "train.micro_batch_size"),
        ("data.global_batch_size", "train.global_batch_size"),
        (
            "data.packed_sequence_specs.packed_sequence_size",
            "dataset.packed_sequence_specs.packed_sequence_size",
        ),
        ("data.tokenizer.0", "tokenizer.tokenizer_model"),
        // The mixed precision decides (`update_config_with_dtype_overrides`).
        ("trainer.strategy.ddp.grad_reduce_in_fp32", "ignored"),
        // The length of the data counts.
        ("model.config.seq_length", "ignored"),
    ],
    places: &[
        ("trainer.strategy.ddp.", "ddp."),
        ("trainer.strategy.", "model."),
        ("trainer.plugins.", "mixed_precision."),
        ("model.config.", "model."),
        ("optim.config.", "optimizer."),
        ("peft.", "peft."),
    ],
    ignored: &[
        "trainer.strategy.ckpt_",
        "trainer.strategy.save_ckpt_format",
        "trainer.strategy.gradient_as_bucket_view",
        "trainer.strategy.progress_interval",
        "trainer.strategy.replace_progress_bar",
        "trainer.strategy.use_te_rng_tracker",
        "trainer.accelerator",
        "trainer.accumulate_grad_batches",
        "trainer.limit_",
        "trainer.log_every_n_steps",
        "trainer.max_",
        "trainer.num_sanity_val_steps",
        "trainer.use_distributed_sampler",
        "trainer.val_check_interval",
        "trainer.enable_checkpointing",
        "trainer.logger",
        "trainer.gradient_clip_val",
        "data.",
        "optim.lr_scheduler.",
        "model.tokenizer",
    ],
    refused: &[],
    model: "model.config._class",
};

/// Names that Megatron-Bridge does not have, or has with another meaning.
const KEYS: &[(&str, KeyMeaning)] = &[
    ("ignored", Irrelevant),
    ("num_nodes", Rule(KeyRule::Nodes)),
    ("devices", Rule(KeyRule::GpusPerNode)),
    ("model.pipeline_dtype", Irrelevant),
    ("model.moe_enable_deepep", Irrelevant),
    // The fusion of the bias with dropout is called otherwise in Megatron-Core, and this name is no field of it.
    ("model.bias_dropout_add_fusion", Irrelevant),
    ("model.tp_only_amax_red", Irrelevant),
    ("model.generation_config", Irrelevant),
    (
        "model.use_transformer_engine_full_layer_spec",
        KeyMeaning::nothing("Transformer Engine's own layer keeps the same tensors"),
    ),
    ("model.vocab_size", Field("padded_vocab_size")),
    ("model.enable_cuda_graph", Field("enable_cuda_graph")),
    ("mixed_precision.autocast_enabled", Irrelevant),
    ("optimizer.lr", Irrelevant),
];

/// The meaning of a key, once the beginning of its path has been replaced as the layout's `places` say.
pub(in crate::formats::dialects) fn find(key: &str) -> Option<KeyMeaning> {
    look_up(KEYS, key).or_else(|| bridge::find(key))
}
