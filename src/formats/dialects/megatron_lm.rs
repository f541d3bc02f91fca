//! Megatron-LM's own flags.

use super::dev_branch;
use super::framework::Framework;
use super::meaning::KeyMeaning;
use crate::config::fields::FieldId;
use crate::config::not_modelled::Feature;
use crate::formats::derivations::{activation, dev_branch as dev_role, hybrid, model, vocabulary};
use crate::formats::megatron_args::{self, Arity, Known};

/// Megatron-LM's own flags.
pub static MEGATRON_LM: Framework = Framework {
    find,
    derivations: &[
        hybrid::layers,
        vocabulary::of_tokenizer,
        model::sizes_of_blocks,
        dev_role::stack,
    ],
    after_defaults: activation::quick_geglu_of_arguments,
    ..Framework::PLAIN
};

/// The meaning of a flag; given without its dashes, with dashes or underscores inside.
pub(super) fn find(name: &str) -> Option<KeyMeaning> {
    let underscored = name.replace('-', "_");
    if let Some(meaning) = hybrid::find(&underscored) {
        return Some(meaning);
    }
    match underscored.as_str() {
        "tokenizer_type" => return Some(KeyMeaning::Role(vocabulary::TOKENIZER)),
        "tokenizer_model" => return Some(KeyMeaning::Role(vocabulary::TOKENIZER_MODEL)),
        "heterogeneous_layers_config_encoded_json" => return Some(KeyMeaning::Role(model::LAYERS_OF_BLOCKS)),
        "heterogeneous_layers_config_path" => return Some(KeyMeaning::Role(model::PATH_OF_BLOCKS)),
        // Its name in earlier versions of Megatron-LM.
        "linear_attention_type" => {
            return Some(KeyMeaning::Field("experimental_attention_variant"));
        }
        // Of Pai-Megatron-Patch, and of others that took them over.
        "patch_tokenizer_type" => return Some(KeyMeaning::Role(vocabulary::PATCH)),
        "extra_vocab_size" => return Some(KeyMeaning::Role(vocabulary::EXTRA)),
        // Of Megatron-LM's development branch.
        "offload_optimizer_states" => return Some(KeyMeaning::Field("offload_optimizer_states")),
        "enable_hyper_connections" => return Some(KeyMeaning::Role(dev_role::HYPER_CONNECTIONS)),
        "csa_compress_ratios" => return Some(KeyMeaning::Role(dev_role::COMPRESS_RATIOS)),
        "apply_dsa_kernel_fusion" => return Some(KeyMeaning::Role(dev_role::KERNEL_FUSION)),
        "csa_compress_rotary_base" | "actual_vocab_size" => return Some(KeyMeaning::Irrelevant),
        _ => {}
    }
    if let Some(id) = dev_branch::field_of(&underscored) {
        return Some(KeyMeaning::Field(id.field().name));
    }
    let known = megatron_args::find(name);
    // A few fields belong to flags that change nothing in most jobs.
    if !matches!(known, Some(Known::Relevant(_)))
        && let Some(id) = FieldId::by_name(name).filter(|id| id.field().megatron)
    {
        return Some(KeyMeaning::Field(id.field().name));
    }
    Some(match known? {
        Known::Relevant(spec) if spec.arity == Arity::InvertedSwitch => KeyMeaning::Opposite(&spec.dest),
        Known::Relevant(spec) => KeyMeaning::Field(&spec.dest),
        Known::Irrelevant(_) => KeyMeaning::Irrelevant,
        Known::Elsewhere { what, .. } => match Feature::of_key(name) {
            Some(feature) => KeyMeaning::more(feature.reason),
            None => KeyMeaning::less(what),
        },
        Known::Retired { successor, .. } => KeyMeaning::Retired(successor),
    })
}
