//! Assignments in Python, `cfg.model.num_layers = 32`, to the same tree as a YAML file. Nothing is executed.

mod blocks;
mod expressions;
mod file;
pub mod nemo2;
pub mod recipe;

use super::dialects::bridge::base_recipes;
use super::overrides::{self, MAX_BYTES, Overrides};

/// Sections of a Megatron-Bridge configuration whose names hardly occur in other Python code.
const SECTIONS: [&str; 7] = [
    "model",
    "train",
    "optimizer",
    "ddp",
    "dataset",
    "mixed_precision",
    "dist",
];

/// Whether a line sets a part of a Megatron-Bridge configuration.
#[must_use]
pub fn sets_configuration(line: &str) -> bool {
    // Overrides on a command line have no blanks there.
    let spaced = line.contains(" = ").then(|| assignment(line)).flatten();
    spaced.is_some_and(|(key, _)| {
        let section = key.split('.').next().unwrap_or_default();
        SECTIONS.contains(&section) && (key.contains('.') || section == "mixed_precision")
    })
}

/// Reads the assignments to attributes of attributes of an object, whatever the object is called; skips all other
/// statements.
#[must_use]
pub fn parse(text: &str) -> Overrides {
    let statements = if text.len() > MAX_BYTES {
        Vec::new()
    } else {
        statements(text)
    };
    let pairs: Vec<(String, u32)> = statements
        .iter()
        .flat_map(|(statement, line)| {
            let parts = of_base_recipe(statement).chain(constructed(statement));
            parts.map(|pair| (pair, *line)).collect::<Vec<_>>()
        })
        .chain(statements.iter().filter_map(|(statement, line)| {
            let (key, value) = assignment(statement)?;
            // A precision is made by a function of its name; other objects are made before their parts are set.
            let value = value.strip_suffix("()").unwrap_or(value);
            (key.contains('.') || key == "mixed_precision").then(|| (format!("{key}={value}"), *line))
        }))
        .collect();
    overrides::from_words(pairs.iter().map(|(pair, line)| (pair.as_str(), *line)))
}

/// What a recipe begins with, `cfg = _pretrain_common()`, as settings.
fn of_base_recipe(statement: &str) -> impl Iterator<Item = String> {
    let called = statement
        .split_once('=')
        .and_then(|(_, value)| value.trim().strip_suffix("()"));
    let settings = called.and_then(base_recipes::settings).unwrap_or_default();
    settings.iter().map(|(key, value)| format!("{key}={value}"))
}

/// The arguments of the provider that a model is made by, `cfg.model = HybridModelProvider(num_layers=52, …)`, as
/// settings of the model.
fn constructed(statement: &str) -> Vec<String> {
    let call = assignment(statement).and_then(|(key, value)| {
        let (class, arguments) = value.split_once('(')?;
        let arguments = arguments.strip_suffix(')')?;
        (key == "model" && class.ends_with("Provider")).then_some(arguments)
    });
    let mut rest = call.unwrap_or_default();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (argument, after) = rest.split_at(argument_length(rest));
        rest = after.strip_prefix(',').unwrap_or(after);
        if let Some((name, value)) = argument.split_once('=') {
            parts.push(format!("model.{}={}", name.trim(), value.trim()));
        }
    }
    parts
}

/// The length in bytes of the first argument of a call, up to a comma outside of brackets and quotes.
fn argument_length(arguments: &str) -> usize {
    let mut depth = 0_u32;
    let mut at = 0;
    while let Some(c) = arguments.get(at..).and_then(|rest| rest.chars().next()) {
        match c {
            ',' if depth == 0 => return at,
            '"' | '\'' => {
                at += quoted(arguments.get(at..).unwrap_or_default(), c);
                continue;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += c.len_utf8();
    }
    at
}

/// The key without the object's name, and the value.
fn assignment(statement: &str) -> Option<(&str, &str)> {
    let (target, value) = statement.split_once('=')?;
    let (object, key) = target.trim().split_once('.')?;
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    (is_name(object) && key.split('.').all(is_name) && !value.starts_with('=')).then(|| (key, value.trim()))
}

/// The logical lines with the numbers of their first lines. Open brackets and backslashes continue a line; comments and
/// triple-quoted strings are left out.
fn statements(text: &str) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut statement = String::new();
    let (mut line, mut first) = (1_u32, 1_u32);
    let mut depth = 0_u32;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '\n' | ';' if depth == 0 => {
                found.push((core::mem::take(&mut statement), first));
                first = line.saturating_add(u32::from(c == '\n'));
            }
            '\n' => statement.push(' '),
            '#' => taken = rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                taken = quoted(rest, c);
                statement.push_str(rest.get(..taken).unwrap_or_default());
            }
            '\\' if rest.starts_with("\\\n") => taken = 2,
            _ => {
                match c {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                statement.push(c);
            }
        }
        let (over, after) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        let lines = over.bytes().filter(|b| *b == b'\n').count();
        line = line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        rest = after;
    }
    found.push((statement, first));
    found
}

/// The length in bytes of the string literal that `text` starts with. A literal without an end goes on to the end of
/// the line, a triple-quoted one to the end of the text.
fn quoted(text: &str, quote: char) -> usize {
    let triple: String = [quote; 3].iter().collect();
    if let Some(inside) = text.strip_prefix(&triple) {
        return inside.find(&triple).map_or(text.len(), |end| end + 6);
    }
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}
