//! The modules of a job as a user set them: values of any type, not checked yet.

use super::arrange;
use super::colocated::check_colocated;
use super::module_rules::check_module;
use super::parallelism::too_large;
use super::set_rules::check_set;
use super::{Field, MimoLayout, ModuleParallelism, ModuleProblem, ModuleRef};
use crate::parallel::problem::Repair;
use crate::python::{Exception, PythonError, repr};
use crate::value::Value;

/// One module as a user set it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleInput {
    /// The module's name.
    pub name: String,
    /// The values of all fields, in the order of [`Field::ALL`].
    values: [Value; Field::ALL.len()],
}

impl ModuleInput {
    /// A module from checked or unchecked numbers.
    #[must_use]
    pub fn new(name: impl Into<String>, parallelism: &ModuleParallelism) -> Self {
        let values = Field::ALL.map(|field| parallelism.get(field).map_or(Value::Null, Value::Int));
        Self {
            name: name.into(),
            values,
        }
    }

    /// A module from a map of Megatron's argument names.
    ///
    /// # Errors
    ///
    /// When `arguments` is not a map or has a key that is not a [`Field`].
    pub fn read(name: impl Into<String>, arguments: &Value) -> Result<Self, PythonError> {
        let Value::Map(entries) = arguments else {
            let message = format!("argument after ** must be a mapping, not {}", arguments.python_type());
            return Err(Exception::TypeError.with(message));
        };
        let known = |key: &str| Field::ALL.iter().any(|field| field.name() == key);
        if let Some((unknown, _)) = entries.iter().find(|(key, _)| !known(key)) {
            return Err(Exception::TypeError.with(format!(
                "ModuleParallelismConfig.__init__() got an unexpected keyword argument {}",
                repr(unknown)
            )));
        }
        Ok(Self::pick(name, arguments))
    }

    /// A module from the arguments that are a [`Field`]; other arguments are ignored.
    #[must_use]
    pub fn pick(name: impl Into<String>, arguments: &Value) -> Self {
        let mut module = Self::new(name, &ModuleParallelism::default());
        for field in Field::ALL {
            if let Some(value) = arguments.get(field.name()) {
                module.set(field, value.clone());
            }
        }
        module
    }

    /// The value that was set for a field, or its default.
    #[must_use]
    pub fn get(&self, field: Field) -> &Value {
        self.values.get(field as usize).unwrap_or(&Value::Null)
    }

    /// Sets a field.
    pub fn set(&mut self, field: Field, value: Value) {
        if let Some(slot) = self.values.get_mut(field as usize) {
            *slot = value;
        }
    }

    /// The numbers as they were set, before anything is checked or derived; `None` when one is not a whole
    /// number.
    #[must_use]
    pub fn as_set(&self) -> Option<ModuleParallelism> {
        let mut parallelism = ModuleParallelism::default();
        for field in Field::ALL {
            match integer(self.get(field)) {
                Some(value) => parallelism.set(field, value),
                None if field == Field::DataParallelSize && *self.get(field) == Value::Null => {}
                None => return None,
            }
        }
        Some(parallelism)
    }

    /// One past the module's last rank, from the numbers as they were set. EP and ETP do not count.
    fn end(&self) -> Result<i128, PythonError> {
        let mut ranges = self.clone();
        for field in [Field::ExpertModelParallelSize, Field::ExpertTensorParallelSize] {
            ranges.set(field, Value::Int(1));
        }
        let parallelism = ranges
            .as_set()
            .ok_or_else(|| Exception::TypeError.with("sizes and offsets of modules must be whole numbers"))?;
        let end = parallelism.rank_offset.checked_add(parallelism.total_ranks()?);
        end.ok_or_else(too_large)
    }

    /// The module with DP derived from `world_size` where it is not set, or every problem, the one that
    /// the framework raises first.
    ///
    /// # Errors
    ///
    /// When a rule for a single module is broken.
    pub fn check(&self, world_size: &Value) -> Result<ModuleParallelism, Vec<ModuleProblem>> {
        check_module(
            &ModuleRef {
                index: 0,
                name: self.name.clone(),
            },
            self,
            world_size,
        )
    }

