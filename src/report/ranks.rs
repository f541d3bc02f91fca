//! One rank of a job: its stage, coordinates, process groups and seeds in every module that runs on it.

use crate::config::job::Config;
use crate::memory::{Estimate, StageRef};
use crate::parallel::groups::process_groups::ProcessGroup;
use crate::parallel::groups::seeds::Seeds;
use crate::parallel::groups::{Coordinates, Group, RankGrids};

/// A rank in one of the modules that run on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlace {
    /// The rank.
    pub rank: u64,
    /// The stage of the module that the rank runs.
    pub stage: StageRef,
    /// The rank's coordinates in the module's dense and expert rank grids.
    pub coordinates: Coordinates,
    /// The random seeds that the rank starts from.
    pub seeds: Seeds,
    /// The module's dense and expert rank grids.
    pub grids: RankGrids,
}

/// The rank in each module that runs on it: in several where modules share ranks, in none for a rank beyond the world
/// size.
#[must_use]
pub fn places(config: &Config, estimate: &Estimate, rank: u64) -> Vec<RankPlace> {
    let mut found = Vec::new();
    for (module, m) in config.modules().iter().enumerate() {
        let Ok(grids) = m.rank_grids() else { continue };
        let Some(coordinates) = grids.coordinates(rank) else {
            continue;
        };
        let Ok(pp_rank) = usize::try_from(coordinates.pp) else {
            continue;
        };
        let stage = StageRef { module, pp_rank };
        if estimate.stage(stage).is_some() {
            found.push(RankPlace {
                rank,
                stage,
                seeds: m.seed_rule().seeds(&coordinates),
                coordinates,
                grids,
            });
        }
    }
    found
}

impl RankPlace {
    /// Calls `see` with every process group that the rank is in, in Megatron's order.
    pub fn each_group(&self, mut see: impl FnMut(ProcessGroup, Group<'_>)) {
        for &kind in ProcessGroup::ALL {
            if let Some(group) = self.grids.process_groups(kind).group_of(self.rank) {
                see(kind, group);
            }
        }
    }

    /// The members of one of the rank's process groups, as ranges of consecutive ranks; empty for a group that the rank
    /// is not in.
    #[must_use]
    pub fn members(&self, kind: ProcessGroup) -> Vec<core::ops::Range<u64>> {
        let groups = self.grids.process_groups(kind);
        let mut ranges: Vec<core::ops::Range<u64>> = Vec::new();
        let Some(group) = groups.group_of(self.rank) else {
            return ranges;
        };
        for rank in group.ranks() {
            match ranges.last_mut() {
                Some(last) if last.end == rank => last.end += 1,
                _ => ranges.push(rank..rank + 1),
            }
        }
        ranges
    }
}

/// The members of a group as text: all of up to eight, or the first three and the last.
#[must_use]
pub fn members_text(group: Group<'_>) -> String {
    let first: Vec<u64> = group.ranks().take(8).collect();
    let shown = if group.size() > 8 { 3 } else { 8 };
    let texts: Vec<String> = first.iter().take(shown).map(u64::to_string).collect();
    let mut text = texts.join(", ");
    if let (true, Some(last)) = (group.size() > 8, group.rank(group.size() - 1)) {
        text.push_str(" … ");
        text.push_str(&last.to_string());
    }
    text
}
