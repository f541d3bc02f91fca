//! The memory of a pipeline stage between iterations, and its peak.

mod graph_phases;
mod heaviest_stage;
mod local_graphs;
mod moment;
mod replay;

pub(crate) use graph_phases::{StagePhases, captures};
pub(crate) use heaviest_stage::ComparedStage;
pub(crate) use replay::StageReplay;

use core::cell::RefCell;
use std::rc::Rc;

pub use moment::{PassName, PeakMoment};

use super::blocks::{BlockTapes, CompiledTapes, prefetched};
use super::bucket::{Bucket, ByBucket};
use super::buffers::graphs::KnownInFlight;
use super::buffers::{Buffer, BufferKind, BufferRules, PaddingBytes, Site};
use super::chunk_profile::{ChunkProfile, totals_of_blocks};
use super::chunk_shape::LayoutShapes;
use super::estimate::ChunkEstimate;
use super::fsdp::FsdpModel;
use super::graph_phase::GraphPhase;
use super::parameters::{Parameters, PartTable};
use super::plain_tapes::LayoutPlainTapes;
use super::shared::{BaselineTables, ParameterTables};
use super::stage_totals::{StagePlace, StageTotals, WeighedChunk};
use super::states::{StateRules, TrainedCounts, offloaded_in_passes, step_copies};
use super::torch_fsdp2::TorchFsdp2;
use crate::config::choices::CudaGraphImpl;
use crate::config::job::Module;
use crate::model::{Architecture, PartCounts};
use crate::parallel::groups::View;
use crate::parallel::schedule::{Schedule, ScheduleInput};
use crate::parallel::stages::Chunk;
use crate::units::Bytes;

/// The data that all stages of one module share.
pub(crate) struct Stages<'a> {
    pub(crate) m: &'a Module,
    pub(crate) tapes: CompiledTapes<'a>,
    /// The tapes while CUDA graphs are captured, and while they are replayed; `None` where nothing is captured.
    graphs: Option<Box<[CompiledTapes<'a>; 2]>>,
    pub(crate) rules: StateRules,
    architecture: &'a Architecture,
    local: &'a PartTable,
    /// A cache of the parameters of chunks, by their parts, since most chunks have the same parts.
    parameters: Rc<KnownParameters>,
    pub(crate) buffers: Rc<BufferRules>,
    /// The parameters that Megatron FSDP splits over ranks; `None` without it.
    fsdp: Option<FsdpModel<'a>>,
    /// The parameters that PyTorch's FSDP2 splits over ranks; `None` without it.
    torch_fsdp2: Option<TorchFsdp2<'a>>,
    /// A cache of the memory between iterations, by the parts of a stage's chunks and whether it has the output layer,
    /// since most stages have the same.
    baseline: Rc<KnownBaselines>,
    /// A cache of the states among that memory.
    states: Rc<KnownStates>,
    /// A cache of the captured layers that are alive at once.
    in_flight: Rc<KnownInFlight>,
}

/// The parameters of chunks, by their parts.
pub(crate) type KnownParameters = RefCell<Vec<(PartCounts, Rc<Parameters>)>>;

/// The memory of stages between iterations, by the parts of their chunks and whether they have the output layer.
pub(crate) type KnownBaselines = RefCell<Vec<(Vec<PartCounts>, bool, StageBaseline)>>;

/// The model states of stages, by the parts of their chunks and whether they have the output layer.
pub(crate) type KnownStates = RefCell<Vec<(Vec<PartCounts>, bool, StageStates)>>;

/// The model states of a stage, which do not depend on micro batches, and what goes with them.
#[derive(Clone, Copy)]
pub(crate) struct StageStates {
    /// States by bucket.
    memory: ByBucket,
    padding: PaddingBytes,
    copies: Copies,
    saved_by_freezing: Bytes,
}

/// The memory of a stage that does not change during an iteration: states and buffers, and what the optimizer step
/// copies.
#[derive(Clone, Copy)]
pub(crate) struct StageBaseline {
    /// States and buffers by bucket.
    memory: ByBucket,
    copies: Copies,
    workspaces: Bytes,
    saved_by_freezing: Bytes,
    /// The part of `memory` that is released between iterations.
    released: Bytes,
}

