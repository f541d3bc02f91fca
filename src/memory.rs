//! How much memory every pipeline stage of a checked job needs. [`estimate`] is the only entry point:
//! total, deterministic, and in whole bytes.

pub mod allocations;
pub mod allocator;
mod assumptions;
pub mod blocks;
pub mod bucket;
pub mod buffers;
pub mod caching_allocator;
mod chunk_graphs;
mod chunk_profile;
mod chunk_shape;
mod ep_overlap;
mod estimate;
pub mod fsdp;
mod graph_ends;
pub mod graph_phase;
mod job_moment;
mod largest_states;
mod like_blocks;
pub mod line;
mod loading;
mod local_graphs;
pub mod methods;
pub mod overhead;
pub mod parameters;
pub mod peak;
mod plain_tapes;
pub mod ranks;
mod ranks_apart;
pub mod reserved;
mod saving;
pub mod savings;
mod shared;
mod stage_bytes;
mod stage_totals;
pub mod state_rule;
pub mod states;
mod timeline;
mod torch_fsdp2;

pub use assumptions::{COVERED, assumptions, freezing};
pub use estimate::{
    AverageBatch, ChunkEstimate, Estimate, ModuleEstimate, MomentPeak, RankMemory, StageEstimate, StageRef,
};
pub use job_moment::JobMoment;
pub use largest_states::largest_states;
pub use loading::scattered_to_load;
pub(crate) use plain_tapes::LayoutPlainTapes;
pub use ranks::rank_memory;
pub(crate) use ranks_apart::are_apart;
pub use saving::gathered_to_save;
pub(crate) use shared::{LanguageStages, SharedTables, TooLarge};
pub(crate) use stage_bytes::StageBytes;
pub use timeline::{Timeline, TimelinePoint, timeline};

use std::sync::Arc;

use crate::config::job::{Config, Module};
use crate::model::Architecture;
use crate::units::Bytes;
use parameters::PartTable;
use peak::Stages;

/// Estimates a checked job: its later iterations, beside all states.
#[must_use]
pub fn estimate(config: &Config) -> Estimate {
    estimate_at(config, JobMoment::default())
}

/// Estimates a checked job at a moment of its life.
#[must_use]
pub fn estimate_at(config: &Config, moment: JobMoment) -> Estimate {
    estimate_of(config, moment, Replayed::EveryStage, None).unwrap_or_else(|| Estimate {
        modules: Vec::new(),
        worst: StageRef { module: 0, pp_rank: 0 },
        worst_rank: RankMemory::default(),
        average_batch: None,
    })
}

/// Estimates what the worst rank of a checked job needs in later iterations, unless a stage has a peak that is
/// `too_large`: then `None`, and the stages after that one are not looked at.
///
/// Of a job with one module, a stage that surely needs no more than the one before it has the estimate of that one, and
/// average micro batches of packed samples are left out. The worst stage and the worst rank are those of [`estimate`].
pub(crate) fn estimate_within(
    config: &Config,
    too_large: impl Fn(Bytes) -> bool,
    latest: &mut LatestEncoders,
) -> Option<Estimate> {
    let replayed = Replayed::HeaviestStages { too_large: &too_large };
    estimate_of(config, JobMoment::default(), replayed, Some(latest))
}

/// The latest estimates of the encoders of a job, which most jobs have whose language models differ: of each module its
/// estimate in the job before.
#[derive(Debug, Default)]
pub(crate) struct LatestEncoders(Vec<Option<(Module, ModuleEstimate)>>);

impl LatestEncoders {
    /// The estimate of the module at an index, from the job before where that had the same encoder.
    fn of(
        &mut self,
        index: usize,
        m: &Module,
        estimate: impl FnOnce() -> Option<ModuleEstimate>,
    ) -> Option<ModuleEstimate> {
        if m.io.is_language() {
            return estimate();
        }
        self.0.resize_with(self.0.len().max(index + 1), || None);
        let known = self.0.get_mut(index)?;
        if let Some((_, estimate)) = known.as_ref().filter(|(of, _)| of == m) {
            return Some(estimate.clone());
        }
        let estimate = estimate()?;
        *known = Some((m.clone(), estimate.clone()));
        Some(estimate)
    }
}

/// The stages whose schedules are replayed.
#[derive(Clone, Copy)]
enum Replayed<'f> {
    EveryStage,
    /// Those among which the heaviest is, up to the first that is too large.
    HeaviestStages {
        too_large: &'f dyn Fn(Bytes) -> bool,
    },
}

fn estimate_of(
    config: &Config,
    moment: JobMoment,
    replayed: Replayed<'_>,
    mut latest: Option<&mut LatestEncoders>,
) -> Option<Estimate> {
    let modules = config.modules().iter();
    // What modules need together on a rank is known only where each stage has its own estimate.
    let replayed = if modules.len() > 1 {
        Replayed::EveryStage
    } else {
        replayed
    };
    let modules = modules.enumerate().map(|(index, m)| {
        let estimate = || estimate_module(m, moment, replayed);
        match &mut latest {
            Some(latest) => latest.of(index, m, estimate),
            None => estimate(),
        }
    });
    let modules = modules.collect::<Option<Vec<_>>>()?;
    let average_batch = match replayed {
        Replayed::EveryStage => average_batch(config, moment),
        Replayed::HeaviestStages { .. } => None,
    };
    let first = StageRef { module: 0, pp_rank: 0 };
    let mut estimate = Estimate {
        modules,
        worst: first,
        worst_rank: RankMemory::default(),
        average_batch,
    };
    if let Some(worst) = ranks::worst_rank(config, &estimate) {
        let total = |at: &StageRef| estimate.stage(*at).map(|stage| stage.total);
        let largest = worst.stages.iter().copied().reduce(
            |largest, next| {
                if total(&next) > total(&largest) { next } else { largest }
            },
        );
        estimate.worst = largest.unwrap_or(first);
        estimate.worst_rank = worst;
    }
    Some(estimate)
}

/// The memory with average micro batches.
fn average_batch(config: &Config, moment: JobMoment) -> Option<AverageBatch> {
    let average = config.with_average_batch()?;
    let tokens = |config: &Config| {
        let mut modules = config.modules().iter();
        modules.find_map(|m| Some(m.packing()?.batch().tokens))
    };
    Some(AverageBatch {
        tokens: tokens(&average)?,
        fullest: tokens(config)?,
        total: estimate_at(&average, moment).worst_rank.total,
    })
}

fn estimate_module(m: &Module, moment: JobMoment, replayed: Replayed<'_>) -> Option<ModuleEstimate> {
    let architecture = Arc::new(Architecture::new(m));
    let (local, whole) = (PartTable::local(&architecture), PartTable::whole(&architecture));
    let replays = Stages::new(m, &architecture, &local);
    let mut stages: Vec<StageEstimate> = Vec::new();
    for pp_rank in 0..m.stages.pp() {
        let stage = match (replayed, stages.last()) {
            (Replayed::HeaviestStages { .. }, Some(before)) if replays.needs_no_more_than_before(pp_rank) => {
                before.clone()
            }
            _ => replays.estimate(pp_rank, moment),
        };
        if let Replayed::HeaviestStages { too_large } = replayed
            && too_large(stage.total)
        {
            return None;
        }
        stages.push(stage);
    }
    let parameters = whole.total(&architecture.whole_model_parts(m));
    Some(ModuleEstimate {
        active_parameters: parameters.active(m),
        parameters,
        stages,
        architecture: architecture.clone(),
    })
}
