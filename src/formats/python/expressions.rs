//! Expressions and definitions of Python, as far as recipes have them, taken apart without a parser.

use super::{argument_length, quoted};

/// The name of a parameter, and the value that it has by default.
pub(super) type Parameter = (String, Option<String>);

/// Whether an expression is a value by itself: a number, a text, a list of such, or a calculation with them.
pub(super) fn is_literal(value: &str) -> bool {
    let mut quote = None;
    let mut word = String::new();
    let mut has_names = false;
    for c in value.chars().chain([' ']) {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '_' || c == '.' || c.is_ascii_alphanumeric() => word.push(c),
            None => {
                let is_word = word.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
                let is_constant = matches!(word.as_str(), "None" | "True" | "False") || word.starts_with("torch.");
                has_names |= is_word && (!is_constant || c == '(');
                word.clear();
                quote = matches!(c, '"' | '\'').then_some(c);
            }
        }
    }
    !has_names && !value.is_empty()
}

/// Texts that stand one after the other, as one text.
pub(super) fn joined(value: &str) -> Option<String> {
    let inside = value.trim();
    let inner = inside.strip_prefix('(').and_then(|inside| inside.strip_suffix(')'));
    let mut rest = inner.unwrap_or(inside).trim();
    let mut text = String::new();
    let mut count = 0;
    while let Some(quote) = rest.chars().next() {
        if !matches!(quote, '"' | '\'') {
            return None;
        }
        let (one, after) = rest.get(1..)?.split_once(quote)?;
        text.push_str(one);
        count += 1;
        rest = after.trim_start();
    }
    (count > 1 && !text.contains('"')).then(|| format!("\"{text}\""))
}

/// The name and the parameters of `def name(a, b: int = 2) -> X:`.
pub(super) fn definition(text: &str) -> Option<(String, Vec<Parameter>)> {
    let (name, rest) = text.strip_prefix("def ")?.split_once('(')?;
    let inside = rest.rsplit_once(')')?.0;
    let parameters = parts(inside).into_iter().map(|parameter| {
        let (name, default) = match parameter.split_once('=') {
            Some((name, default)) => (name, Some(default.trim().to_owned())),
            None => (parameter.as_str(), None),
        };
        let name = name.split(':').next().unwrap_or_default();
        (name.trim().trim_start_matches('*').to_owned(), default)
    });
    Some((name.trim().to_owned(), parameters.collect()))
}

/// The module and the names of `from module import a, b as c`: what they are called in the file, and in the module.
pub(super) fn imported(text: &str) -> Option<(&str, Vec<(String, String)>)> {
    let (module, names) = text.strip_prefix("from ")?.split_once(" import ")?;
    let names = names.trim().trim_start_matches('(').trim_end_matches(')').split(',');
    let names = names.map(str::trim).filter(|name| !name.is_empty());
    let pair = |name: &str| match name.split_once(" as ") {
        Some((original, name)) => (name.trim().to_owned(), original.trim().to_owned()),
        None => (name.to_owned(), name.to_owned()),
    };
    Some((module.trim(), names.map(pair).collect()))
}

/// The name and the value of an assignment to a name, `x: int = 3`.
pub(super) fn local(text: &str) -> Option<(&str, &str)> {
    let (target, value) = text.split_once('=')?;
    let name = target.split(':').next().unwrap_or_default().trim();
    let is_name = !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    (is_name && !value.starts_with('=')).then(|| (name, value.trim()))
}

/// The function and the arguments of an expression that is one call.
pub(super) fn call(expression: &str) -> Option<(&str, &str)> {
    let (name, rest) = expression.trim().split_once('(')?;
    let arguments = rest.strip_suffix(')')?;
    let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.bytes().all(|b| b"_.".contains(&b) || b.is_ascii_alphanumeric());
    is_name.then_some((name, arguments))
}

/// The arguments of a call.
pub(super) fn parts(arguments: &str) -> Vec<String> {
    let mut rest = arguments.trim();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (argument, after) = rest.split_at(argument_length(rest));
        if !argument.trim().is_empty() {
            parts.push(argument.trim().to_owned());
        }
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    parts
}

/// The name and the value of an argument that is given by its name.
pub(super) fn named(argument: &str) -> Option<(&str, &str)> {
    let (name, value) = argument.split_once('=')?;
    let is_name = !name.contains(['(', '"', '\'', '[', '{']) && !value.starts_with('=');
    is_name.then(|| (name.trim(), value.trim()))
}

/// The repository in `AutoBridge.from_hf_pretrained("org/model", …)…`.
pub(super) fn repository(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("from_hf_pretrained(")?;
    let end = rest.find([',', ')'])?;
    rest.get(..end).map(str::trim)
}

/// Whether a plain value without its quotes is true as a condition.
pub(super) fn is_true(value: &str) -> bool {
    !matches!(value, "False" | "None" | "0" | "" | "[]")
}

/// The text before and after the first `separator` that stands outside of brackets and quotes.
pub(super) fn split_outside<'t>(text: &'t str, separator: &str) -> Option<(&'t str, &'t str)> {
    let mut depth = 0_u32;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if depth == 0 && rest.starts_with(separator) {
            return Some((text.get(..at)?, rest.get(separator.len()..)?));
        }
        let c = rest.chars().next()?;
        at += match c {
            '"' | '\'' => quoted(rest, c),
            _ => c.len_utf8(),
        };
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Whether an expression is a name or a name with attributes, `recipe.trainer.strategy`.
pub(super) fn is_path(expression: &str) -> bool {
    expression.split('.').all(|part| {
        part.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && part.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
    })
}
