//! What is wrong with a job, in words that name the fields, the rule and values that would work.

use core::fmt;

use super::fields::FieldId;
use crate::parallel::mimo::Repair;
use crate::value::Value;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Megatron refuses the job, or it has no meaning.
    Error,
    /// The job runs, but something is ignored, wasteful or surprising.
    Warning,
}

/// A change that would mend a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// The field to set.
    pub field: FieldId,
    /// The value to set it to; null for the default.
    pub value: Value,
}

/// One problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Index of the module it is about.
    pub module: usize,
    /// Every field involved; empty for unknown keys.
    pub fields: Vec<FieldId>,
    /// Error or warning.
    pub severity: Severity,
    /// A stable name of the rule.
    pub rule: &'static str,
    /// The problem in one sentence, with what would work.
    pub message: String,
    /// Changes that would mend it, best first.
    pub fixes: Vec<Fix>,
    /// A change over several modules that would mend it.
    pub repair: Option<Repair>,
}

impl Problem {
    /// An error about `fields`.
    pub(crate) fn error(
        module: usize,
        rule: &'static str,
        fields: &[FieldId],
        message: String,
    ) -> Self {
        Self {
            module,
            fields: fields.to_vec(),
            severity: Severity::Error,
            rule,
            message,
            fixes: Vec::new(),
            repair: None,
        }
    }

    /// A warning about `fields`.
    pub(crate) fn warning(
        module: usize,
        rule: &'static str,
        fields: &[FieldId],
        message: String,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(module, rule, fields, message)
        }
    }

    /// Adds a change that would mend it.
    pub(crate) fn fix(&mut self, field: FieldId, value: Value) -> &mut Self {
        self.fixes.push(Fix { field, value });
        self
    }

    /// Adds changes to `field`, one for each value.
    pub(crate) fn fix_each(&mut self, field: FieldId, values: &[u64]) -> &mut Self {
        for value in values {
            self.fix(field, Value::Int((*value).into()));
        }
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The divisors of `n` nearest to `near`, closest first, at most `count`.
pub(crate) fn near_divisors(n: u64, near: u64, count: usize) -> Vec<u64> {
    near_matches(
        near,
        n.min(near.saturating_mul(64).max(4096)),
        count,
        &|d| n.is_multiple_of(d),
    )
}

/// The multiples of `step` around `near`, closest first.
pub(crate) fn near_multiples(near: u64, step: u64) -> Vec<u64> {
    near_matches(near, near.saturating_add(step), 2, &|n| {
        n.is_multiple_of(step)
    })
}

/// Numbers from 1 to `max` that pass `test`, nearest to `near` first, at most `count`.
pub(crate) fn near_matches(
    near: u64,
    max: u64,
    count: usize,
    test: &dyn Fn(u64) -> bool,
) -> Vec<u64> {
    let mut found = Vec::new();
    let reach = near.max(max.saturating_sub(near)).min(100_000);
    for distance in 0..=reach {
        for candidate in [
            near.checked_sub(distance),
            near.checked_add(distance).filter(|_| distance > 0),
        ] {
            if let Some(c) = candidate.filter(|c| (1..=max).contains(c))
                && test(c)
            {
                found.push(c);
                if found.len() == count {
                    return found;
                }
            }
        }
    }
    found
}

/// Numbers as words, in order: `4, 8 or 16`.
pub(crate) fn or_list(values: &[u64]) -> String {
    let mut values = values.to_vec();
    values.sort_unstable();
    let mut list = String::new();
    for (at, value) in values.iter().enumerate() {
        match (at, values.len() - at) {
            (0, _) => {}
            (_, 1) => list.push_str(" or "),
            _ => list.push_str(", "),
        }
        list.push_str(&value.to_string());
    }
    if list.is_empty() {
        list.push_str("none");
    }
    list
}