impl<'a> Stages<'a> {
    pub(crate) fn new(m: &'a Module, architecture: &'a Architecture, local: &'a PartTable) -> Self {
        let fsdp = FsdpModel::new(m, architecture);
        let bucket = fsdp.as_ref().map_or(0, FsdpModel::output_gradients);
        let tapes = |graph_phase| CompiledTapes::new(m, architecture, graph_phase, bucket);
        Self {
            m,
            tapes: tapes(GraphPhase::Plain),
            graphs: captures(m).then(|| Box::new([GraphPhase::Capture, GraphPhase::Replay].map(tapes))),
            rules: StateRules::new(m),
            architecture,
            local,
            parameters: Rc::default(),
            buffers: Rc::new(BufferRules::new(m, architecture)),
            fsdp,
            torch_fsdp2: TorchFsdp2::new(m, architecture),
            baseline: Rc::default(),
            states: Rc::default(),
            in_flight: Rc::default(),
        }
    }

    /// The stages of a module without local CUDA graphs and FSDP, with what it has in common with other layouts of its
    /// model. `tapes` has those of a phase.
    pub(crate) fn shared(
        m: &'a Module,
        tables: &'a ParameterTables,
        (mut tapes, plain): (impl FnMut(GraphPhase) -> Rc<BlockTapes>, LayoutPlainTapes),
        known: &BaselineTables,
    ) -> Self {
        let mut tapes = |graph_phase| {
            let tapes = tapes(graph_phase);
            CompiledTapes::shared(m, &tables.architecture, graph_phase, tapes, plain.clone())
        };
        Self {
            m,
            tapes: tapes(GraphPhase::Plain),
            graphs: captures(m).then(|| Box::new([GraphPhase::Capture, GraphPhase::Replay].map(tapes))),
            rules: StateRules::new(m),
            architecture: &tables.architecture,
            local: &tables.local,
            parameters: tables.parameters.clone(),
            buffers: tables.buffers.clone(),
            fsdp: None,
            torch_fsdp2: None,
            baseline: known.by_parts.clone(),
            states: known.states.clone(),
            in_flight: known.in_flight.clone(),
        }
    }

