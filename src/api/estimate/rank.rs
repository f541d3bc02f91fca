//! The memory of one rank.

use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::JsValue;

use super::alike::{Alike, Object};
use super::stage::{Allowances, Moment, Timeline};
use super::{Results, by_bucket};
use crate::Exact;
use crate::plain_data::ByName;
use megatron_memory::config::job::{Config, Module};
use megatron_memory::memory::overhead::memory_range;
use megatron_memory::memory::{RankMemory, StageEstimate, StageRef};
use megatron_memory::units::Bytes;

/// The rank with the largest peak.
#[derive(Debug, Serialize, Tsify)]
pub struct WorstRank {
    rank: Exact,
    /// Names of the modules that run on the rank.
    modules: Vec<String>,
    /// Bytes by bucket at the peak, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
}

/// The memory of one rank. Where modules share ranks, each has a stage on it, and the bytes are the sum over these
/// stages, with the cuBLAS workspaces counted once.
#[derive(Debug, Serialize, Tsify)]
pub struct RankReport {
    rank: Exact,
    /// Bytes by bucket at the peak, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
    /// Bytes that stay allocated between iterations.
    steady_bytes: Exact,
    /// The same as `memory.total`.
    peak_bytes: Exact,
    stages: Vec<RankStage>,
}

/// The stage that a rank runs for one of its modules. Its fields are those of `Stage`.
#[derive(Debug, Serialize, Tsify)]
pub struct RankStage {
    module: String,
    pp_rank: usize,
    /// Bytes by bucket at the peak, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
    steady_bytes: Exact,
    peak_bytes: Exact,
    #[tsify(type = "Moment")]
    peak_moment: Object,
    in_flight: Vec<u32>,
    allowances: Allowances,
    /// Present with the option `timeline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Timeline>,
}

impl WorstRank {
    pub(super) fn new(config: &Config, worst: &RankMemory) -> Self {
        let modules = worst.stages.iter();
        let modules = modules.filter_map(|at| config.modules().get(at.module));
        Self {
            rank: worst.rank.into(),
            modules: modules.map(|m| m.name().to_owned()).collect(),
            memory: by_bucket(&worst.memory, worst.total),
        }
    }
}

impl RankReport {
    pub(super) fn new(results: Results<'_>, rank: &RankMemory) -> Result<Self, JsValue> {
        let stages = rank.stages.iter();
        let stages: Vec<(StageRef, &StageEstimate)> = stages
            .filter_map(|at| Some((*at, results.estimate.stage(*at)?)))
            .collect();
        let steady: Bytes = stages.iter().map(|(_, stage)| stage.steady).sum();
        let mut alike = Alike::default();
        let stages = stages.into_iter();
        let stages = stages.filter_map(|(at, stage)| {
            let m = results.config.modules().get(at.module)?;
            Some(RankStage::new(results, at, (m, stage), &mut alike))
        });
        Ok(Self {
            rank: rank.rank.into(),
            memory: by_bucket(&rank.memory, rank.total),
            steady_bytes: steady.into(),
            peak_bytes: rank.total.into(),
            stages: stages.collect::<Result<_, _>>()?,
        })
    }
}

impl RankStage {
    fn new(
        results: Results<'_>,
        at: StageRef,
        (m, stage): (&Module, &StageEstimate),
        alike: &mut Alike,
    ) -> Result<Self, JsValue> {
        let range = memory_range(m, results.config.gpu_memory(), stage.total, stage.graphs);
        Ok(Self {
            module: m.name().to_owned(),
            pp_rank: at.pp_rank,
            memory: by_bucket(&stage.memory, stage.total),
            steady_bytes: stage.steady.into(),
            peak_bytes: stage.total.into(),
            peak_moment: alike.moments.of(&stage.moment, Moment::from)?,
            in_flight: stage.in_flight.clone(),
            allowances: Allowances::new(&range, &mut alike.overheads)?,
            timeline: Timeline::new(results, at, results.estimate.modules.len()),
        })
    }
}
