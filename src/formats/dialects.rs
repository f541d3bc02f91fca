//! Front ends of Megatron-LM: what their keys mean, and the defaults that are their own.
//!
//! One file for each front end, all of one shape: a table of keys, `find` for one key, and `DEFAULTS`. Fields are
//! Megatron-LM's argparse destinations, as in [`megatron_args`]; values are written the way Python prints them.

mod arguments;
pub mod bridge;
mod chatlearn;
pub mod layered;
mod meaning;
mod megatron_lm;
pub mod mindspeed;
pub mod model_zoo;
pub mod neox;
pub mod slime;
pub mod swift;
pub mod verl;
mod yaml_cfg;

pub use meaning::{KeyMeaning, KeyRule};

use super::megatron_args::{self, Arity};
use crate::config::fields::FieldId;

/// A program whose configurations are read: Megatron-LM or a front end of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Megatron-LM's own flags.
    MegatronLm,
    /// Megatron-LM's arguments after parsing, by the names under which its parser stores them.
    Arguments,
    /// The file of Megatron-LM's `--yaml-cfg`.
    YamlCfg,
    /// slime: Megatron-LM's flags and some of its own.
    Slime,
    /// MindSpeed-LLM: Megatron-LM's flags and some of its own.
    MindSpeed,
    /// ms-swift's `megatron` commands.
    Swift,
    /// Megatron-Bridge's `ConfigContainer`.
    Bridge,
    /// verl's Megatron back end.
    Verl,
    /// `FlagScale`'s training configurations.
    FlagScale,
    /// Primus's trainers with Megatron-LM.
    Primus,
    /// NeMo-RL's policies with Megatron-Bridge.
    NemoRl,
    /// `NeMo` 1's GPT models.
    Nemo,
    /// `NeMo` 2's recipes.
    Nemo2,
    /// ROLL's policies with its adapter of Megatron-Core.
    Roll,
    /// GPT-NeoX's models.
    Neox,
    /// `ChatLearn`'s policies with Megatron-Core.
    ChatLearn,
}

impl Dialect {
    /// The name of the program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MegatronLm | Self::Arguments | Self::YamlCfg => "Megatron-LM",
            Self::Slime => "slime",
            Self::MindSpeed => "MindSpeed-LLM",
            Self::Swift => "ms-swift",
            Self::Bridge => "Megatron-Bridge",
            Self::Verl => "verl",
            Self::FlagScale => "FlagScale",
            Self::Primus => "Primus",
            Self::NemoRl => "NeMo-RL",
            Self::Nemo => "NeMo 1",
            Self::Nemo2 => "NeMo 2",
            Self::Roll => "ROLL",
            Self::Neox => "GPT-NeoX",
            Self::ChatLearn => "ChatLearn",
        }
    }

    /// What a key means; flags are given without their dashes.
    #[must_use]
    pub fn find(self, key: &str) -> Option<KeyMeaning> {
        match self {
            Self::MegatronLm => megatron_lm::find(key),
            Self::Arguments => arguments::find(key).or_else(|| megatron_lm::find(key)),
            Self::YamlCfg => yaml_cfg::find(key),
            Self::Slime => slime::find(key).or_else(|| megatron_lm::find(key)),
            Self::MindSpeed => mindspeed::find(key).or_else(|| megatron_lm::find(key)),
            Self::Swift => swift::find(key),
            Self::Bridge => bridge::find(key),
            Self::Verl => verl::find(key),
            Self::FlagScale => layered::flag_scale::find(key),
            Self::Primus => layered::primus::find(key),
            Self::NemoRl => layered::nemo_rl::find(key),
            Self::Nemo => layered::nemo::find(key),
            Self::Nemo2 => layered::nemo2::find(key),
            Self::Roll => layered::roll::find(key),
            Self::Neox => neox::find(key),
            Self::ChatLearn => chatlearn::find(key),
        }
    }

    /// The value of a field that the configuration leaves out, as Python would print it.
    #[must_use]
    pub fn default_of(self, destination: &str) -> Option<&'static str> {
        let own = match self {
            Self::MegatronLm | Self::YamlCfg | Self::FlagScale | Self::MindSpeed | Self::Nemo2 => &[],
            Self::Primus => layered::primus::DEFAULTS,
            Self::NemoRl => layered::nemo_rl::DEFAULTS,
            Self::Nemo => layered::nemo::DEFAULTS,
            Self::Roll => layered::roll::DEFAULTS,
            Self::Neox => neox::DEFAULTS,
            Self::ChatLearn => chatlearn::DEFAULTS,
            Self::Arguments => arguments::DEFAULTS,
            Self::Slime => slime::DEFAULTS,
            Self::Swift => swift::DEFAULTS,
            Self::Bridge => bridge::DEFAULTS,
            Self::Verl => verl::DEFAULTS,
        };
        let of_classes = match self {
            Self::Bridge | Self::NemoRl | Self::Nemo2 => bridge::CLASS_DEFAULTS,
            _ => &[],
        };
        let mut defaults = own.iter().chain(of_classes);
        defaults
            .find(|(field, _)| *field == destination)
            .map(|(_, value)| *value)
            .or_else(|| megatron_args::default_of(destination))
    }

    /// The same for a model with a `hybrid_layer_pattern`, which may be built from another class.
    #[must_use]
    pub fn hybrid_default_of(self, destination: &str) -> Option<&'static str> {
        let own = match self {
            Self::Bridge | Self::NemoRl | Self::Roll => bridge::HYBRID_DEFAULTS,
            Self::MegatronLm
            | Self::FlagScale
            | Self::Primus
            | Self::Nemo
            | Self::Nemo2
            | Self::Arguments
            | Self::YamlCfg
            | Self::Slime
            | Self::MindSpeed
            | Self::Swift
            | Self::Neox
            | Self::ChatLearn
            | Self::Verl => &[],
        };
        let own = own.iter().find(|(field, _)| *field == destination);
        own.map(|(_, value)| *value).or_else(|| self.default_of(destination))
    }
}

/// How many words a flag of Megatron-LM, slime or `MindSpeed` takes; nothing for unknown flags.
pub(crate) fn arity(flag: &str) -> Option<Arity> {
    megatron_args::arity(flag)
        .or_else(|| slime::arity(flag))
        .or_else(|| mindspeed::arity(flag))
}

/// The field for one of Megatron-LM's argparse destinations.
pub(crate) fn field_of(destination: &str) -> Option<FieldId> {
    FieldId::by_destination(destination).or_else(|| FieldId::by_name(destination))
}

/// Megatron-LM's argparse destination of a field.
pub(crate) fn destination_of(id: FieldId) -> &'static str {
    id.field().destination()
}
