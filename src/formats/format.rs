//! The kinds of texts that are read.

use serde::{Serialize, Serializer};
use strum::{EnumIter, IntoStaticStr};

use super::dialects::framework::Framework;

/// The formats that are recognised and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Format {
    /// A share link of this calculator, or a page's address with one.
    #[strum(serialize = "link")]
    ShareLink,
    /// A configuration that this calculator wrote as JSON.
    #[strum(serialize = "json")]
    OwnJson,
    /// The name or address of a model on the Hugging Face Hub, or the id of a preset.
    #[strum(serialize = "hub")]
    HubModel,
    /// A model's `config.json`.
    HfConfig,
    /// Flags or a command of Megatron-LM.
    #[strum(serialize = "megatron_args")]
    MegatronFlags,
    /// A bash script that launches Megatron-LM.
    Script,
    /// `MODEL_ARGS:` with flags as keys.
    #[strum(serialize = "model_args")]
    ModelArgsYaml,
    /// A configuration of Megatron-Bridge as YAML.
    BridgeYaml,
    /// A recipe of Megatron-Bridge: Python that sets parts of a configuration.
    BridgePython,
    /// A configuration of verl as YAML.
    VerlYaml,
    /// Megatron-LM's `--yaml-cfg`.
    MegatronYaml,
    /// A command of ms-swift.
    #[strum(serialize = "swift")]
    SwiftCommand,
    /// The arguments of such a command as YAML.
    SwiftYaml,
    /// A file of recipes of `NeMo` 2: Python that configures a model, a trainer, data and an optimizer.
    #[strum(serialize = "nemo2_python")]
    Nemo2Python,
    /// Hydra overrides, alone or after a command.
    Overrides,
    /// A log of a training run with the arguments that Megatron-LM prints when it starts.
    #[strum(serialize = "log")]
    TrainingLog,
    /// Megatron-LM's arguments after parsing: `Namespace(…)`, a dict of Python's, JSON, flat YAML, or `config.yaml` of
    /// wandb.
    Arguments,
    /// A YAML file of a framework, with Megatron's arguments below sections of its own.
    #[strum(disabled)]
    FrameworkYaml(&'static Framework),
}

impl Format {
    /// Its name in programs.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::FrameworkYaml(framework) => framework.files.as_ref().map_or("", |files| files.id),
            format => format.into(),
        }
    }

    /// Its name for people, with an article where one belongs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::ShareLink => "a link to this calculator",
            Self::OwnJson => "a job saved as JSON",
            Self::HubModel => "the name of a model",
            Self::HfConfig => "a model's config.json",
            Self::MegatronFlags => "Megatron-LM flags",
            Self::Script => "a launch script",
            Self::ModelArgsYaml => "MODEL_ARGS YAML",
            Self::BridgeYaml => "a Megatron-Bridge configuration",
            Self::BridgePython => "a Megatron-Bridge recipe",
            Self::VerlYaml => "a verl configuration",
            Self::MegatronYaml => "a Megatron-LM configuration (--yaml-cfg)",
            Self::SwiftCommand => "an ms-swift command",
            Self::SwiftYaml => "an ms-swift configuration",
            Self::Nemo2Python => "a NeMo 2 recipe",
            Self::Overrides => "Hydra overrides",
            Self::TrainingLog => "a training log",
            Self::Arguments => "Megatron-LM's arguments",
            Self::FrameworkYaml(framework) => framework.files.as_ref().map_or("", |files| files.label),
        }
    }
}

/// Writes its name in programs.
impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
