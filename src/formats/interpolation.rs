//! References inside the values of a YAML file: to variables of the environment, `${TP}` and `${TP:-8}`, and to other
//! values of the file, `${model.hidden_size}`, as Megatron's launchers and `OmegaConf` resolve them.

use super::node::{Data, Node};
use super::shell::Variable;
use super::yaml;

/// How often the values of a file are gone through: a reference may lead to another.
const MAX_PASSES: usize = 4;
/// How many references in one value are resolved.
const MAX_IN_VALUE: usize = 16;
/// The longest list that a reference may stand for.
const MAX_ITEMS: usize = 200;
/// The longest value with references, in bytes.
const MAX_BYTES: usize = 2_000;

/// Resolves the references in all values of a tree. `answers` are values of variables. What has no value stays as
/// written; [`open_names`] finds it. Returns the variables of the environment, with the lines of the values that they
/// are in.
pub fn resolve(root: &mut Node, answers: &[(String, String)]) -> Vec<Variable> {
    let mut variables = Vec::new();
    for _ in 0..MAX_PASSES {
        let whole = root.clone();
        let mut pass = Pass {
            whole: &whole,
            answers,
            variables: &mut variables,
            changed: false,
        };
        pass.node(root, &mut Vec::new());
        if !pass.changed {
            break;
        }
    }
    variables
}

/// The variables of the environment in a text that have no value.
#[must_use]
pub fn open_names(text: &str) -> Vec<&str> {
    let parts = text.split("${").skip(1);
    parts
        .filter_map(|part| part.split_once('}'))
        .map(|(name, _)| name)
        .filter(|name| is_variable(name))
        .collect()
}

/// One walk through all values.
struct Pass<'a> {
    /// The tree as it was before.
    whole: &'a Node,
    answers: &'a [(String, String)],
    variables: &'a mut Vec<Variable>,
    changed: bool,
}

impl Pass<'_> {
    fn node(&mut self, node: &mut Node, path: &mut Vec<String>) {
        let line = node.line;
        match &mut node.data {
            Data::Map(entries) => {
                for entry in entries {
                    path.push(entry.key.clone());
                    self.node(&mut entry.node, path);
                    path.pop();
                }
            }
            Data::List(items) => items.iter_mut().for_each(|item| self.node(item, path)),
            Data::Text(text) if text.contains("${") && text.len() <= MAX_BYTES => {
                if let Some(data) = self.text(text, line, path) {
                    self.changed = true;
                    node.data = data;
                }
            }
            _ => {}
        }
    }

    /// The value of a text with references; `None` where none of them has a value.
    fn text(&mut self, text: &str, line: u32, path: &[String]) -> Option<Data> {
        let mut now = text.to_owned();
        let mut end = now.len();
        for _ in 0..MAX_IN_VALUE {
            // The last reference to begin has no other inside.
            let Some(at) = now.get(..end).and_then(|before| before.rfind("${")) else {
                break;
            };
            let inside = now.get(at + 2..)?.split_once('}').map(|(name, _)| name)?;
            let length = inside.len() + 3;
            let Some(data) = self.reference(inside, line, path) else {
                end = at;
                continue;
            };
            if length == now.len() {
                return Some(data);
            }
            let value = match data {
                Data::Text(text) => text,
                other => other.to_value().to_string(),
            };
            now = format!("{}{value}{}", now.get(..at)?, now.get(at + length..)?);
            end = now.len().min(MAX_BYTES);
        }
        (now != text).then(|| yaml::plain_scalar(&now))
    }

    /// The value that a reference stands for.
    fn reference(&mut self, inside: &str, line: u32, path: &[String]) -> Option<Data> {
        for resolver in ["oc.env:", "env:"] {
            if let Some(rest) = inside.strip_prefix(resolver) {
                let (name, default) = match rest.split_once(',') {
                    Some((name, default)) => (name, Some(default.trim())),
                    None => (rest, None),
                };
                return self.variable(name.trim(), default, line);
            }
        }
        if let Some((resolver, arguments)) = inside.split_once(':')
            && let Some(result) = computed(resolver, arguments)
        {
            return Some(Data::Int(result));
        }
        let (name, default) = match inside.split_once(':') {
            Some((name, default)) => (name, Some(default.trim_start_matches('-'))),
            None => (inside, None),
        };
        match self.value_at(name, path) {
            Some(data) => Some(data),
            None if is_variable(name) => self.variable(name, default, line),
            None => None,
        }
    }

    /// The value of a variable: the answer to it, or its default in the file.
    fn variable(&mut self, name: &str, default: Option<&str>, line: u32) -> Option<Data> {
        let mut answers = self.answers.iter().rev();
        let answer = answers.find(|(known, _)| known == name);
        let answer = answer.map(|(_, value)| value.clone());
        if !self.variables.iter().any(|known| known.name == name) {
            self.variables.push(Variable {
                name: name.to_owned(),
                lines: Vec::new(),
                default: None,
                answer: answer.clone(),
            });
        }
        let mut known = self.variables.iter_mut();
        if let Some(known) = known.find(|known| known.name == name) {
            if !known.lines.contains(&line) {
                known.lines.push(line);
            }
            if known.default.is_none() {
                known.default = default.map(str::to_owned);
            }
        }
        answer
            .as_deref()
            .or(default)
            .map(|value| yaml::plain_scalar(value.trim()))
    }

    /// The value at a path of keys: from the top of the file, or with dots in front from the map that the reference
    /// stands in.
    fn value_at(&self, name: &str, path: &[String]) -> Option<Data> {
        let keys = name.trim_start_matches('.');
        let up = name.len() - keys.len();
        let base = match up {
            0 => &[],
            up => path.get(..path.len().checked_sub(up)?)?,
        };
        let base = base.iter().map(String::as_str);
        let mut node = self.whole;
        for key in base.chain(keys.split('.')) {
            node = node.get(key)?;
        }
        match &node.data {
            Data::Map(_) => None,
            Data::List(items) if items.len() > MAX_ITEMS => None,
            Data::Text(text) if text.contains("${") => None,
            data => Some(data.clone()),
        }
    }
}

/// What the resolvers of `NeMo` compute from whole numbers.
fn computed(resolver: &str, arguments: &str) -> Option<i128> {
    let numbers = arguments.split(',').map(|number| number.trim().parse::<i128>());
    let numbers: Vec<i128> = numbers.collect::<Result<_, _>>().ok()?;
    let (first, rest) = numbers.split_first()?;
    match resolver {
        "mul" | "multiply" => rest.iter().try_fold(*first, |a, b| a.checked_mul(*b)),
        "add" | "sum" => rest.iter().try_fold(*first, |a, b| a.checked_add(*b)),
        "div" | "divide" => rest.iter().try_fold(*first, |a, b| a.checked_div(*b)),
        _ => None,
    }
}

/// Whether a name can be one of a variable of the environment.
fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}
