//! Problems of a set of modules, and their repairs.

use super::Field;
use crate::python::PythonError;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The module that has the problem; `None` for a problem of the whole job.
    pub module: Option<ModuleRef>,
    /// The field to look at, where there is one.
    pub field: Option<Field>,
    /// The rule.
    pub rule: Rule,
    /// The exception that the framework raises.
    pub error: PythonError,
    /// Changes that would solve the problem; `None` where none are known.
    pub repair: Option<Repair>,
}

/// A reference to a module. Names may be equal by mistake, so it has the index too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRef {
    /// The index in the list of modules, from 0.
    pub index: usize,
    /// The module's name.
    pub name: String,
}

/// The rules, in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A module is a map with known keys.
    WellFormed,
    /// Every name comes once.
    UniqueNames,
    /// There is a module named `language`.
    LanguageModule,
    /// Sizes are positive.
    PositiveSizes,
    /// A rank offset is not negative.
    NonNegativeOffset,
    /// Sizes and offsets are whole numbers.
    WholeNumbers,
    /// DP is set, or follows from a world size.
    DataParallelKnown,
    /// TP * CP * PP divides the world size.
    ModelParallelDividesWorld,
    /// ETP * EP divides TP * CP * DP.
    ExpertFactorization,
    /// Products of sizes stay within machine numbers.
    Representable,
    /// Rank ranges do not overlap.
    NoOverlap,
    /// Rank ranges leave no gap.
    NoGap,
    /// Rank ranges end with the world.
    CoverWorld,
    /// Modules other than `language` have no expert parallelism.
    DenseEncoders,
    /// TP is a power of two.
    TensorParallelPowerOfTwo,
    /// Of any two DP sizes one divides the other.
    DataParallelDivides,
    /// Modules that share ranks all have the same ones.
    SameRanks,
    /// Modules that share ranks have no pipeline or context parallelism.
    NoPipelineOrContext,
}

impl Rule {
    /// Whether the rule involves the world size.
    pub(crate) fn is_about_world(self) -> bool {
        matches!(self, Self::ModelParallelDividesWorld | Self::CoverWorld)
    }
}

/// Several changes that together solve a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The changes in words, as an instruction.
    pub label: String,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// One change to a [`MimoInput`](super::MimoInput).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A field of the module at that index gets a value.
    Set {
        /// The index of the module.
        module: usize,
        /// What to set.
        field: Field,
        /// The value.
        value: i128,
    },
    /// The module at that index gets another name.
    Rename {
        /// The index of the module.
        module: usize,
        /// The new name.
        name: String,
    },
    /// The job runs on another number of ranks.
    WorldSize(i128),
}

/// Adds a problem for a broken rule, and returns it so that the module and the repair can be set.
pub(super) fn report(problems: &mut Vec<Problem>, rule: Rule, error: PythonError) -> &mut Problem {
    problems.push_mut(Problem {
        module: None,
        field: None,
        rule,
        error,
        repair: None,
    })
}

impl Problem {
    /// Sets the module of the problem.
    pub(super) fn of(&mut self, module: &ModuleRef) -> &mut Self {
        self.module = Some(module.clone());
        self
    }

    /// Sets the module and the field of the problem, and as repair the field's new value.
    pub(super) fn set(&mut self, module: &ModuleRef, field: Field, value: i128) -> &mut Self {
        self.repair = Some(Repair::set(module, field, value));
        self.field = Some(field);
        self.of(module)
    }
}

impl Repair {
    /// The repair that sets one field.
    pub(super) fn set(module: &ModuleRef, field: Field, value: i128) -> Self {
        Self {
            label: format!("Set {} of {} to {value}", field.name(), module.name),
            changes: vec![Change::Set {
                module: module.index,
                field,
                value,
            }],
        }
    }

    /// The repair that changes the world size.
    pub(super) fn world_size(value: i128) -> Self {
        Self {
            label: format!("Use {value} GPUs"),
            changes: vec![Change::WorldSize(value)],
        }
    }

    /// The repair that renames a module.
    pub(super) fn rename(module: &ModuleRef, name: String) -> Self {
        Self {
            label: format!("Rename {} to {name}", module.name),
            changes: vec![Change::Rename {
                module: module.index,
                name,
            }],
        }
    }
}
