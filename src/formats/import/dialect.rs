//! Front ends: what their keys mean, and what they take for what is left out.

use crate::config::fields::FieldId;
use crate::formats::keys::{Meaning, Rule};
use crate::formats::megatron_args::{self, Arity, Known};
use crate::formats::{bridge_keys, slime_keys, swift_keys, verl_keys};

/// A front end of Megatron.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    MegatronLm,
    Slime,
    Swift,
    Bridge,
    Verl,
}

/// What a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// What the front end's table says.
    Means(Meaning),
    /// A flag that the pinned version no longer has.
    Retired(Option<&'static str>),
}

impl Dialect {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::MegatronLm => "Megatron-LM",
            Self::Slime => "slime",
            Self::Swift => "ms-swift",
            Self::Bridge => "Megatron-Bridge",
            Self::Verl => "verl",
        }
    }

    /// What a key means; for flags without their dashes.
    pub(super) fn find(self, key: &str) -> Option<Found> {
        let own = match self {
            Self::MegatronLm => None,
            Self::Slime => slime_keys::find(key),
            Self::Bridge => return bridge_keys::find(key).map(Found::Means),
            Self::Verl => return verl_keys::find(key).map(Found::Means),
            Self::Swift => {
                return match flag(key) {
                    // An inverted flag under its own name, not the field's.
                    Some(Found::Means(Meaning::Opposite(field)))
                        if key.replace('-', "_") != field =>
                    {
                        Some(Found::Means(Meaning::Opposite(field)))
                    }
                    _ => swift_keys::find(key).map(Found::Means),
                };
            }
        };
        own.map(Found::Means).or_else(|| flag(key))
    }

    /// What the front end takes for a field that is left out, as Python would print it.
    pub(crate) fn default_of(self, destination: &str) -> Option<&'static str> {
        let own = match self {
            Self::MegatronLm => &[],
            Self::Slime => slime_keys::DEFAULTS,
            Self::Swift => swift_keys::DEFAULTS,
            Self::Bridge => bridge_keys::DEFAULTS,
            Self::Verl => verl_keys::DEFAULTS,
        };
        let own = own.iter().find(|(field, _)| *field == destination);
        own.map(|(_, value)| *value)
            .or_else(|| megatron_args::default_of(destination))
    }
}

/// What a flag of Megatron-LM means.
fn flag(name: &str) -> Option<Found> {
    match name.replace('-', "_").as_str() {
        "tokenizer_type" => return Some(Found::Means(Meaning::Rule(Rule::TokenizerType))),
        "tokenizer_model" => return Some(Found::Means(Meaning::Rule(Rule::TokenizerModel))),
        _ => {}
    }
    let known = megatron_args::find(name);
    // Some fields of ours belong to flags that change nothing in most jobs.
    if !matches!(known, Some(Known::Relevant(_)))
        && let Some(id) = FieldId::by_name(name).filter(|id| id.presentation().megatron)
    {
        return Some(Found::Means(Meaning::Field(id.field().name)));
    }
    Some(match known? {
        Known::Relevant(spec) if spec.arity == Arity::InvertedSwitch => {
            Found::Means(Meaning::Opposite(spec.dest))
        }
        Known::Relevant(spec) => Found::Means(Meaning::Field(spec.dest)),
        Known::Irrelevant(_) => Found::Means(Meaning::Irrelevant),
        Known::Elsewhere { what, .. } => Found::Means(Meaning::NotModelled(what)),
        Known::Retired { successor, .. } => Found::Retired(successor),
    })
}

/// Our field for one of Megatron-LM's argparse destinations.
pub(super) fn field_of(destination: &str) -> Option<FieldId> {
    match destination {
        "fp8" => Some(FieldId::fp8_format),
        "layernorm_zero_centered_gamma" => Some(FieldId::apply_layernorm_1p),
        other => FieldId::by_name(other),
    }
}

/// Megatron-LM's argparse destination of one of our fields.
pub(crate) fn destination_of(id: FieldId) -> &'static str {
    match id {
        FieldId::fp8_format => "fp8",
        FieldId::apply_layernorm_1p => "layernorm_zero_centered_gamma",
        FieldId::microbatch_group_size_per_virtual_pipeline_stage => {
            "microbatch_group_size_per_vp_stage"
        }
        other => other.field().name,
    }
}
