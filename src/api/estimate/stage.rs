//! The memory of one pipeline stage.

use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::JsValue;

use super::alike::{Alike, Object, Objects};
use super::{Parameters, Results, by_bucket};
use crate::Exact;
use crate::plain_data::{ByName, Constant};
use megatron_memory::config::job::Module;
use megatron_memory::memory::fsdp::{FsdpGroup, stage_groups};
use megatron_memory::memory::overhead::{MemoryRange, Overhead, memory_range};
use megatron_memory::memory::peak::PeakMoment;
use megatron_memory::memory::{self, ChunkEstimate, MomentPeak, StageEstimate, StageRef};
use megatron_memory::parallel::groups::View;

/// One pipeline stage of a module. Bytes are those of the rank of the stage that needs most.
/// Equal parameters, moments and parts of allowances of several stages are one object: copy it before you change it.
#[derive(Debug, Serialize, Tsify)]
pub struct Stage {
    pp_rank: usize,
    /// Parameters of all chunks on one rank.
    #[tsify(type = "Parameters")]
    parameters: Object,
    chunks: Vec<Chunk>,
    /// Bytes by bucket at the peak, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
    /// Bytes that stay allocated between iterations, as `torch.cuda.memory_allocated` reports them.
    steady_bytes: Exact,
    /// The peak, as `torch.cuda.max_memory_allocated` reports it. The same as `memory.total`.
    peak_bytes: Exact,
    #[tsify(type = "Moment")]
    peak_moment: Object,
    /// The peak of every moment of the job: of its first iteration, of later ones, and so on.
    peaks: Peaks,
    /// Micro batches in flight of each chunk, at the peak of the forward and backward passes.
    in_flight: Vec<u32>,
    /// Bytes in use that the driver reports (as `nvidia-smi` does): the prediction and the allowances beside it.
    allowances: Allowances,
    /// The buffers of Megatron FSDP, in the order of their buckets. Present with `use_megatron_fsdp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    fsdp: Option<Vec<FsdpBuffer>>,
    /// Present with the option `timeline`, unless the option `rank` is given: then only the rank's stages have
    /// timelines.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Timeline>,
}

/// A buffer of Megatron FSDP: the parameters of one dtype in one layer, or outside of layers.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct FsdpBuffer {
    /// The layer's name in the model, and what tells the group apart from others of the layer.
    name: String,
    /// The index of the layer among those that are gathered as a whole; `null` for parameters outside of layers.
    unit: Option<u32>,
    /// Whether it holds routed experts, which expert-data-parallel ranks share.
    expert: bool,
    /// Whether its parameters are stored in fp8.
    fp8: bool,
    trained: bool,
    /// Number of parameters.
    parameters: Exact,
    elements: Exact,
    /// No rank's part begins or ends within so many elements.
    chunk_size_factor: Exact,
    padded_elements: Exact,
    /// Elements on one rank where ranks split the buffer; all of them with `no_shard`.
    shard_elements: Exact,
}

/// The memory of a stage at every moment of the job. `peak_bytes`, `steady_bytes` and `memory` of the stage are those
/// of the moment that the option `moment` names, or of `later_iteration`. What a job prints as its `max allocated` is
/// the largest peak of all moments that it has been through.
#[derive(Debug, Serialize, Tsify)]
pub struct Peaks {
    /// The first iteration: the optimizer's states do not exist in its passes, its first step makes them.
    first_iteration: MomentMemory,
    /// Any later iteration: all states are there.
    later_iteration: MomentMemory,
    /// The first iteration after a checkpoint was loaded: all states are there in its first forward pass.
    first_iteration_after_resume: MomentMemory,
    /// fp16 training whose loss scaling has skipped every step so far: there are no moments yet.
    skipped_steps: MomentMemory,
    /// Saving a checkpoint in the format `torch_dist`, which makes nothing on the GPU.
    saving_checkpoint: MomentMemory,
}