    /// The parts of the module.
    pub(crate) fn architecture(&self) -> &'a Architecture {
        self.architecture
    }

    /// The chunks of a stage and their parts.
    pub(crate) fn chunks(&self, pp_rank: u32) -> Vec<ChunkEstimate> {
        let chunks = self.m.stages.rank(pp_rank).iter();
        chunks
            .map(|chunk| {
                let parts = self.architecture.chunk_parts(self.m, chunk);
                ChunkEstimate {
                    layers: chunk.layers.clone(),
                    kept: Bytes::ZERO,
                    parameters: self.parameters(&parts).as_ref().clone(),
                    parts,
                }
            })
            .collect()
    }

    /// Whether an inner stage surely needs no more than an earlier inner one with the same chunks, so that its schedule
    /// need not be replayed to find the heaviest stage.
    ///
    /// The later stage begins its first backward pass after fewer forward passes. At each of its passes the earlier stage
    /// holds all the micro batches that it holds, and maybe more: in every phase of CUDA graphs, and so many captured
    /// layers too. Passes that run at once are other pairs on each stage, and the pool of local graphs is not compared:
    /// with those the answer is no.
    pub(crate) fn later_need_no_more(&self) -> bool {
        let m = self.m;
        let alone = m.boundary.stages_before == 0 && m.boundary.stages_after == 0;
        let local = self.graphs.is_some() && self.captures_within_an_iteration();
        alone && !local && !m.args.overlap_moe_expert_parallel_comm
    }

    /// Whether a stage surely needs [no more](Self::later_need_no_more) than the one before it, both with the same layers
    /// and nothing else.
    pub(crate) fn needs_no_more_than_before(&self, pp_rank: u32) -> bool {
        let m = self.m;
        let same = |a: &Chunk, b: &Chunk| {
            let layers = |chunk: &Chunk| chunk.layers.clone().map(|l| self.architecture.layer(l));
            let ends = |c: &Chunk| c.embedding || c.output || c.final_layernorm || c.mtp > 0;
            !ends(a) && !ends(b) && layers(a).eq(layers(b))
        };
        let inner = pp_rank > 0 && pp_rank + 1 < m.stages.pp();
        inner && self.later_need_no_more() && {
            let (before, own) = (m.stages.rank(pp_rank - 1), m.stages.rank(pp_rank));
            before.len() == own.len() && before.iter().zip(own).all(|(a, b)| same(a, b))
        }
    }

    /// The parts of each chunk of a stage.
    fn parts(&self, pp_rank: u32) -> Vec<PartCounts> {
        let chunks = self.m.stages.rank(pp_rank).iter();
        chunks
            .map(|chunk| self.architecture.chunk_parts(self.m, chunk))
            .collect()
    }

    fn parameters(&self, parts: &PartCounts) -> Rc<Parameters> {
        let mut known = self.parameters.borrow_mut();
        if let Some((_, parameters)) = known.iter().find(|(of, _)| of == parts) {
            return parameters.clone();
        }
        let parameters = Rc::new(self.local.total(parts));
        known.push((parts.clone(), parameters.clone()));
        parameters
    }

    /// Whether a stage has the output layer.
    fn has_output(&self, pp_rank: u32) -> bool {
        let mut chunks = self.m.stages.rank(pp_rank).iter();
        chunks.any(|chunk| chunk.output) && self.m.io.is_language()
    }

    /// The site of a stage's buffers.
    pub(crate) fn site(&self, pp_rank: u32) -> Site<'_> {
        self.site_of(pp_rank, self.parts(pp_rank))
    }

    /// The site of the buffers of a stage whose chunks have these parts.
    fn site_of(&self, pp_rank: u32, parts: Vec<PartCounts>) -> Site<'_> {
        Site {
            sizes: *self.tapes.sizes(),
            rules: &self.rules,
            output: self.has_output(pp_rank),
            chunks: self.m.stages.rank(pp_rank),
            torch_fsdp2: self.torch_fsdp2.as_ref().map(|fsdp| fsdp.stage(&parts)),
            parts,
            architecture: self.architecture,
            fsdp: self.fsdp.as_ref().map(|fsdp| fsdp.stage(self.m.stages.rank(pp_rank))),
        }
    }

    /// The tapes at a time of the job; without graphs they are always the same.
    pub(crate) fn tapes(&self, graph_phase: GraphPhase) -> &CompiledTapes<'a> {
        match (graph_phase, self.graphs.as_deref()) {
            (GraphPhase::Capture, Some([capture, _])) => capture,
            (GraphPhase::Replay, Some([_, replay])) => replay,
            _ => &self.tapes,
        }
    }

    /// The schedule of a stage and its place in the pipeline.
    fn place(&self, pp_rank: u32, graph_phase: GraphPhase) -> StagePlace {
        let m = self.m;
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        // Modules on other ranks are stages of the same pipeline; none of them can interleave.
        let (before, after) = if m.stages.vpp().is_none() {
            let boundary = &m.boundary;
            (narrow(boundary.stages_before), narrow(boundary.stages_after))
        } else {
            (0, 0)
        };
        let pipeline = m.stages.pp().saturating_add(before).saturating_add(after);
        let own = ScheduleInput {
            pp: pipeline,
            pp_rank: before.saturating_add(pp_rank),
            vpp: m.stages.vpp(),
            num_microbatches: narrow(m.num_microbatches),
            microbatch_group_size_per_vp_stage: m.args.microbatch_group_size_per_virtual_pipeline_stage.map(narrow),
            overlap_moe_expert_parallel_comm: m.args.overlap_moe_expert_parallel_comm,
        };
        let schedule = Schedule::new(m.boundary.first_stage.map_or(own, |stage| ScheduleInput {
            pp: narrow(stage.pp),
            pp_rank: 0,
            vpp: stage.vpp,
            microbatch_group_size_per_vp_stage: stage.microbatch_group_size_per_vp_stage.map(narrow),
            overlap_moe_expert_parallel_comm: stage.overlap_moe_expert_parallel_comm,
            ..own
        }));
        // What an encoder on the first stage's ranks puts out goes to no other stage.
        let pipelined = pipeline > 1;
        let last = after == 0 && pp_rank + 1 == m.stages.pp();
        let plain = pipelined && m.stages.vpp().is_none();
        // While a graph is captured backwards, the gradient of the graph after it stays. Local graphs count that
        // themselves.
        let captured = graph_phase == GraphPhase::Capture && m.args.cuda_graph_impl == CudaGraphImpl::TransformerEngine;
        let plain = plain && graph_phase != GraphPhase::Capture;
        StagePlace {
            schedule,
            pipelined,
            retained: plain && !last || captured,
            captured,
        }
    }

    /// The schedule of a stage with the profile of every chunk.
    pub(crate) fn replay(&self, pp_rank: u32, graph_phase: GraphPhase) -> StageReplay<'_> {
        let m = self.m;
        let tapes = self.tapes(graph_phase);
        let place = self.place(pp_rank, graph_phase);
        let retained = place.retained;
        let prefetched = prefetched(m, tapes, pp_rank);
        let chunks: Vec<ChunkProfile<'_>> = m
            .stages
            .rank(pp_rank)
            .iter()
            .map(|chunk| {
                let torch = || self.torch_fsdp2.as_ref().map(|fsdp| fsdp.in_flight(chunk));
                let fsdp = self.fsdp.as_ref().map(|fsdp| fsdp.in_flight(chunk));
                let fsdp = fsdp.or_else(torch).unwrap_or_default();
                ChunkProfile::new(m, tapes, chunk, retained, prefetched, fsdp)
            })
            .collect();
        let totals = chunks.iter().map(|chunk| Rc::new(chunk.totals())).collect();
        StageReplay {
            totals: StageTotals::new(&place, totals),
            chunks,
            retained,
            overlaps: RefCell::default(),
        }
    }

    /// The totals of the chunks of a layout's stages in all phases of their graphs. The stages are
    /// [shared](Self::shared).
    pub(crate) fn phases(&self, layout: &LayoutShapes) -> impl Iterator<Item = StagePhases> {
        let totals = |graph_phase| self.totals(layout, graph_phase);
        let in_graphs = || totals(GraphPhase::Capture).zip(totals(GraphPhase::Replay));
        let mut graphs = self.graphs.is_some().then(in_graphs).into_iter().flatten();
        totals(GraphPhase::Plain).map(move |plain| StagePhases {
            plain,
            graphs: graphs.next().map(|(capture, replay)| [capture, replay]),
        })
    }

    /// The totals of the chunks of a layout's stages in a phase, those of chunks with the same shape and tapes worked
    /// out once. The stages are [shared](Self::shared).
    fn totals(&self, layout: &LayoutShapes, graph_phase: GraphPhase) -> impl Iterator<Item = StageTotals> {
        let (m, tapes) = (self.m, self.tapes(graph_phase));
        // By shape, and by whether gradients of outputs are retained.
        let mut known: Vec<[Option<WeighedChunk>; 2]> = vec![[None, None]; layout.shapes.len()];
        layout.stages.iter().map(move |stage| {
            let place = self.place(stage.pp_rank, graph_phase);
            let prefetched = prefetched(m, tapes, stage.pp_rank);
            let chunks = m.stages.rank(stage.pp_rank).iter().zip(&stage.chunks);
            let chunks = chunks.map(|(chunk, shape)| {
                let profile = || ChunkProfile::new(m, tapes, chunk, place.retained, prefetched, Vec::new()).totals();
                // What waits on the GPU for a later pass depends on the other chunks of the stage.
                if prefetched.is_some() {
                    return WeighedChunk::new(&place, Rc::new(profile()));
                }
                let weighed = || {
                    let Some(shape) = layout.shapes.get(*shape) else {
                        return WeighedChunk::new(&place, Rc::new(profile()));
                    };
                    let totals = tapes.totals((chunk, shape), place.retained, || {
                        totals_of_blocks(m, tapes, (chunk, &shape.blocks), place.retained).unwrap_or_else(profile)
                    });
                    WeighedChunk::new(&place, totals)
                };
                let known = known.get_mut(*shape);
                match known.and_then(|known| known.get_mut(usize::from(place.retained))) {
                    Some(known) => known.get_or_insert_with(weighed).clone(),
                    None => weighed(),
                }
            });
            StageTotals::of_weighed(&place, chunks)
        })
    }

    /// The memory of a stage that does not change during an iteration.
    pub(crate) fn baseline(&self, pp_rank: u32) -> StageBaseline {
        let parts = self.parts(pp_rank);
        let output = self.has_output(pp_rank);
        let known = self.baseline.borrow();
        let mut of_others = known.iter();
        let same = of_others.find(|(of, with_output, _)| *of == parts && *with_output == output);
        if let Some((.., baseline)) = same {
            return *baseline;
        }
        drop(known);
        let site = self.site_of(pp_rank, parts);
        let StageStates {
            mut memory,
            padding,
            copies,
            saved_by_freezing,
        } = self.states(&site);
        let buffers = self.buffers.with_padding(&site, padding);
        let of_process = |b: &&Buffer| b.kind == BufferKind::Workspace;
        let workspaces = buffers.iter().filter(of_process).map(|b| Bytes(b.bytes)).sum();
        let buffers = buffers.iter().map(|b| Bytes(b.bytes)).sum();
        set(&mut memory, Bucket::Buffers, buffers);
        let released = site
            .fsdp
            .as_ref()
            .map_or(0, |fsdp| fsdp.released_between_iterations(self.m));
        let baseline = StageBaseline {
            memory,
            copies,
            workspaces,
            saved_by_freezing,
            released: Bytes(released),
        };
        let known = (site.parts, output, baseline);
        self.baseline.borrow_mut().push(known);
        baseline
    }

    /// The model states of the stage at a site.
    fn states(&self, site: &Site<'_>) -> StageStates {
        let known = self.states.borrow();
        let mut of_others = known.iter();
        let same = of_others.find(|(of, with_output, _)| *of == site.parts && *with_output == site.output);
        if let Some((.., states)) = same {
            return *states;
        }
        drop(known);
        let mut of_stage = PartCounts::new();
        for counts in &site.parts {
            of_stage.resize(counts.len(), 0);
            for (sum, count) in of_stage.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        let held = self.parameters(&of_stage);
        let saved_by_freezing = self.rules.saved_by_freezing(&held);
        let held = self.rules.count(&held);
        let states = StageStates {
            memory: self.rules.memory(&held),
            padding: self.buffers.padding_bytes(site),
            copies: self.optimizer_copies(&held),
            saved_by_freezing,
        };
        let known = (site.parts.clone(), site.output, states);
        self.states.borrow_mut().push(known);
        states
    }

    /// Bytes of the copies that the optimizer step makes.
    pub(crate) fn optimizer_copies(&self, held: &TrainedCounts) -> Copies {
        let [kept, during] = step_copies(self.m).map(|copy| {
            let views = [View::Dense, View::Expert].into_iter();
            let copied = views.map(|view| {
                let (rule, count) = self.rules.copied(&copy, held, view);
                rule.bytes_of(count)
            });
            copied.sum()
        });
        Copies { kept, during }
    }
}

