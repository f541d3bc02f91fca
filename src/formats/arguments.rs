//! Megatron-LM's arguments after parsing, as programs write them down: `Namespace(…)`, a dict of Python's, JSON, flat
//! YAML, and the `config.yaml` that wandb keeps.

use super::json::{self, JsonError};
use super::node::{Data, Node};
use super::python_literal;
use super::yaml::{self, YamlError};

/// Where `Namespace(` is looked for, in bytes: a log may have a time or a name before it.
const MAX_BEFORE: usize = 400;

/// Why arguments were not read.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentsError {
    /// Broken JSON.
    Json(JsonError),
    /// Broken YAML.
    Yaml(YamlError),
}

/// Whether a text prints an object of Megatron's parser.
#[must_use]
pub fn is_namespace(text: &str) -> bool {
    namespace(text).is_some() && names_argument(text)
}

/// Whether a text in braces holds the arguments of Megatron's parser. `has` tells whether it has a key in double
/// quotes.
pub(super) fn is_dict(text: &str, has: impl Fn(&str) -> bool) -> bool {
    // Arguments that are no settings of this calculator's own files.
    let of_parser = ["params_dtype", "train_iters", "data_path", "lr", "rank"];
    let of_python = ["'num_layers'", "'tensor_model_parallel_size'"];
    (has("num_layers") && of_parser.into_iter().any(has)) || of_python.into_iter().any(|key| text.contains(key))
}

/// Whether a text names arguments that only Megatron has.
#[must_use]
pub fn names_argument(text: &str) -> bool {
    text.contains("tensor_model_parallel_size") || (text.contains("num_layers") && text.contains("num_attention_heads"))
}

/// Where the arguments of a `Namespace` start.
fn namespace(text: &str) -> Option<usize> {
    let look = text.get(..text.floor_char_boundary(MAX_BEFORE))?;
    look.find("Namespace(")
}

/// Reads the arguments as one map.
///
/// # Errors
/// When the text is neither of the forms.
pub fn read(text: &str) -> Result<Node, ArgumentsError> {
    if let Some(at) = namespace(text) {
        let (before, printed) = text.split_at_checked(at).unwrap_or(("", text));
        let before = before.bytes().filter(|byte| *byte == b'\n').count();
        let mut root = python_literal::parse(printed);
        move_down(&mut root, u32::try_from(before).unwrap_or_default());
        return Ok(root);
    }
    if text.trim_start().starts_with('{') {
        return match json::parse(text) {
            Ok(root) => Ok(root),
            // A dict of Python's has single quotes and other constants.
            Err(_) if text.contains('\'') || text.contains("None") => Ok(python_literal::parse(text)),
            Err(error) => Err(ArgumentsError::Json(error)),
        };
    }
    let mut root = yaml::parse(text).map_err(ArgumentsError::Yaml)?.root;
    unwrap_values(&mut root);
    Ok(root)
}

/// Adds to the line numbers of a node.
fn move_down(node: &mut Node, lines: u32) {
    node.line = node.line.saturating_add(lines);
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| move_down(item, lines)),
        Data::Map(entries) => {
            for entry in entries {
                entry.line = entry.line.saturating_add(lines);
                move_down(&mut entry.node, lines);
            }
        }
        _ => {}
    }
}

/// wandb writes each key as a map of its value and a description; the value takes the place of the map.
fn unwrap_values(root: &mut Node) {
    let Data::Map(entries) = &mut root.data else {
        return;
    };
    entries.retain(|entry| !matches!(entry.key.as_str(), "_wandb" | "wandb_version"));
    for entry in entries {
        let Data::Map(inner) = &mut entry.node.data else {
            continue;
        };
        let is_wrapped = inner.iter().all(|inner| matches!(inner.key.as_str(), "value" | "desc"));
        if let Some(at) = inner.iter().position(|inner| inner.key == "value")
            && is_wrapped
        {
            entry.node = inner.swap_remove(at).node;
        }
    }
}
