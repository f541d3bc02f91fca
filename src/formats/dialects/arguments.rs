//! Megatron-LM's arguments after parsing: the destinations of its parser, and what its checks add to them.

use super::framework::{Defaults, Framework};
use super::meaning::KeyMeaning;
use super::megatron_lm;
use crate::config::fields::FieldId;
use crate::formats::derivations::{activation, hybrid, optimizer, vocabulary};
use crate::formats::megatron_args::{self, Known};

/// Megatron-LM's arguments after parsing, by the names under which its parser stores them.
pub static ARGUMENTS: Framework = Framework {
    find: |name| find(name).or_else(|| megatron_lm::find(name)),
    defaults: &[DEFAULTS],
    derivations: &[hybrid::layers, vocabulary::of_tokenizer, optimizer::layer_wise],
    after_defaults: activation::quick_geglu_of_arguments,
    ..Framework::PLAIN
};

/// Arguments that Megatron-LM adds to those of its parser, or that it makes from several of them
/// (`validate_args` in `megatron/training/arguments.py`).
const ADDED: &[&str] = &[
    "_is_global_batch_size_explicitly_specified",
    "barrier_with_L1_time",
    "bert_binary_head",
    "ckpt_fully_parallel_save_deprecated",
    "consumed_train_samples",
    "consumed_valid_samples",
    "disable_msc_deprecated",
    "dist_ckpt_format_deprecated",
    "enable_one_logger",
    "eval_global_batch_size",
    "eval_micro_batch_size",
    "inference_dynamic_batching_enable_prefix_caching",
    "metadata_path",
    "offset_sampling_seed_by_dp_rank",
    // `bf16` and `fp16` say it.
    "params_dtype",
    "perform_initialization",
    "rank",
    "skipped_train_samples",
    "transformer_pipeline_model_parallel_size",
    "use_dist_ckpt_deprecated",
    "use_gloo_process_groups",
    "variable_seq_lengths",
];

/// Values with which arguments of no field change nothing.
const DEFAULTS: Defaults = &[("gtp_weight_remat_size", "1"), ("expert_gtp_weight_remat_size", "1")];

/// The meaning of an argument; none for arguments that the pinned version does not have.
pub(super) fn find(name: &str) -> Option<KeyMeaning> {
    if let Some(meaning) = hybrid::find(name) {
        return Some(meaning);
    }
    match name {
        "tokenizer_type" => return Some(KeyMeaning::Role(vocabulary::TOKENIZER)),
        "tokenizer_model" => return Some(KeyMeaning::Role(vocabulary::TOKENIZER_MODEL)),
        "use_layer_wise_distributed_optimizer" => {
            return Some(KeyMeaning::Role(optimizer::LAYER_WISE));
        }
        "gtp_weight_remat_size" | "expert_gtp_weight_remat_size" => {
            let defaults = DEFAULTS.iter().find(|(known, _)| *known == name);
            return defaults.map(|(name, _)| KeyMeaning::Field(name));
        }
        // The first two are computed from the sizes of the other axes. For the others, arguments of checkpoints and
        // files have replaced those of the command line.
        "tensor_parallel_num_weight_shards"
        | "expert_tensor_parallel_num_weight_shards"
        | "use_checkpoint_args"
        | "use_mp_args_from_checkpoint_args"
        | "yaml_cfg" => return Some(KeyMeaning::Irrelevant),
        _ => {}
    }
    let field = FieldId::by_destination(name).filter(|id| id.field().megatron);
    if let Some(id) = field {
        return Some(KeyMeaning::Field(id.destination()));
    }
    if let Some(flag) = megatron_args::by_destination(name) {
        return Some(KeyMeaning::Field(&flag.dest));
    }
    if ADDED.contains(&name) {
        return Some(KeyMeaning::Irrelevant);
    }
    let opposite = || {
        let negations = ["no-", "disable-", "use-"];
        let mut flags = negations.into_iter().map(|negation| format!("{negation}{name}"));
        flags.find_map(|flag| megatron_args::find(&flag))
    };
    match megatron_args::find(name).or_else(opposite)? {
        Known::Irrelevant(_) | Known::Relevant(_) => Some(KeyMeaning::Irrelevant),
        Known::Elsewhere { what, .. } => Some(KeyMeaning::less(what)),
        Known::Retired { successor, .. } => Some(KeyMeaning::Retired(successor)),
    }
}
