//! What is wrong with a set of modules, and what would put it right.

use super::Field;
use crate::python::PythonError;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The module whose row shows the problem; `None` when it concerns the whole job.
    pub module: Option<ModuleRef>,
    /// The field to look at, where there is one.
    pub field: Option<Field>,
    /// The rule.
    pub rule: Rule,
    /// What the framework raises.
    pub error: PythonError,
    /// A change that would put it right, where one is known.
    pub repair: Option<Repair>,
}

/// A module among its siblings. Names may be equal by mistake, so the place counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRef {
    /// The place in the list of modules, from 0.
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
    /// Whether the number of all ranks is a part of it.
    pub(crate) fn is_about_world(self) -> bool {
        matches!(self, Self::ModelParallelDividesWorld | Self::CoverWorld)
    }
}

/// Changes that belong together: one click.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// What the click does, as an instruction.
    pub label: String,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// One change to a [`MimoInput`](super::MimoInput).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A field of the module at that index gets a value.
    Set {
        /// The place of the module.
        module: usize,
        /// What to set.
        field: Field,
        /// The value.
        value: i128,
    },
    /// The module at that index gets another name.
    Rename {
        /// The place of the module.
        module: usize,
        /// The new name.
        name: String,
    },
    /// The job runs on another number of ranks.
    WorldSize(i128),
}

/// Adds a broken rule; what it returns takes the place and the repair.
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
    /// It is about this module.
    pub(super) fn of(&mut self, module: &ModuleRef) -> &mut Self {
        self.module = Some(module.clone());
        self
    }

    /// It is about this field of this module, and setting it puts it right.
    pub(super) fn set(&mut self, module: &ModuleRef, field: Field, value: i128) -> &mut Self {
        self.repair = Some(Repair::set(module, field, value));
        self.field = Some(field);
        self.of(module)
    }
}

impl Repair {
    /// Sets one field.
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

    /// Runs the job on another number of ranks.
    pub(super) fn world_size(value: i128) -> Self {
        Self {
            label: format!("Use {value} GPUs"),
            changes: vec![Change::WorldSize(value)],
        }
    }

    /// Renames a module.
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
