//! Megatron-LM's own flags.

use super::meaning::{KeyMeaning, KeyRule, of_hybrid};
use crate::config::fields::FieldId;
use crate::config::not_modelled::Feature;
use crate::formats::megatron_args::{self, Arity, Known};

/// What a flag means; given without its dashes, with dashes or underscores inside.
pub(super) fn find(name: &str) -> Option<KeyMeaning> {
    let underscored = name.replace('-', "_");
    if let Some(meaning) = of_hybrid(&underscored) {
        return Some(meaning);
    }
    match underscored.as_str() {
        "tokenizer_type" => return Some(KeyMeaning::Rule(KeyRule::TokenizerType)),
        "tokenizer_model" => return Some(KeyMeaning::Rule(KeyRule::TokenizerModel)),
        // Its name in earlier versions of Megatron-LM.
        "linear_attention_type" => {
            return Some(KeyMeaning::Field("experimental_attention_variant"));
        }
        // Of Pai-Megatron-Patch, and of others that took them over.
        "patch_tokenizer_type" => return Some(KeyMeaning::Rule(KeyRule::PatchTokenizer)),
        "extra_vocab_size" => return Some(KeyMeaning::Rule(KeyRule::ExtraVocabulary)),
        // Of Megatron-LM's development branch.
        "offload_optimizer_states" => return Some(KeyMeaning::Field("offload_optimizer_states")),
        _ => {}
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
