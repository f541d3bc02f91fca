//! Configurations whose keys form a tree: YAML, Hydra overrides and Python assignments.

use core::slice;

use super::model_zoo::FileOfModel;
use super::script::{apply_written, flag, refuse_encoders};
use super::{derive, finish, limit_keys};
use crate::config::fields::FieldId;
use crate::config::not_modelled::{MemoryEffect, NotModelled};
use crate::formats::derivations::environment::listed_variable;
use crate::formats::detect::Format;
use crate::formats::dialects::bridge::BRIDGE;
use crate::formats::dialects::chatlearn::CHATLEARN;
use crate::formats::dialects::framework::Framework;
use crate::formats::dialects::meaning::Decides;
use crate::formats::dialects::megatron_lm::MEGATRON_LM;
use crate::formats::dialects::swift::SWIFT;
use crate::formats::dialects::verl::VERL;
use crate::formats::dialects::yaml_cfg::YAML_CFG;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::imported::{Import, Question};
use crate::formats::import::key_value::KeyValue;
use crate::formats::import::keys::Keys;
use crate::formats::import::rules::decides;
use crate::formats::import::{ImportError, Options};
use crate::formats::interpolation;
use crate::formats::megatron_args::{self, Arity};
use crate::formats::node::{Data, Entry, Node};
use crate::formats::overrides::{self as hydra, Overrides};
use crate::formats::python::recipe::{self, Recipe};
use crate::formats::report::{KeyStatus, shown};
use crate::formats::shell::{ShellImport, Word};
use crate::formats::{python as assignments, yaml};
use crate::value::Value;

/// A YAML file with the flags of Megatron-LM as keys of `MODEL_ARGS`, as Megatron-LM's functional tests have them.
pub(in crate::formats::import) fn model_args(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let mut root = yaml::parse(text).map_err(ImportError::Yaml)?.root;
    let of_model = FileOfModel::of(&root, options.variables);
    let launched = of_model.as_ref().map(FileOfModel::variables);
    let known = launched.as_deref().unwrap_or(options.variables);
    let mut variables = interpolation::resolve(&mut root, known);
    refuse_other_tests(&root)?;
    let mut draft = JobDraft::new(&MEGATRON_LM);
    let mut keys = Keys::default();
    for section in root.entries() {
        let item_of = |entry: &Entry| KeyValue {
            key: entry.key.clone(),
            value: unquoted(entry.node.to_value()),
            line: entry.line,
        };
        if section.key == "ENV_VARS" {
            limit_keys(section.node.entries().len())?;
            for item in section.node.entries().iter().map(item_of) {
                listed_variable(&mut draft, &item);
            }
            continue;
        }
        if section.key != "MODEL_ARGS" {
            let item = item_of(section);
            draft.row(&item, KeyStatus::Ignored, None, "not an argument of the model");
            continue;
        }
        limit_keys(section.node.entries().len())?;
        for entry in section.node.entries() {
            let name = entry.key.trim_start_matches('-');
            let item = item_of(entry);
            let arity = megatron_args::arity(name);
            let switch = matches!(arity, Some(Arity::Switch | Arity::InvertedSwitch));
            if switch && matches!(entry.node.data, Data::Bool(false) | Data::Null)
                || of_model.is_some() && FileOfModel::leaves_out(&item.value)
            {
                draft.row(&item, KeyStatus::Ignored, None, "switched off");
            } else {
                draft.apply_referring(&mut keys, &item, name);
            }
        }
        if let Some(of_model) = &of_model {
            let script = ShellImport::default();
            of_model.add(&mut draft, &mut keys, &section.node, |draft, keys, added| {
                flag(draft, keys, added, &script);
            });
        }
    }
    if let Some(of_model) = &of_model {
        of_model.defaults(&mut variables);
    }
    refuse_encoders(&keys)?;
    derive(&mut draft, &keys);
    draft.ask_for(variables);
    finish(draft, Format::ModelArgsYaml, options)
}

