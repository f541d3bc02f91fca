//! The rules of `MegatronMIMO`, and how a broken one becomes a problem.

use super::{Field, ModuleProblem};
use crate::parallel::problem::{Change, Repair};
use crate::python::PythonError;

/// A reference to a module. Names may be equal by mistake, so it has the index too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRef {
    /// The index in the list of modules, from 0.
    pub index: usize,
    /// The module's name.
    pub name: String,
}

/// The rules, in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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
    /// The name that its problems have.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Adds a problem of the whole job for a broken rule, and returns it so that the module and the repair can be set.
pub(super) fn report(problems: &mut Vec<ModuleProblem>, rule: Rule, error: PythonError) -> &mut ModuleProblem {
    problems.push_mut(ModuleProblem {
        exception: Some(error.exception),
        ..ModuleProblem::error(&[], error.message).of(0, rule.name())
    })
}

/// Adds a problem of this module.
pub(super) fn report_of<'p>(
    problems: &'p mut Vec<ModuleProblem>,
    module: &ModuleRef,
    rule: Rule,
    error: PythonError,
) -> &'p mut ModuleProblem {
    let problem = report(problems, rule, error);
    problem.module = module.index;
    problem
}

impl ModuleProblem {
    /// Sets the field of the problem of this module, and as repair the field's new value.
    pub(super) fn set(&mut self, module: &ModuleRef, field: Field, value: i128) {
        self.module = module.index;
        self.fields = vec![field];
        self.repair = Some(Repair::set(module, field, value));
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
