//! The layout of a multi-module job that breaks no rule: its modules with their ranks.

use super::ModuleParallelism;
use crate::parallel::groups::RankGrids;

/// A module with its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedModule {
    /// The module's name.
    pub name: String,
    /// The module's parallelism, with DP.
    pub parallelism: ModuleParallelism,
    /// The rank grids of the module's ranks.
    pub grids: RankGrids,
}

/// All modules of a job; their ranks tile the world, or each module has all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MimoLayout {
    modules: Vec<PlacedModule>,
}

impl MimoLayout {
    pub(super) fn new(modules: Vec<PlacedModule>) -> Self {
        Self { modules }
    }

    /// The modules in the user's order.
    #[must_use]
    pub fn modules(&self) -> &[PlacedModule] {
        &self.modules
    }

    /// The module of that name.
    #[must_use]
    pub fn module(&self, name: &str) -> Option<&PlacedModule> {
        self.modules.iter().find(|module| module.name == name)
    }

    /// The number of ranks.
    #[must_use]
    pub fn world_size(&self) -> u64 {
        self.modules
            .iter()
            .map(|module| module.grids.ranks().end)
            .max()
            .unwrap_or(0)
    }

    /// The modules that run on `rank`: one, unless modules are colocated.
    pub fn modules_at(&self, rank: u64) -> impl Iterator<Item = &PlacedModule> {
        self.modules
            .iter()
            .filter(move |module| module.grids.ranks().contains(&rank))
    }
}
