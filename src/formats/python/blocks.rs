//! Which statements of a function's body run: choices by `if`, `elif` and `else`, as far as their conditions are known
//! without running anything.

use std::collections::BTreeMap;

use super::expressions::{call, is_true, parts, split_outside};
use super::file::Statement;

/// The choices of a body, by indentation, while its statements are followed in order.
#[derive(Default)]
pub(super) struct Blocks {
    /// The indentation of the choice whose block is left out; `None` outside of such a block.
    left_out: Option<usize>,
    /// Whether a branch of the choice at some indentation was taken.
    taken: BTreeMap<usize, bool>,
}

impl Blocks {
    /// Whether the statement is one to follow: it is in no block that is left out, and is not itself the head of a
    /// block. `holds` says whether a condition holds; it is asked in the order of the text.
    pub(super) fn follows(&mut self, statement: &Statement, holds: impl FnOnce(&str) -> bool) -> bool {
        let Statement { text, indent, .. } = statement;
        if self.left_out.is_some_and(|left_out| *indent > left_out) {
            return false;
        }
        self.left_out = None;
        let condition = ["if ", "elif "]
            .into_iter()
            .find_map(|word| text.strip_prefix(word))
            .map(|condition| condition.trim_end_matches(':'));
        if !text.starts_with("else:") && condition.is_none() {
            return true;
        }
        let holds = condition.is_none_or(holds);
        let is_done = !text.starts_with("if ") && self.taken.get(indent).copied().unwrap_or(false);
        if is_done || !holds {
            self.left_out = Some(*indent);
        }
        self.taken.insert(*indent, is_done || holds);
        false
    }
}

/// What is known of an expression's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The text of a plain value, without quotes.
    Plain(String),
    /// An object, which is not `None`, and whether it is true as a condition.
    Object { is_true: bool },
    /// Only running the function would tell.
    Open,
}

/// A follower of functions that knows values of expressions.
pub(super) trait Values {
    /// What is known of an expression's value.
    fn known(&mut self, expression: &str) -> Known;

    /// Whether an object has a field; `None` where the expression is no object that is known.
    fn has_field(&mut self, object: &str, field: &str) -> Option<bool>;
}

/// Whether a condition holds; `None` where that is not known.
pub(super) fn condition(values: &mut impl Values, text: &str) -> Option<bool> {
    let text = text.trim();
    if let Some((left, right)) = split_outside(text, " or ") {
        let (left, right) = (condition(values, left), condition(values, right));
        return match (left, right) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), right) => right,
            (None, _) => None,
        };
    }
    if let Some((left, right)) = split_outside(text, " and ") {
        let (left, right) = (condition(values, left), condition(values, right));
        return match (left, right) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), right) => right,
            (None, _) => None,
        };
    }
    if let Some(inner) = text.strip_prefix("not ") {
        return condition(values, inner).map(|holds| !holds);
    }
    for (operator, wanted) in [(" not in ", false), (" in ", true)] {
        if let Some((item, list)) = split_outside(text, operator) {
            let item = values.known(item);
            let items = list.trim().strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
            let others: Vec<Known> = parts(items).iter().map(|other| values.known(other)).collect();
            let is_plain = |value: &Known| matches!(value, Known::Plain(_));
            let found = is_plain(&item) && others.contains(&item);
            let all_known = is_plain(&item) && others.iter().all(is_plain);
            return (all_known || found).then_some(found == wanted);
        }
    }
    for (operator, wanted) in [(" is not ", false), (" is ", true), (" != ", false), (" == ", true)] {
        if let Some((left, right)) = split_outside(text, operator) {
            return match (values.known(left), values.known(right)) {
                (Known::Plain(left), Known::Plain(right)) => Some((left == right) == wanted),
                // An object is not `None`.
                (Known::Object { .. }, Known::Plain(_)) => Some(!wanted),
                _ => None,
            };
        }
    }
    if let Some(("hasattr", arguments)) = call(text) {
        let arguments = parts(arguments);
        return match values.known(arguments.get(1)?) {
            Known::Plain(field) => values.has_field(arguments.first()?, &field),
            _ => None,
        };
    }
    match values.known(text) {
        Known::Plain(value) => Some(is_true(&value)),
        Known::Object { is_true } => Some(is_true),
        Known::Open => None,
    }
}