/// The memory of a stage at one moment of the job.
#[derive(Debug, Serialize, Tsify)]
pub struct MomentMemory {
    /// Bytes that are allocated at its end, as `torch.cuda.memory_allocated` reports them.
    steady_bytes: Exact,
    /// The peak, as `torch.cuda.max_memory_allocated` would report it if it were reset before.
    peak_bytes: Exact,
    #[tsify(type = "Moment")]
    peak_moment: Object,
}

/// One model chunk: a virtual pipeline stage, with consecutive layers.
#[derive(Debug, Serialize, Tsify)]
pub struct Chunk {
    vp_stage: usize,
    /// Indices of the decoder layers, counted over the whole model from 0.
    layers: Vec<u32>,
    #[tsify(type = "Parameters")]
    parameters: Object,
    /// Bytes of activations that one micro batch keeps in the chunk from its forward to its backward pass.
    kept_bytes: Exact,
}

/// A moment of an iteration, and the operation that runs then.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Moment {
    /// The moment in words.
    description: String,
    #[tsify(
        type = "\"forward pass\" | \"backward pass\" | \"recompute in the backward pass\" | \"optimizer step\" | \"between iterations\""
    )]
    pass: Constant,
    /// The phase of the pipeline schedule; `null` in the optimizer step.
    #[tsify(type = "\"warm-up\" | \"steady\" | \"cool-down\" | null")]
    phase: Option<Constant>,
    /// The step of the pipeline schedule, counted from 0; `null` in the optimizer step.
    step: Option<Exact>,
    chunk: u32,
    microbatch: u32,
    /// The part of the model that runs, such as `MoE layer`.
    part: String,
    /// Index of the decoder layer, counted over the whole model from 0; `null` outside decoder layers.
    layer: Option<u32>,
    #[tsify(type = "string")]
    operation: Constant,
}

/// Memory over the steps of one iteration's pipeline schedule.
#[derive(Debug, Serialize, Tsify)]
pub struct Timeline {
    steps: Exact,
    /// One point a step, or, where there are more steps than points, one for the step with the most memory of each
    /// equal share of the steps.
    points: Vec<TimelinePoint>,
    /// Bytes by bucket in the optimizer step, which follows the schedule, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    optimizer_step: ByName,
}

/// One step of the pipeline schedule, at its peak.
#[derive(Debug, Serialize, Tsify)]
pub struct TimelinePoint {
    step: Exact,
    /// Bytes by bucket, and their `total`.
    #[tsify(type = "Record<string, Exact>")]
    memory: ByName,
    moment: Moment,
    /// Micro batches in flight of each chunk.
    in_flight: Vec<u32>,
}

/// The bytes that the device shows, from the least to the most: the peak with the allocator's fragmentation, the CUDA
/// context, NCCL and CUDA graphs.
#[derive(Debug, Serialize, Tsify)]
pub struct Allowances {
    low_bytes: Exact,
    high_bytes: Exact,
    #[tsify(type = "Allowance[]")]
    parts: Vec<Object>,
}

/// One overhead beyond the peak.
#[derive(Debug, Serialize, Tsify)]
pub struct Allowance {
    #[tsify(type = "string")]
    what: Constant,
    low_bytes: Exact,
    high_bytes: Exact,
    /// The argument that sets the overhead.
    #[tsify(type = "string")]
    field: Constant,
    /// The URL of the source for its default.
    source: String,
}

