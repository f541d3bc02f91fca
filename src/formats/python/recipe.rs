//! A file of recipe functions: the settings that one of them makes.
//!
//! Nothing is executed. One function's statements are followed in order, with constants of the file, locals and
//! arguments that are plain values, and with calls of other functions of the same file.

mod published;

use std::collections::BTreeMap;

use super::blocks::{self, Blocks, Known, Values};
use super::expressions::{call, is_literal, joined, local, named, parts, repository};
use super::file::{File, Function, Statement};
use super::{assignment, statements};
use crate::formats::dialects::bridge::base_recipes::{self, Changes};
use crate::formats::overrides::{self, Overrides};

pub use published::model_of;

/// The longest file that is read, in bytes.
pub const MAX_BYTES: usize = 400_000;
/// How deep functions of the file call each other.
const MAX_DEPTH: usize = 8;
/// How many settings one function may make, those of the functions that it calls included.
const MAX_PAIRS: usize = 2_000;

/// The configuration that one function of the file makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The functions that make a configuration, in order, with their lines.
    pub functions: Vec<(String, u32)>,
    /// The function that was followed, by its position there.
    pub taken: usize,
    /// The settings.
    pub overrides: Overrides,
    /// Functions of other files that make or change the configuration, with the lines that call them.
    pub elsewhere: Vec<(String, u32)>,
    /// Keys whose value only running the function would tell, with their lines.
    pub open: Vec<(String, u32)>,
}

/// Reads a file of functions and follows one of them: the one at `chosen`, or the first. `None` where the file has no
/// function that makes a configuration.
#[must_use]
pub fn read(text: &str, chosen: Option<usize>) -> Option<Recipe> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let file = File::new(statements(text));
    let recipes: Vec<&Function> = file
        .functions
        .iter()
        .filter(|function| !function.name.starts_with('_') && file.makes_configuration(function))
        .collect();
    let last = recipes.len().checked_sub(1)?;
    let taken = chosen.unwrap_or(0).min(last);
    let mut run = Run {
        file: &file,
        pairs: Vec::new(),
        elsewhere: Vec::new(),
        open: Vec::new(),
    };
    let function = recipes.get(taken)?;
    run.function(function, &BTreeMap::new(), 0);
    let mut pairs = run.pairs;
    let shape = [
        "model.hf_model_id",
        "model.num_layers",
        "model.hybrid_layer_pattern",
        "model.hybrid_override_pattern",
    ];
    if !pairs.iter().any(|(key, ..)| shape.contains(&key.as_str())) {
        // The model is made by a class of another file: only the recipe's name may tell which it is.
        let name = model_of(&function.name).unwrap_or(&function.name);
        let pair = ("model.hf_model_id".to_owned(), name.to_owned(), function.line);
        pairs.push(pair);
    }
    // The vocabulary of a tokenizer counts for models that have none, and those of the Hub have one.
    let is_of_hub = |(key, ..): &(String, String, u32)| key == "model.hf_model_id";
    if pairs.iter().any(is_of_hub) {
        pairs.retain(|(key, ..)| key != "tokenizer.vocab_size");
    }
    let pairs: Vec<(String, u32)> = pairs
        .into_iter()
        .map(|(key, value, line)| (format!("{key}={value}"), line))
        .collect();
    Some(Recipe {
        functions: recipes
            .iter()
            .map(|function| (function.name.clone(), function.line))
            .collect(),
        taken,
        overrides: overrides::from_words(pairs.iter().map(|(pair, line)| (pair.as_str(), *line))),
        elsewhere: run.elsewhere,
        open: run.open,
    })
}

impl File {
    /// Whether a function sets parts of a configuration, or starts from what another function makes and returns it.
    fn makes_configuration(&self, function: &Function) -> bool {
        let takes_one = function
            .parameters
            .iter()
            .any(|(name, default)| default.is_none() && matches!(name.as_str(), "cfg" | "config" | "recipe"));
        let sets = |statement: &Statement| {
            let target = assignment(&statement.text).is_some_and(|(key, _)| {
                let section = key.split('.').next().unwrap_or_default();
                super::SECTIONS.contains(&section)
            });
            let starts = local(&statement.text)
                .and_then(|(_, value)| call(value))
                .is_some_and(|(name, _)| published::is_recipe(name) || name == "ConfigContainer");
            target || starts
        };
        let returns = function.body.iter().any(|statement| {
            let value = statement.text.strip_prefix("return ");
            let value = value.or_else(|| local(&statement.text).map(|(_, value)| value));
            value.and_then(call).is_some_and(|(name, _)| {
                published::is_recipe(name) || self.find(name).is_some_and(|other| other.body.iter().any(sets))
            })
        });
        !takes_one && (function.body.iter().any(sets) || returns)
    }
}

/// A function's statements know the plain values of the run and of their locals.
impl Values for (&Run<'_>, &BTreeMap<String, String>) {
    fn known(&mut self, expression: &str) -> Known {
        let value = self.0.plain(expression.trim(), self.1);
        value.map_or(Known::Open, |value| {
            Known::Plain(value.trim_matches(['"', '\'']).to_owned())
        })
    }

    fn has_field(&mut self, _object: &str, _field: &str) -> Option<bool> {
        None
    }
}