/// Refuses functional tests that train no GPT. Such files do not say which program they are for, but that of inference
/// is their `MODE`, and the data of BERT and T5 are named after them.
fn refuse_other_tests(root: &Node) -> Result<(), ImportError> {
    let is_inference = |node: &Node| shown(&node.to_value()) == "inference";
    if root.get("MODE").is_some_and(is_inference) {
        return Err(ImportError::NotRead("a job of inference"));
    }
    let data = |node: &Node| {
        let path = shown(&node.get("--data-path")?.to_value()).to_ascii_lowercase();
        let mut words = path.split(|c: char| !c.is_ascii_alphanumeric());
        words.find_map(|word| match word {
            "bert" => Some("a job of BERT, by the name of its data"),
            "t5" => Some("a job of T5, by the name of its data"),
            _ => None,
        })
    };
    match root.get("MODEL_ARGS").and_then(data) {
        Some(what) => Err(ImportError::NotRead(what)),
        None => Ok(()),
    }
}

/// A value that was quoted once more for a shell.
fn unquoted(value: Value) -> Value {
    let Value::Text(text) = &value else {
        return value;
    };
    let inner = ['\'', '"'].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    });
    inner.map_or(value.clone(), |inner| Value::Text(inner.to_owned()))
}

/// A configuration of a front end as YAML.
pub(in crate::formats::import) fn yaml_tree(
    text: &str,
    format: Format,
    options: &Options<'_>,
) -> Result<Import, ImportError> {
    let mut root = yaml::parse(text).map_err(ImportError::Yaml)?.root;
    let variables = interpolation::resolve(&mut root, options.variables);
    let framework = match format {
        Format::VerlYaml => &VERL,
        Format::MegatronYaml => &YAML_CFG,
        Format::SwiftYaml => &SWIFT,
        _ => &BRIDGE,
    };
    let mut draft = read_tree(&root, framework, None)?;
    draft.ask_for(variables);
    super::fits(&draft, format)?;
    finish(draft, format, options)
}

/// Hydra overrides without the program that they belong to.
pub(in crate::formats::import) fn overrides(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let set = hydra::parse(text);
    let framework = framework_of_keys(&set.root);
    assigned(set, framework, Format::Overrides, options)
}

/// Assignments in Python, as recipes of Megatron-Bridge have them.
pub(in crate::formats::import) fn python(text: &str, options: &Options<'_>) -> Result<Import, ImportError> {
    let Some(first) = recipe::read(text, None) else {
        let set = assignments::parse(text);
        return assigned(set, &BRIDGE, Format::BridgePython, options);
    };
    let line = first.functions.first().map_or(1, |(_, line)| *line);
    let mut answers = options.branches.iter().rev();
    let recipe = match answers.find(|(known, _)| *known == line) {
        Some((_, chosen)) => recipe::read(text, Some(*chosen)).unwrap_or(first),
        None => first,
    };
    recipe_function(recipe, line, options)
}

/// The job that one function of a file of recipes makes. `line` is that of the first function, at which the question
/// stands which one.
fn recipe_function(recipe: Recipe, line: u32, options: &Options<'_>) -> Result<Import, ImportError> {
    let mut draft = read_tree(&recipe.overrides.root, &BRIDGE, None)?;
    for (key, line) in recipe.elsewhere {
        let item = KeyValue {
            key,
            value: Value::Null,
            line,
        };
        let note = "a function of another file, whose settings are not in the text";
        if HARMLESS.contains(&item.key.as_str()) {
            draft.row(&item, KeyStatus::Ignored, None, "does not change memory");
        } else {
            draft.not_modelled(&item, MemoryEffect::More, note);
        }
    }
    for (key, line) in recipe.open {
        let item = KeyValue {
            value: Value::Null,
            line,
            key,
        };
        if let Decides::Setting(field) = decides(&BRIDGE, &item.key) {
            let why = "only running the recipe would tell its value";
            draft.add_missing(&item, field, why.to_owned());
            draft.marks.push(NotModelled::new(&item.key, why));
        }
    }
    if let Some((name, at)) = recipe.functions.get(recipe.taken) {
        let item = KeyValue {
            key: name.clone(),
            value: Value::Null,
            line: *at,
        };
        draft.row(&item, KeyStatus::Mapped, None, "the function that is read");
        if let Some(gpus) = gpus_in_name(name)
            && !draft.has(FieldId::world_size)
        {
            let value = Value::Int(gpus.into());
            let note = "by the name of the recipe";
            draft.set(&item, FieldId::world_size, value, KeyStatus::Derived, note);
        }
    }
    if recipe.functions.len() > 1 {
        draft.questions.push(Question::Branch {
            line,
            labels: recipe.functions.into_iter().map(|(name, _)| name).collect(),
            taken: Some(recipe.taken),
        });
    }
    finish(draft, Format::BridgePython, options)
}

