//! Conditions, as far as they are known without running anything.

use std::collections::BTreeMap;

use super::evaluate::Evaluation;
use super::objects::{LIST, Object};
use crate::formats::python::expressions::{call, is_true, parts, split_outside};

impl Evaluation<'_> {
    /// Whether a condition holds. `None` where that is not known.
    pub(super) fn condition(
        &mut self,
        condition: &str,
        locals: &BTreeMap<String, Object>,
        depth: usize,
    ) -> Option<bool> {
        let condition = condition.trim();
        if let Some((left, right)) = split_outside(condition, " or ") {
            let left = self.condition(left, locals, depth);
            let right = self.condition(right, locals, depth);
            return match (left, right) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), right) => right,
                (None, _) => None,
            };
        }
        if let Some((left, right)) = split_outside(condition, " and ") {
            let left = self.condition(left, locals, depth);
            let right = self.condition(right, locals, depth);
            return match (left, right) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), right) => right,
                (None, _) => None,
            };
        }
        if let Some(inner) = condition.strip_prefix("not ") {
            return self.condition(inner, locals, depth).map(|holds| !holds);
        }
        for (operator, wanted) in [(" not in ", false), (" in ", true)] {
            if let Some((item, list)) = split_outside(condition, operator) {
                let item = self.evaluate(item, locals, depth);
                let list = list.trim();
                let items = list.strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
                let mut known = true;
                let mut found = false;
                for other in parts(items) {
                    let other = self.evaluate(&other, locals, depth);
                    match (item.text(), other.text()) {
                        (Some(item), Some(other)) => found |= item == other,
                        _ => known = false,
                    }
                }
                return (known || found).then_some(found == wanted);
            }
        }
        for (operator, wanted) in [(" is not ", false), (" is ", true), (" != ", false), (" == ", true)] {
            if let Some((left, right)) = split_outside(condition, operator) {
                let left = self.evaluate(left, locals, depth);
                let right = self.evaluate(right, locals, depth);
                return match (left.text(), right.text()) {
                    (Some(left), Some(right)) => Some((left == right) == wanted),
                    // An object is not `None`.
                    _ => match (&left, &right) {
                        (Object::Configured(_), Object::Plain(_)) => Some(!wanted),
                        _ => None,
                    },
                };
            }
        }
        if let Some(("hasattr", arguments)) = call(condition) {
            let arguments = parts(arguments);
            let object = self.evaluate(arguments.first()?, locals, depth);
            let name = self.evaluate(arguments.get(1)?, locals, depth);
            return match object {
                Object::Configured(_) => Some(self.field(&object, name.text()?).is_some()),
                _ => None,
            };
        }
        match self.evaluate(condition, locals, depth) {
            Object::Plain(value) => Some(is_true(&value)),
            Object::Configured(index) => {
                let object = self.objects.get(index)?;
                Some(object.class != LIST || !object.fields.is_empty())
            }
            Object::Open(_) => None,
        }
    }
}
