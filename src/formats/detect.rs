//! Recognises the format of a pasted text.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use strum::IntoEnumIterator as _;

use super::dialects::FRAMEWORKS;
pub use super::format::Format;
use super::{arguments, frameworks, hub, overrides, paste, python, training_log};

impl Format {
    /// All formats.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_frameworks = FRAMEWORKS.iter().filter(|framework| framework.files.is_some());
        Self::iter().chain(of_frameworks.map(|framework| Self::FrameworkYaml(framework)))
    }

    /// The format with a name in programs.
    #[must_use]
    pub fn by_id(id: &str) -> Option<Self> {
        Self::all().find(|format| format.id() == id)
    }
}

/// Reads its name in programs.
impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = Cow::<str>::deserialize(deserializer)?;
        Self::by_id(&id).ok_or_else(|| D::Error::custom(format!("no format is called {id}")))
    }
}

/// A recognised format and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The format.
    pub format: Format,
    /// Why, as the end of a sentence that starts with "because".
    pub reason: &'static str,
}

/// How much of a text is looked at, in bytes. The marks of a format stand near its beginning.
const MAX_LOOK: usize = 200_000;

/// The format of a pasted text, or `None` where it has the marks of no format.
#[must_use]
pub fn detect(text: &str) -> Option<Detected> {
    recognize(&paste::clean(text))
}

/// The format of a text that has nothing around it, or `None` where it has the marks of no format.
pub(super) fn recognize(text: &str) -> Option<Detected> {
    let found = |format, reason| Some(Detected { format, reason });
    let text = text.trim_start_matches('\u{feff}').trim();
    if training_log::is_log(text) {
        return found(
            Format::TrainingLog,
            "it has the arguments that Megatron-LM prints when it starts",
        );
    }
    let text = text.get(..text.floor_char_boundary(MAX_LOOK)).unwrap_or(text);
    if is_link(text) {
        return found(Format::ShareLink, "it has the mark of a share link");
    }
    if hub::is_named(text) {
        return found(Format::HubModel, "it names a model");
    }
    if arguments::is_namespace(text) {
        return found(Format::Arguments, "it prints a Namespace with Megatron's arguments");
    }
    if frameworks::is_neox(text) {
        return None;
    }
    if text.starts_with('{') {
        return json(text);
    }
    if frameworks::is_nemo2(text) {
        return found(Format::Nemo2Python, "it configures a job with nemo_run");
    }
    if let Some(framework) = frameworks::with_sections(text) {
        return found(
            Format::FrameworkYaml(framework),
            "it has the sections of this framework",
        );
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let code = || lines().filter(|line| !line.starts_with('#'));
    let first = text.lines().next().unwrap_or_default();
    let is_python = !first.starts_with("#!") || first.contains("python");
    let makes_recipe = |line: &str| line.starts_with("def ") && line.contains("-> ConfigContainer");
    if is_python && code().any(|line| python::sets_configuration(line) || makes_recipe(line)) {
        return found(Format::BridgePython, "it sets parts of a configuration in Python");
    }
    if code().any(|line| line.starts_with("MODEL_ARGS:")) {
        return found(Format::ModelArgsYaml, "it has the key MODEL_ARGS");
    }
    if is_swift(text) {
        return found(Format::SwiftCommand, "it starts ms-swift");
    }
    let flags = code().any(has_flag);
    let overridden = code()
        .flat_map(str::split_whitespace)
        .filter(|word| is_override(word))
        .count();
    let script = || found(Format::Script, "it has lines of a shell script");
    if overridden > 0 && !flags_outnumber(text, overridden) {
        // Only a shell knows what the variables in them stand for.
        if text.starts_with("#!") || text.contains('$') && code().any(is_shell) {
            return script();
        }
        return found(Format::Overrides, "it sets keys with dots and an equals sign");
    }
    if text.starts_with("#!") || flags && code().any(is_shell) {
        return script();
    }
    let yaml = yaml(text);
    if yaml.is_some() && !flags {
        return yaml;
    }
    if flags {
        return found(Format::MegatronFlags, "it has flags with two dashes");
    }
    if training_log::has_measurements(text) {
        return found(Format::TrainingLog, "it has measurements of a training run");
    }
    if code().any(is_shell) {
        return script();
    }
    None
}

/// Whether a text is a link of this calculator.
pub(super) fn is_link(text: &str) -> bool {
    let one_word = !text.contains(char::is_whitespace);
    let fragment = match text.split_once('#') {
        Some((_, fragment)) => fragment,
        // What follows the # of an address, by itself.
        None if text.contains([';', ':']) => text,
        None => return false,
    };
    one_word && (is_version(fragment, 'v', ';') || is_version(fragment, 'z', ':'))
}

/// `v1;` or `z1:`
fn is_version(fragment: &str, letter: char, end: char) -> bool {
    fragment.strip_prefix(letter).is_some_and(|rest| {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < rest.len() && (digits.is_empty() || digits.starts_with(end))
    })
}

/// Whether a text is a job document of this calculator, which names its schema.
pub(super) fn is_document(text: &str) -> bool {
    text.starts_with('{') && text.contains("megatron-memory")
}

fn json(text: &str) -> Option<Detected> {
    let has = |key: &str| {
        text.match_indices(key).any(|(at, _)| {
            let before = text.get(..at).is_some_and(|before| before.ends_with('"'));
            let after = text.get(at + key.len()..).unwrap_or_default();
            let closed = after.strip_prefix('"').map(str::trim_start);
            before && closed.is_some_and(|after| after.starts_with(':'))
        })
    };
    let found = |format, reason| Some(Detected { format, reason });
    if is_document(text) {
        return found(Format::OwnJson, "it names this calculator's schema");
    }
    if has("model_type") || has("architectures") || has("num_hidden_layers") {
        return found(Format::HfConfig, "it has the keys of a Hugging Face model");
    }
    if arguments::is_dict(text, has) {
        return found(Format::Arguments, "it has the arguments of Megatron's parser");
    }
    if has("tensor_model_parallel_size") || has("num_layers") {
        return found(Format::OwnJson, "it has Megatron's field names as JSON");
    }
    None
}

fn is_swift(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let task = words.peek().copied().unwrap_or_default();
        let name = word.rsplit('/').next().unwrap_or_default();
        if matches!(name, "megatron" | "swift") && matches!(task, "pt" | "sft" | "rlhf" | "export") {
            return true;
        }
    }
    false
}

