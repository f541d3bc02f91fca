//! The memory of one rank: the stages that it runs, of one module or of several that share ranks.

use super::bucket::Bucket;
use super::estimate::{Estimate, RankMemory, StageEstimate, StageRef};
use crate::config::job::{Config, Module};
use crate::units::Bytes;

/// The memory of a rank; `None` for a rank that no module has.
#[must_use]
pub fn rank_memory(config: &Config, estimate: &Estimate, rank: u64) -> Option<RankMemory> {
    rank_of(config.modules(), estimate, rank)
}

/// The rank with the largest peak; the first of several with an equal peak.
///
/// All ranks that run the same stages have the same memory, so only the first rank of each stage is examined.
#[must_use]
pub(super) fn worst_rank(config: &Config, estimate: &Estimate) -> Option<RankMemory> {
    let modules = config.modules();
    let firsts = modules.iter().flat_map(|m| {
        let stage = ranks_of_stage(m);
        (0..m.pp).map(move |pp| m.rank_offset + pp * stage)
    });
    let mut firsts: Vec<u64> = firsts.collect();
    firsts.sort_unstable();
    firsts.dedup();
    let ranks = firsts.into_iter().filter_map(|rank| rank_of(modules, estimate, rank));
    ranks.reduce(|worst, next| if next.total > worst.total { next } else { worst })
}

fn ranks_of_stage(m: &Module) -> u64 {
    m.tp * m.cp * m.dp
}

fn rank_of(modules: &[Module], estimate: &Estimate, rank: u64) -> Option<RankMemory> {
    let mut found = RankMemory {
        rank,
        stages: Vec::new(),
        memory: [Bytes::ZERO; Bucket::COUNT],
        total: Bytes::ZERO,
        steady: Bytes::ZERO,
        graphs: Bytes::ZERO,
    };
    let mut workspaces = Bytes::ZERO;
    for (module, (m, e)) in modules.iter().zip(&estimate.modules).enumerate() {
        // Pipeline stages follow each other in the module's span.
        let stage = rank
            .checked_sub(m.rank_offset)
            .and_then(|rank| usize::try_from(rank / ranks_of_stage(m)).ok())
            .and_then(|pp_rank| Some((pp_rank, e.stages.get(pp_rank)?)));
        if let Some((pp_rank, stage)) = stage {
            found.add(StageRef { module, pp_rank }, stage);
            // One process has them once: the larger ones.
            found.take_off(workspaces.min(stage.workspaces));
            workspaces = workspaces.max(stage.workspaces);
        }
    }
    (!found.stages.is_empty()).then_some(found)
}

impl RankMemory {
    fn add(&mut self, at: StageRef, stage: &StageEstimate) {
        self.stages.push(at);
        for (into, from) in self.memory.iter_mut().zip(&stage.memory) {
            *into += *from;
        }
        self.total += stage.total;
        self.steady += stage.steady;
        self.graphs += stage.graphs;
    }

    fn take_off(&mut self, buffers: Bytes) {
        if let Some(all) = self.memory.get_mut(Bucket::Buffers as usize) {
            *all = all.saturating_sub(buffers);
        }
        self.total = self.total.saturating_sub(buffers);
        self.steady = self.steady.saturating_sub(buffers);
    }
}