impl Stage {
    pub(super) fn new(
        results: Results<'_>,
        at: StageRef,
        (m, stage): (&Module, &StageEstimate),
        alike: &mut Alike,
    ) -> Result<Self, JsValue> {
        // With the option `rank` only the rank's stages have timelines.
        let modules = &results.estimate.modules;
        let timelines = match results.options.rank {
            Some(_) => 0,
            None => modules.iter().map(|module| module.stages.len()).sum(),
        };
        let range = memory_range(m, results.config.gpu_memory(), stage.total, stage.graphs);
        let chunks = stage.chunks.iter().enumerate();
        let chunks = chunks.map(|(vp_stage, chunk)| Chunk::new(m, vp_stage, chunk, alike));
        Ok(Self {
            pp_rank: at.pp_rank,
            chunks: chunks.collect::<Result<_, _>>()?,
            parameters: alike
                .parameters
                .of(&stage.parameters(), |held| Parameters::new(m, held))?,
            memory: by_bucket(&stage.memory, stage.total),
            steady_bytes: stage.steady.into(),
            peak_bytes: stage.total.into(),
            peak_moment: alike.moments.of(&stage.moment, Moment::from)?,
            peaks: Peaks::new(stage, &mut alike.moments)?,
            in_flight: stage.in_flight.clone(),
            allowances: Allowances::new(&range, &mut alike.overheads)?,
            fsdp: m.args().use_megatron_fsdp.then(|| {
                let groups = stage_groups(m, at.pp_rank);
                groups.iter().map(FsdpBuffer::from).collect()
            }),
            timeline: Timeline::new(results, at, timelines),
        })
    }
}

impl From<&FsdpGroup> for FsdpBuffer {
    fn from(group: &FsdpGroup) -> Self {
        Self {
            name: group.to_string(),
            unit: group.unit_index,
            expert: group.view == View::Expert,
            fp8: group.fp8,
            trained: group.trained,
            parameters: group.parameters.into(),
            elements: group.elements.into(),
            chunk_size_factor: group.chunk_size_factor.into(),
            padded_elements: group.padded_elements.into(),
            shard_elements: group.shard_elements.into(),
        }
    }
}

impl Peaks {
    fn new(stage: &StageEstimate, moments: &mut Objects<PeakMoment>) -> Result<Self, JsValue> {
        let [first, later, resumed, skipped, saving] = &stage.moments;
        let mut memory = |of| MomentMemory::new(of, moments);
        Ok(Self {
            first_iteration: memory(first)?,
            later_iteration: memory(later)?,
            first_iteration_after_resume: memory(resumed)?,
            skipped_steps: memory(skipped)?,
            saving_checkpoint: memory(saving)?,
        })
    }
}

impl MomentMemory {
    fn new(of: &MomentPeak, moments: &mut Objects<PeakMoment>) -> Result<Self, JsValue> {
        Ok(Self {
            steady_bytes: of.steady.into(),
            peak_bytes: of.total.into(),
            peak_moment: moments.of(&of.at, Moment::from)?,
        })
    }
}

impl Chunk {
    fn new(m: &Module, vp_stage: usize, chunk: &ChunkEstimate, alike: &mut Alike) -> Result<Self, JsValue> {
        Ok(Self {
            vp_stage,
            layers: chunk.layers.clone().collect(),
            parameters: alike
                .parameters
                .of(&chunk.parameters, |held| Parameters::new(m, held))?,
            kept_bytes: chunk.kept.into(),
        })
    }
}

impl From<&PeakMoment> for Moment {
    fn from(moment: &PeakMoment) -> Self {
        Self {
            description: moment.to_string(),
            pass: Constant(moment.pass.label()),
            phase: moment.phase.map(|phase| Constant(phase.label())),
            step: moment.step.map(Exact::from),
            chunk: moment.chunk,
            microbatch: moment.microbatch,
            part: moment.block.map_or_else(String::new, |block| block.to_string()),
            layer: moment.layer,
            operation: Constant(moment.op),
        }
    }
}

impl Timeline {
    /// The timeline of a stage where `timelines` stages have one; `None` where no timelines are wanted.
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

impl Allowances {
    pub(super) fn new(range: &MemoryRange, overheads: &mut Objects<Overhead>) -> Result<Self, JsValue> {
        let parts = range.overheads().map(|part| overheads.of(part, Allowance::from));
        Ok(Self {
            low_bytes: range.low.into(),
            high_bytes: range.high.into(),
            parts: parts.collect::<Result<_, _>>()?,
        })
    }
}

impl From<&Overhead> for Allowance {
    fn from(part: &Overhead) -> Self {
        Self {
            what: Constant(part.what),
            low_bytes: part.low.into(),
            high_bytes: part.high.into(),
            field: Constant(part.field.field().name),
            source: part.source.citation().url().into_owned(),
        }
    }
}