fn is_flag(word: &str) -> bool {
    let word = word.trim_start_matches(['"', '\'']);
    word.strip_prefix("--")
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.ends_with(':'))
}

fn has_flag(line: &str) -> bool {
    line.split_whitespace().any(is_flag)
}

fn is_override(word: &str) -> bool {
    let word = word.trim_start_matches(['+', '\'', '"']);
    word.split_once('=')
        .is_some_and(|(key, _)| key.contains('.') && !key.ends_with('.') && overrides::is_key(key))
}

/// Whether a text with a few overrides is rather a list of flags.
fn flags_outnumber(text: &str, overridden: usize) -> bool {
    text.split_whitespace().filter(|word| is_flag(word)).count() > overridden.saturating_mul(2)
}

fn is_shell(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let assigns = first.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end_matches('+');
        name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
    });
    assigns
        || matches!(
            first,
            "export"
                | "if"
                | "for"
                | "case"
                | "fi"
                | "done"
                | "source"
                | "set"
                | "torchrun"
                | "srun"
                | "python"
                | "python3"
                | "bash"
                | "ray"
                | "sbatch"
        )
}

fn yaml(text: &str) -> Option<Detected> {
    let found = |format, reason| Some(Detected { format, reason });
    let mut keys = 0_usize;
    let mut bridge = false;
    let mut swift = false;
    let mut model = false;
    let mut wandb = false;
    let mut language_model = false;
    for line in text.lines() {
        let indented = line.starts_with([' ', '\t']);
        let line = line.trim();
        let Some((key, rest)) = line.trim_start_matches("- ").split_once(':') else {
            continue;
        };
        if !(rest.is_empty() || rest.starts_with(' ')) || key.contains(' ') {
            continue;
        }
        keys += 1;
        match key {
            "actor_rollout_ref" => {
                return found(Format::VerlYaml, "it has the key actor_rollout_ref");
            }
            "dataset_num_proc" | "model_type" | "padding_free" | "rlhf_type" | "split_dataset_ratio" | "tuner_type" => {
                swift = true;
            }
            "_target_" => bridge = bridge || rest.contains("megatron"),
            "language_model" | "model_parallel" if !indented => language_model = true,
            "_wandb" | "wandb_version" if !indented => wandb = true,
            "model" | "train" | "ddp" | "optimizer" if !indented && rest.trim().is_empty() => {
                model = true;
            }
            _ => {}
        }
    }
    if wandb && arguments::names_argument(text) {
        return found(Format::Arguments, "it has Megatron's arguments as wandb keeps them");
    }
    if bridge {
        return found(Format::BridgeYaml, "it has targets of Megatron-Bridge");
    }
    if swift {
        return found(Format::SwiftYaml, "it has arguments of ms-swift as YAML keys");
    }
    if language_model {
        return found(Format::MegatronYaml, "it has the sections of --yaml-cfg");
    }
    if model {
        return found(
            Format::BridgeYaml,
            "it has the sections of a Megatron-Bridge configuration",
        );
    }
    if keys > 2 && arguments::names_argument(text) {
        return found(Format::Arguments, "it has Megatron's arguments as YAML keys");
    }
    None
}
