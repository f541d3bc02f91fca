//! The memory of one pipeline stage.

use serde::Serialize;
use tsify::Tsify;

use super::{Parameters, Results, by_bucket};
use crate::api::Exact;
use crate::api::plain_data::ByName;
use crate::config::job::Module;
use crate::memory::overhead::{MemoryRange, memory_range};
use crate::memory::peak::PeakMoment;
use crate::memory::{self, ChunkEstimate, StageEstimate, StageRef};
use crate::parallel::schedule;

/// One pipeline stage of a module, on the rank of it that needs most.
#[derive(Debug, Serialize, Tsify)]
pub struct Stage {
    pp_rank: usize,
    chunks: Vec<Chunk>,
    /// Bytes by bucket at the heaviest moment, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
    /// What stays between optimizer steps: `torch.cuda.memory_allocated`.
    steady_bytes: Exact,
    /// The heaviest moment: `torch.cuda.max_memory_allocated`. The same as `memory.total`.
    peak_bytes: Exact,
    peak_moment: Moment,
    /// Micro batches of each chunk that are alive at the heaviest moment of the forward and backward passes.
    in_flight: Vec<u32>,
    /// What the device shows on top: never part of the prediction.
    allowances: Allowances,
    /// With the option `timeline`; with `rank`, only on the stages of that rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Timeline>,
}

/// One virtual pipeline stage: the layers that a rank holds in one piece.
#[derive(Debug, Serialize, Tsify)]
pub struct Chunk {
    vp_stage: usize,
    /// Decoder layers, counted over the whole model from 0.
    layers: Vec<u32>,
    parameters: Parameters,
    /// What one live micro batch keeps in it from its forward to its backward pass.
    kept_bytes: Exact,
}

/// What a rank does at some moment.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Moment {
    /// All of it in words.
    description: String,
    #[tsify(
        type = "\"forward pass\" | \"backward pass\" | \"recompute in the backward pass\" | \"optimizer step\""
    )]
    pass: &'static str,
    /// The part of the schedule; `null` in the optimizer step.
    #[tsify(type = "\"warm-up\" | \"steady\" | \"cool-down\" | null")]
    phase: Option<&'static str>,
    /// The step of the schedule, counted from 0.
    step: Option<Exact>,
    chunk: u32,
    microbatch: u32,
    /// What is at work, such as `MoE layer`.
    part: String,
    /// The decoder layer, counted over the whole model from 0.
    layer: Option<u32>,
    operation: &'static str,
}

/// Memory over the passes of one iteration.
#[derive(Debug, Serialize, Tsify)]
pub struct Timeline {
    steps: Exact,
    /// At most as many points as asked for, each the heaviest step of an equal share of them.
    points: Vec<TimelinePoint>,
    /// Bytes by bucket in the optimizer step that follows, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    optimizer_step: ByName,
}

/// One step of the schedule, at its heaviest moment.
#[derive(Debug, Serialize, Tsify)]
pub struct TimelinePoint {
    step: Exact,
    /// Bytes by bucket, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
    moment: Moment,
    /// Micro batches of each chunk that are alive.
    in_flight: Vec<u32>,
}

/// A range above a peak: what the allocator reserves, CUDA context, NCCL, CUDA graphs.
#[derive(Debug, Serialize, Tsify)]
pub struct Allowances {
    low_bytes: Exact,
    high_bytes: Exact,
    parts: Vec<Allowance>,
}

/// One part of the range.
#[derive(Debug, Serialize, Tsify)]
pub struct Allowance {
    what: &'static str,
    low_bytes: Exact,
    high_bytes: Exact,
    /// The argument that sets it.
    field: &'static str,
    /// The address of what says so.
    source: String,
}

impl Stage {
    pub(super) fn new(
        results: Results<'_>,
        at: StageRef,
        m: &Module,
        stage: &StageEstimate,
    ) -> Self {
        // With a rank, timelines are of its stages alone.
        let modules = &results.estimate.modules;
        let timelines = match results.options.rank {
            Some(_) => 0,
            None => modules.iter().map(|module| module.stages.len()).sum(),
        };
        let chunks = stage.chunks.iter().enumerate();
        Self {
            pp_rank: at.pp_rank,
            chunks: chunks
                .map(|(vp_stage, chunk)| Chunk::new(vp_stage, chunk))
                .collect(),
            memory: by_bucket(&stage.memory, stage.total),
            steady_bytes: stage.steady.into(),
            peak_bytes: stage.total.into(),
            peak_moment: Moment::from(&stage.moment),
            in_flight: stage.in_flight.clone(),
            allowances: Allowances::from(&memory_range(m, stage.total, stage.graphs)),
            timeline: Timeline::new(results, at, timelines),
        }
    }
}

impl Chunk {
    fn new(vp_stage: usize, chunk: &ChunkEstimate) -> Self {
        Self {
            vp_stage,
            layers: chunk.layers.clone().collect(),
            parameters: Parameters::from(&chunk.parameters),
            kept_bytes: chunk.kept.into(),
        }
    }
}

impl From<&PeakMoment> for Moment {
    fn from(moment: &PeakMoment) -> Self {
        Self {
            description: moment.to_string(),
            pass: moment.pass.label(),
            phase: moment.phase.map(schedule::Phase::label),
            step: moment.step.map(Exact::from),
            chunk: moment.chunk,
            microbatch: moment.microbatch,
            part: moment
                .block
                .map_or_else(String::new, |block| block.to_string()),
            layer: moment.layer,
            operation: moment.op,
        }
    }
}

impl Timeline {
    /// The timeline of a stage where so many stages have one; `None` where none is wanted.
    pub(super) fn new(results: Results<'_>, at: StageRef, timelines: usize) -> Option<Self> {
        let points = results.options.points_each(timelines);
        if points == 0 || timelines == 0 {
            return None;
        }
        let timeline = memory::timeline(results.config, at, points)?;
        let step = &timeline.optimizer_step;
        Some(Self {
            steps: timeline.steps.into(),
            points: timeline
                .points
                .iter()
                .map(|point| TimelinePoint {
                    step: point.step.into(),
                    memory: by_bucket(&point.memory, point.total),
                    moment: Moment::from(&point.moment),
                    in_flight: point.in_flight.clone(),
                })
                .collect(),
            optimizer_step: by_bucket(step, step.iter().copied().sum()),
        })
    }
}

impl From<&MemoryRange> for Allowances {
    fn from(range: &MemoryRange) -> Self {
        let parts = range.overheads.iter().map(|part| Allowance {
            what: part.what,
            low_bytes: part.low.into(),
            high_bytes: part.high.into(),
            field: part.field.field().name,
            source: part.source.url().into_owned(),
        });
        Self {
            low_bytes: range.low.into(),
            high_bytes: range.high.into(),
            parts: parts.collect(),
        }
    }
}