impl StageBaseline {
    /// States and buffers by bucket.
    pub(crate) const fn memory(&self) -> ByBucket {
        self.memory
    }

    /// All states and buffers.
    pub(crate) fn total(&self) -> Bytes {
        self.memory.iter().copied().sum()
    }

    /// The states and buffers that are on the GPU while passes run.
    pub(crate) fn beside_passes(&self, m: &Module) -> Bytes {
        let all = Bucket::ALL.into_iter().zip(&self.memory);
        let of = |bucket: Bucket| bucket.state().map(|(state, _)| state);
        let there = all.filter(|(b, _)| !of(*b).is_some_and(|state| offloaded_in_passes(m, state)));
        there.map(|(_, bytes)| *bytes).sum()
    }
}

/// Copies that the optimizer step makes.
#[derive(Clone, Copy)]
pub(crate) struct Copies {
    /// Gradients in fp32, which stay until the next step's gradients are zeroed.
    pub(crate) kept: Bytes,
    /// Moments in fp32 or main parameters in 16 bits, while the step runs.
    pub(crate) during: Bytes,
}

fn set(memory: &mut ByBucket, bucket: Bucket, bytes: Bytes) {
    if let Some(slot) = memory.get_mut(bucket as usize) {
        *slot = bytes;
    }
}