    /// As [`ModuleInput::check`], stopping where the framework stops.
    ///
    /// # Errors
    ///
    /// The exception that the framework raises.
    pub fn finalize(&self, world_size: &Value) -> Result<ModuleParallelism, PythonError> {
        first(self.check(world_size))
    }
}

/// All modules of a job as a user set them.
#[derive(Clone, Debug, PartialEq)]
pub struct MimoInput {
    /// The modules, in the user's order.
    pub modules: Vec<ModuleInput>,
    /// The number of ranks of the whole job.
    pub world_size: Value,
}

impl MimoInput {
    /// A job from a map of names to modules, each a map of Megatron's argument names.
    ///
    /// # Errors
    ///
    /// When `modules` or one of its entries is not such a map.
    pub fn read(modules: &Value, world_size: &Value) -> Result<Self, PythonError> {
        let Value::Map(entries) = modules else {
            let message = format!("module_parallelisms must be a mapping, not {}", modules.python_type());
            return Err(Exception::TypeError.with(message));
        };
        let modules = entries
            .iter()
            .map(|(name, arguments)| ModuleInput::read(name, arguments));
        Ok(Self {
            modules: modules.collect::<Result<_, _>>()?,
            world_size: world_size.clone(),
        })
    }

    /// A job from checked or unchecked numbers.
    #[must_use]
    pub fn new(modules: &[(String, ModuleParallelism)], world_size: i128) -> Self {
        let modules = modules
            .iter()
            .map(|(name, parallelism)| ModuleInput::new(name, parallelism));
        Self {
            modules: modules.collect(),
            world_size: Value::Int(world_size),
        }
    }

    /// One past the highest rank of any module, 0 without modules, from the numbers as they were set.
    ///
    /// # Errors
    ///
    /// When a module's DP is not set, a value is not a whole number, or a product does not fit 128 bits.
    pub fn total_world_size(&self) -> Result<i128, PythonError> {
        let ends = self
            .modules
            .iter()
            .map(ModuleInput::end)
            .collect::<Result<Vec<_>, _>>()?;
        Ok(ends.into_iter().max().unwrap_or(0))
    }

    /// The modules placed on their ranks, or every problem, the one that the framework raises first.
    ///
    /// # Errors
    ///
    /// When a rule is broken.
    pub fn check(&self) -> Result<MimoLayout, Vec<ModuleProblem>> {
        check_set(self)
    }

    /// The modules all on the same ranks, `[0, world_size)`, or every problem. DP follows from the world
    /// size where it is not set. Megatron-Bridge refuses such jobs; Megatron-LM's own multi-module model
    /// runs them (`ColocatedBridgeCommunicator`).
    ///
    /// # Errors
    ///
    /// When a rule is broken.
    pub fn check_colocated(&self) -> Result<MimoLayout, Vec<ModuleProblem>> {
        check_colocated(self)
    }

    /// The changes that lay the modules out one after another in the user's order: a DP that is set stays,
    /// modules without one share the remaining ranks equally.
    ///
    /// `None` when the numbers do not come out even or nothing would change.
    #[must_use]
    pub fn lay_out(&self) -> Option<Repair> {
        arrange::lay_out(self)
    }

    /// As [`MimoInput::check`], stopping where the framework stops.
    ///
    /// # Errors
    ///
    /// The exception that the framework raises.
    pub fn finalize(&self) -> Result<MimoLayout, PythonError> {
        first(self.check())
    }
}

/// The whole number that Python sees in a value: truth values count as 0 and 1.
pub(super) fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(value) => Some(*value),
        Value::Bool(value) => Some(i128::from(*value)),
        _ => None,
    }
}

/// Python's `str(value)`, as messages contain it.
pub(super) fn python_str(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Text(text) => text.clone(),
        _ => value.to_string(),
    }
}

/// The first problem's exception, where there are problems.
fn first<T>(checked: Result<T, Vec<ModuleProblem>>) -> Result<T, PythonError> {
    checked.map_err(|problems| match problems.into_iter().next() {
        Some(problem) => problem.exception.unwrap_or(Exception::ValueError).with(problem.message),
        None => Exception::ValueError.with("refused"),
    })
}
