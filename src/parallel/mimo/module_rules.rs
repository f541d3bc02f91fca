//! The rules for one module (`ModuleParallelismConfig.finalize`).

use core::cmp::Ordering;

use super::input::{integer, python_str};
use super::parallelism::{divide, product};
use super::rules::report_of;
use super::{Field, ModuleInput, ModuleParallelism, ModuleProblem, ModuleRef, Rule};
use crate::parallel::problem::Repair;
use crate::python::{Exception, PythonError};
use crate::value::Value;

/// The module with DP derived where it is not set, or every problem in the framework's order.
pub(super) fn check_module(
    at: &ModuleRef,
    module: &ModuleInput,
    world_size: &Value,
) -> Result<ModuleParallelism, Vec<ModuleProblem>> {
    let mut report = Report {
        at,
        problems: Vec::new(),
    };
    let mut parallelism = ModuleParallelism::default();
    // The framework accepts a fraction at first and raises an exception for it later, so these problems come last.
    let mut fractions = Vec::new();
    for field in Field::ALL {
        let value = module.get(field);
        let derived = field == Field::DataParallelSize && *value == Value::Null;
        match integer(value) {
            _ if derived => {}
            Some(number) if is_in_range(field, number) => parallelism.set(field, number),
            None if is_usable_fraction(field, value) => fractions.push(field),
            number => report.out_of_range(field, value, number),
        }
    }
    // The framework checks DP after the offset.
    report
        .problems
        .sort_by_key(|problem| problem.fields == [Field::DataParallelSize]);
    let sizes_known = report
        .problems
        .iter()
        .all(|problem| problem.rule == Rule::NonNegativeOffset.name());
    if *module.get(Field::DataParallelSize) == Value::Null {
        parallelism.data_parallel_size = report.derive_data_parallel(&parallelism, world_size, sizes_known);
    }
    if sizes_known && parallelism.data_parallel_size.is_some() {
        report.check_experts(module, &parallelism);
    }
    for field in fractions {
        report.add(Some(field), Rule::WholeNumbers, not_whole());
    }
    if report.problems.is_empty() {
        Ok(parallelism)
    } else {
        Err(report.problems)
    }
}

struct Report<'a> {
    at: &'a ModuleRef,
    problems: Vec<ModuleProblem>,
}