/// Functions of other files that recipes call and that leave memory as it is.
const HARMLESS: [&str; 2] = ["apply_determinism_overrides", "set_cuda_graph_modules"];

/// The number of GPUs in the name of a recipe, such as `llama3_8b_pretrain_8gpu_h100_bf16_config`.
fn gpus_in_name(name: &str) -> Option<u64> {
    let mut parts = name.split('_');
    parts.find_map(|part| part.strip_suffix("gpu")?.parse().ok())
}

fn assigned(
    set: Overrides,
    framework: &'static Framework,
    format: Format,
    options: &Options<'_>,
) -> Result<Import, ImportError> {
    let mut draft = read_tree(&set.root, framework, None)?;
    for (key, line) in set.removed.into_iter().chain(set.unread) {
        let item = KeyValue {
            key,
            value: Value::Null,
            line,
        };
        draft.row(&item, KeyStatus::Ignored, None, "not a setting");
    }
    finish(draft, format, options)
}

/// The front end that overrides belong to, by their sections.
pub(super) fn framework_of_keys(root: &Node) -> &'static Framework {
    let has = |name: &str| {
        root.entries()
            .iter()
            .any(|entry| entry.key.split('.').next() == Some(name))
    };
    if has("models") && has("runtime_args") {
        return &CHATLEARN;
    }
    // Sections that Megatron-Bridge does not have.
    let verl = [
        "actor_rollout_ref",
        "trainer",
        "data",
        "actor",
        "engine",
        "optim",
        "algorithm",
    ];
    let is_verl = root.entries().iter().any(|entry| {
        let first = entry.key.split('.').next().unwrap_or_default();
        verl.contains(&first)
    });
    if is_verl { &VERL } else { &BRIDGE }
}

/// Applies the leaves of a tree of maps. `script` is the script whose words set them, if it was a script.
pub(super) fn read_tree(
    root: &Node,
    framework: &'static Framework,
    script: Option<&ShellImport>,
) -> Result<JobDraft, ImportError> {
    let mut draft = JobDraft::new(framework);
    let leaves = leaves_of(root);
    limit_keys(leaves.len())?;
    let mut keys = Keys::of_tree(&leaves);
    (framework.begin)(&mut draft, root, &keys)?;
    for item in &leaves {
        let name = (framework.name_of)(&item.key);
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with('_') && name != "peft._target_" {
            draft.row(item, KeyStatus::Ignored, None, "how the configuration is built");
        } else if !(framework.special)(&mut draft, &mut keys, item, &name) {
            let word = script.and_then(|script| Some((script, word_of(item, script)?)));
            match word {
                Some((script, word)) => {
                    apply_written(&mut draft, &mut keys, item, &name, slice::from_ref(word), script);
                }
                None => draft.apply_referring(&mut keys, item, &name),
            }
        }
    }
    derive(&mut draft, &keys);
    Ok(draft)
}

/// The word of a script that sets a key.
fn word_of<'s>(item: &KeyValue, script: &'s ShellImport) -> Option<&'s Word> {
    script.command.arguments.iter().find(|word| {
        let (key, _) = word.text.split_once('=').unwrap_or_default();
        word.line == item.line && key.trim_start_matches('+') == item.key
    })
}

/// The leaves of a tree, with dotted paths as keys.
pub(super) fn leaves_of(root: &Node) -> Vec<KeyValue> {
    let mut leaves = Vec::new();
    flatten(root, "", &mut leaves);
    leaves
}

/// Collects the leaves of a tree, with dotted paths as keys.
fn flatten(node: &Node, path: &str, leaves: &mut Vec<KeyValue>) {
    for entry in node.entries() {
        let key = if path.is_empty() {
            entry.key.clone()
        } else {
            format!("{path}.{}", entry.key)
        };
        // An object of Python's is one value.
        let is_object = entry.node.get("_target_").is_some() && entry.node.entries().len() <= 3;
        let inner = !entry.node.entries().is_empty() && (path.is_empty() || !is_object);
        if inner {
            flatten(&entry.node, &key, leaves);
        } else {
            leaves.push(KeyValue {
                key,
                value: entry.node.to_value(),
                line: entry.line,
            });
        }
    }
}