/// The settings so far.
struct Run<'f> {
    file: &'f File,
    /// Keys, values and lines.
    pairs: Vec<(String, String, u32)>,
    elsewhere: Vec<(String, u32)>,
    open: Vec<(String, u32)>,
}

impl Run<'_> {
    /// Follows the statements of a function.
    fn function(&mut self, function: &Function, arguments: &BTreeMap<String, String>, depth: usize) {
        let mut locals: BTreeMap<String, String> = BTreeMap::new();
        for (name, default) in &function.parameters {
            if let Some(value) = arguments.get(name).or(default.as_ref()) {
                locals.insert(name.clone(), value.clone());
            }
        }
        let mut blocks = Blocks::default();
        for statement in &function.body {
            // A condition that is not known counts as true.
            let holds = |condition: &str| blocks::condition(&mut (&*self, &locals), condition).unwrap_or(true);
            if blocks.follows(statement, holds) && self.pairs.len() < MAX_PAIRS {
                self.statement(statement, &mut locals, depth);
            }
        }
    }

    /// The plain value of an expression, as written: a literal, or a name that stands for one.
    fn plain(&self, expression: &str, locals: &BTreeMap<String, String>) -> Option<String> {
        let mut value = expression;
        let is_path = |value: &str| {
            value.starts_with(|c: char| c.is_ascii_alphabetic())
                && value.bytes().all(|b| b"_.".contains(&b) || b.is_ascii_alphanumeric())
        };
        if let Some((object, key)) = value.split_once('.').filter(|_| is_path(value)) {
            // Another part of the configuration, or a constant such as `torch.bfloat16`.
            let mut set = self.pairs.iter().rev();
            return match set.find(|(known, ..)| known == key) {
                Some((_, value, _)) => Some(value.clone()),
                None => (!matches!(object, "cfg" | "config")).then(|| value.to_owned()),
            };
        }
        for _ in 0..MAX_DEPTH {
            if let Some(text) = joined(value) {
                return Some(text);
            }
            let inner = value.strip_prefix('(').and_then(|value| value.strip_suffix(')'));
            value = inner
                .filter(|inner| !inner.contains([',', '(']))
                .map_or(value, str::trim);
            let is_name = value.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
                && value.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
            if !is_name || matches!(value, "None" | "True" | "False") {
                return is_literal(value).then(|| value.to_owned());
            }
            let known = locals.get(value).or_else(|| self.file.constants.get(value));
            value = match known {
                Some(known) => known,
                None => published::constant(value)?,
            };
        }
        None
    }

    fn statement(&mut self, statement: &Statement, locals: &mut BTreeMap<String, String>, depth: usize) {
        let Statement { text, line, .. } = statement;
        if let Some((key, value)) = assignment(text) {
            self.set(key, value, *line, locals);
        } else if let Some((name, value)) = local(text) {
            match call(value) {
                Some((function, arguments)) if !function.contains('.') => {
                    self.called(function, arguments, *line, locals, depth, true);
                }
                _ => {
                    let value = self.plain(value, locals).unwrap_or_else(|| value.to_owned());
                    locals.insert(name.to_owned(), value);
                }
            }
        } else {
            let returned = text.strip_prefix("return ");
            let expression = returned.unwrap_or(text);
            if let Some((function, arguments)) = call(expression).filter(|(name, _)| !name.contains('.')) {
                self.called(function, arguments, *line, locals, depth, returned.is_some());
            }
        }
    }

    /// Follows a call: of a function of the file, or of one whose configuration is known.
    fn called(
        &mut self,
        name: &str,
        arguments: &str,
        line: u32,
        locals: &BTreeMap<String, String>,
        depth: usize,
        makes: bool,
    ) {
        let arguments = parts(arguments);
        // A configuration that a call changes is made by another call inside.
        for argument in &arguments {
            let inner =
                call(argument).filter(|(inner, _)| published::is_recipe(inner) || self.file.find(inner).is_some());
            if let Some((inner, of_inner)) = inner {
                self.called(inner, of_inner, line, locals, depth + 1, true);
            }
        }
        if let Some(function) = self.file.find(name).filter(|_| depth < MAX_DEPTH) {
            let mut given = BTreeMap::new();
            for (position, argument) in arguments.iter().enumerate() {
                let (parameter, value) = match named(argument) {
                    Some(pair) => pair,
                    None => match function.parameters.get(position) {
                        Some((parameter, _)) => (parameter.as_str(), argument.as_str()),
                        None => continue,
                    },
                };
                if let Some(value) = self.plain(value, locals) {
                    given.insert(parameter.to_owned(), value);
                }
            }
            return self.function(function, &given, depth + 1);
        }
        if name == "ConfigContainer" {
            for argument in &arguments {
                if let Some((section, value)) = named(argument) {
                    self.set(section, value, line, locals);
                }
            }
        } else if let Some(base) = published::base(name) {
            for (key, value) in base {
                self.pairs.push((key.to_owned(), value.to_owned(), line));
            }
        } else if makes && published::is_recipe(name) {
            for (key, value) in published::base_of_recipe(name) {
                self.pairs.push((key.to_owned(), value.to_owned(), line));
            }
            let model = model_of(name).unwrap_or(name);
            self.pairs
                .push(("model.hf_model_id".to_owned(), model.to_owned(), line));
            self.elsewhere.push((name.to_owned(), line));
        } else if let Some(changes) = base_recipes::changes(name) {
            self.changed(&changes, &arguments, line, locals);
        } else if arguments
            .iter()
            .any(|argument| argument.starts_with("cfg") || argument.starts_with("config"))
        {
            self.elsewhere.push((name.to_owned(), line));
        }
    }

    /// Applies what a function of another file changes in the configuration that it is given.
    fn changed(&mut self, changes: &Changes, arguments: &[String], line: u32, locals: &BTreeMap<String, String>) {
        for (key, value) in changes.settings {
            self.pairs.push(((*key).to_owned(), (*value).to_owned(), line));
        }
        let mut given = arguments.iter().filter_map(|argument| named(argument));
        let value = match given.find(|(name, _)| *name == changes.parameter) {
            Some((_, value)) => self.plain(value, locals),
            None => Some(changes.default.to_owned()),
        };
        let key = changes.key.to_owned();
        match value {
            Some(value) => self.pairs.push((key, value.trim_matches(['"', '\'']).to_owned(), line)),
            None => self.open.push((key, line)),
        }
    }

    /// Applies an assignment to a part of the configuration.
    fn set(&mut self, key: &str, value: &str, line: u32, locals: &BTreeMap<String, String>) {
        // The language model of a provider that the function has made before.
        let provider = value.strip_suffix(".to_text_provider()");
        let value = provider.and_then(|name| locals.get(name)).map_or(value, String::as_str);
        if let Some(repository) = repository(value) {
            let named = self.plain(repository, locals);
            let name = named.unwrap_or_else(|| repository.to_owned());
            let name = name.trim_matches(['"', '\'']).to_owned();
            // Settings of an earlier model are gone with it.
            self.pairs.retain(|(key, ..)| !key.starts_with("model."));
            return self.pairs.push(("model.hf_model_id".to_owned(), name, line));
        }
        let is_section = !key.contains('.');
        if let Some((class, arguments)) = call(value) {
            if class.ends_with("get_mixed_precision_config") {
                let name = parts(arguments).into_iter().next().unwrap_or_default();
                let name = self.plain(&name, locals).unwrap_or(name);
                return self.pairs.push((key.to_owned(), name, line));
            }
            if class.ends_with("_perf_precision") {
                return self.performance_precision(key, arguments, line, locals);
            }
            let is_class = class
                .rsplit('.')
                .next()
                .is_some_and(|name| name.starts_with(char::is_uppercase));
            if key == "model" && !is_class {
                return self.elsewhere.push((class.to_owned(), line));
            }
            if is_section && arguments.trim().is_empty() {
                return self.pairs.push((key.to_owned(), class.to_owned(), line));
            }
            if is_section {
                if key == "peft" {
                    self.pairs.push(("peft._target_".to_owned(), class.to_owned(), line));
                }
                for argument in parts(arguments) {
                    if let Some((name, value)) = named(&argument) {
                        self.push(format!("{key}.{name}"), value, line, locals);
                    }
                }
                return;
            }
        }
        if key.contains('.') || matches!(key, "mixed_precision" | "comm_overlap" | "peft") {
            self.push(key.to_owned(), value, line, locals);
        }
    }

    /// Applies a precision preset of performance recipes, by the name that is its argument.
    fn performance_precision(&mut self, key: &str, arguments: &str, line: u32, locals: &BTreeMap<String, String>) {
        let name = parts(arguments).into_iter().next().unwrap_or_default();
        let name = self.plain(&name, locals).unwrap_or(name);
        let preset = base_recipes::performance_precision(name.trim_matches(['"', '\'']));
        let Some((preset, changes)) = preset else {
            return self.open.push((key.to_owned(), line));
        };
        self.pairs.push((key.to_owned(), preset.to_owned(), line));
        for (name, value) in changes {
            self.pairs.push((format!("{key}.{name}"), (*value).to_owned(), line));
        }
    }

    /// Adds a setting, or records that its value is not known.
    fn push(&mut self, key: String, value: &str, line: u32, locals: &BTreeMap<String, String>) {
        // Functions and layer specifications have names of their own.
        let is_named = key.ends_with("activation_func") || key.ends_with("_spec");
        let plain = self.plain(value, locals);
        if let Some(value) = plain.or_else(|| is_named.then(|| value.to_owned())) {
            self.open.retain(|(known, _)| *known != key);
            self.pairs.push((key, value, line));
        } else {
            self.pairs.retain(|(known, ..)| *known != key);
            self.open.push((key, line));
        }
    }
}