impl Report<'_> {
    fn add(&mut self, field: Option<Field>, rule: Rule, error: PythonError) -> &mut ModuleProblem {
        let problem = report_of(&mut self.problems, self.at, rule, error);
        problem.fields.extend(field);
        problem
    }

    /// A field whose value is too small, missing or of the wrong type.
    fn out_of_range(&mut self, field: Field, value: &Value, number: Option<i128>) {
        let is_offset = field == Field::RankOffset;
        let is_number = number.is_some() || matches!(value, Value::Float(_));
        let (rule, error) = if is_number && is_offset {
            let error = Exception::ValueError.with("rank_offset must be non-negative.");
            (Rule::NonNegativeOffset, error)
        } else if is_number || (*value == Value::Null && !is_offset) {
            let message = format!("{} must be positive.", field.name());
            (Rule::PositiveSizes, Exception::ValueError.with(message))
        } else {
            let operator = if is_offset { "<" } else { "<=" };
            (Rule::WholeNumbers, not_comparable(operator, value))
        };
        let at = self.at;
        self.add(None, rule, error).set(at, field, i128::from(!is_offset));
    }

    /// Derives DP from the number of ranks; `None` where that is not possible.
    fn derive_data_parallel(
        &mut self,
        parallelism: &ModuleParallelism,
        world_size: &Value,
        sizes_known: bool,
    ) -> Option<i128> {
        let world = match (integer(world_size), world_size) {
            (Some(world), _) if world > 0 => world,
            (number, value) => {
                let error = if number.is_some() || *value == Value::Null {
                    Exception::ValueError.with("world_size must be provided to compute data_parallel_size.")
                } else {
                    not_comparable("<=", value)
                };
                self.add(Some(Field::DataParallelSize), Rule::DataParallelKnown, error);
                return None;
            }
        };
        if !sizes_known {
            return None;
        }
        let divided = parallelism
            .dense_model_parallel_size()
            .and_then(|size| Ok((size, divide(world, size)?)));
        match divided {
            Ok((_, (quotient, 0))) => return Some(quotient),
            Ok((size, (_, rest))) => {
                let error = Exception::ValueError.with(format!(
                    "world_size ({world}) is not divisible by total_model_parallel_size ({size})."
                ));
                let ranks = if world > size { world - rest } else { size };
                self.add(None, Rule::ModelParallelDividesWorld, error).repair = Some(Repair::world_size(ranks));
            }
            Err(error) => {
                self.add(None, Rule::Representable, error);
            }
        }
        None
    }

    /// ETP * EP divides TP * CP * DP.
    fn check_experts(&mut self, module: &ModuleInput, parallelism: &ModuleParallelism) {
        const FACTORS: [Field; 5] = [
            Field::TensorModelParallelSize,
            Field::ContextParallelSize,
            Field::DataParallelSize,
            Field::ExpertTensorParallelSize,
            Field::ExpertModelParallelSize,
        ];
        let [tp, cp, dp, etp, ep] = FACTORS.map(|field| parallelism.get(field).unwrap_or(1));
        let divided = product(&[tp, cp, dp])
            .and_then(|dense| Ok((dense, divide(dense, product(&[etp, ep])?)?)))
            .and_then(|divided| parallelism.total_ranks().map(|_| divided));
        match divided {
            Ok((_, (_, 0))) => {}
            Ok((dense, _)) => {
                let given = |field| match module.get(field) {
                    Value::Null => dp.to_string(),
                    value => python_str(value),
                };
                let error = Exception::ValueError.with(format!(
                    "TP * CP * DP must be divisible by expert_tensor_parallel_size * expert_model_parallel_size; \
                     got TP={}, CP={}, DP={}, ETP={}, EP={}.",
                    given(Field::TensorModelParallelSize),
                    given(Field::ContextParallelSize),
                    given(Field::DataParallelSize),
                    given(Field::ExpertTensorParallelSize),
                    given(Field::ExpertModelParallelSize),
                ));
                let (field, number, limit) = if dense % etp == 0 {
                    (Field::ExpertModelParallelSize, dense / etp, ep)
                } else {
                    (Field::ExpertTensorParallelSize, dense, etp)
                };
                let at = self.at;
                self.add(None, Rule::ExpertFactorization, error)
                    .set(at, field, largest_divisor(number, limit));
            }
            Err(error) => {
                self.add(None, Rule::Representable, error);
            }
        }
    }
}

/// Whether the framework accepts this value of a field.
fn is_in_range(field: Field, number: i128) -> bool {
    number > 0 || (field == Field::RankOffset && number == 0)
}

/// Whether a value is a fraction that the framework's first comparison lets through.
fn is_usable_fraction(field: Field, value: &Value) -> bool {
    match value {
        Value::Float(number) if field == Field::RankOffset => number.partial_cmp(&0.0) != Some(Ordering::Less),
        Value::Float(number) => number.partial_cmp(&0.0) == Some(Ordering::Greater),
        _ => false,
    }
}

fn not_whole() -> PythonError {
    Exception::TypeError.with("'float' object cannot be interpreted as an integer")
}

fn not_comparable(operator: &str, value: &Value) -> PythonError {
    let given = value.python_type();
    Exception::TypeError.with(format!(
        "'{operator}' not supported between instances of '{given}' and 'int'"
    ))
}

/// The largest divisor of `number` that is at most `limit`, found within a bounded search.
fn largest_divisor(number: i128, limit: i128) -> i128 {
    const MOST_CANDIDATES: i128 = 4096;
    let from = limit.min(number).clamp(1, MOST_CANDIDATES);
    (1..=from).rev().find(|candidate| number % candidate == 0).unwrap_or(1)
}
