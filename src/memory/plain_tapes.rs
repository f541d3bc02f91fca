//! The tapes of blocks before anything is recomputed or offloaded, which layouts of a search share with what was compiled
//! of them.

use core::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::graph_phase::GraphPhase;
use super::stage_totals::ChunkTotals;
use crate::model::sizes::Sizes;
use crate::model::tape::AutogradTape;
use crate::model::tape::liveness::{CompiledTape, LastingTensors, NoOperations, PassKind, PlannedTape};
use crate::model::tape::recompute::RecomputeOptions;
use crate::model::{Architecture, LayerSpec, embedding_tape, head_tape, layer_tape};
use crate::parallel::schedule::Schedule;
use crate::parallel::stages::StageLayout;
use crate::units::Bytes;

/// Tapes with the same operations, whatever the sizes of their tensors. Layouts differ in few operations, and much in
/// sizes.
#[derive(Debug)]
struct SameOperations {
    /// One of these tapes.
    tape: Arc<AutogradTape>,
    /// The plans of what runs of them in each phase.
    planned: RefCell<Vec<(Variant, Rc<PlannedTape>)>>,
    /// Shared by the compiled tapes whose operations are dropped.
    nothing: NoOperations,
}

impl SameOperations {
    /// The plan of one of these tapes, of which this runs.
    fn planned(&self, variant: Variant, tape: &AutogradTape) -> Rc<PlannedTape> {
        let new = || Rc::new(PlannedTape::new(tape, variant.recompute_options));
        // Only tensors of some size are offloaded.
        if variant.recompute_options.offload.is_some() {
            return new();
        }
        let mut known = self.planned.borrow_mut();
        if let Some((_, planned)) = known.iter().find(|(of, _)| *of == variant) {
            return planned.clone();
        }
        let planned = new();
        known.push((variant, planned.clone()));
        planned
    }
}

/// The different operations of all tapes that were met.
#[derive(Debug, Default)]
pub(crate) struct KnownOperations {
    known: RefCell<Vec<Rc<SameOperations>>>,
    /// Shared by the compiled tapes whose operations are dropped.
    nothing: NoOperations,
}

impl KnownOperations {
    fn of(&self, tape: &Arc<AutogradTape>) -> Rc<SameOperations> {
        let mut known = self.known.borrow_mut();
        if let Some(same) = known.iter().find(|same| same.tape.has_operations_of(tape)) {
            return same.clone();
        }
        let same = Rc::new(SameOperations {
            tape: tape.clone(),
            planned: RefCell::default(),
            nothing: self.nothing.clone(),
        });
        known.push(same.clone());
        same
    }
}

/// The operations of a tape that run in one phase of CUDA graphs, and the tensors that stay after them.
#[derive(Clone, Debug)]
struct TapeInPhase {
    tape: Arc<AutogradTape>,
    lasting: Rc<LastingTensors>,
}

impl From<Arc<AutogradTape>> for TapeInPhase {
    fn from(tape: Arc<AutogradTape>) -> Self {
        Self {
            lasting: Rc::new(LastingTensors::of(&tape)),
            tape,
        }
    }
}

/// A tape before anything is recomputed or offloaded, with what was compiled of it.
#[derive(Clone, Debug)]
pub(super) struct PlainTape {
    plain: TapeInPhase,
    operations: Rc<SameOperations>,
    /// What runs of the tape while CUDA graphs are captured.
    captured: OnceCell<TapeInPhase>,
    /// What runs of it beside the graphs once they are captured.
    replayed: OnceCell<TapeInPhase>,
    compiled: RefCell<Vec<(Variant, Rc<CompiledTape>)>>,
}

/// The settings that a compiled tape depends on besides the plain tape: layouts with equal ones share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    graph_phase: GraphPhase,
    recompute_options: RecomputeOptions,
}

impl PlainTape {
    fn new(tape: AutogradTape, operations: &KnownOperations) -> Self {
        let tape = Arc::new(tape);
        Self {
            operations: operations.of(&tape),
            plain: tape.into(),
            captured: OnceCell::new(),
            replayed: OnceCell::new(),
            compiled: RefCell::default(),
        }
    }

    /// The tape in a phase of CUDA graphs, compiled once for all layouts that recompute and offload the same of it. It
    /// has no operations. `in_phase` gives what runs of the tape in the phase, `passes` are all that ever run over it.
    pub(super) fn compiled(
        &self,
        graph_phase: GraphPhase,
        in_phase: impl FnOnce(Arc<AutogradTape>) -> Arc<AutogradTape>,
        recompute_options: RecomputeOptions,
        passes: impl FnOnce(GraphPhase, RecomputeOptions) -> &'static [PassKind],
    ) -> Rc<CompiledTape> {
        // Where nothing is captured, the passes with graphs are those without.
        let graph_phase = match graph_phase {
            GraphPhase::Replay if self.plain.tape.graphs.is_empty() => GraphPhase::Plain,
            graph_phase => graph_phase,
        };
        let in_phase = || in_phase(self.plain.tape.clone()).into();
        let TapeInPhase { tape, lasting } = match graph_phase {
            GraphPhase::Plain | GraphPhase::BeforeCapture => &self.plain,
            GraphPhase::Capture => self.captured.get_or_init(in_phase),
            GraphPhase::Replay => self.replayed.get_or_init(in_phase),
        };
        let recompute_options = recompute_options.on(tape);
        let variant = Variant {
            graph_phase,
            recompute_options,
        };
        let mut known = self.compiled.borrow_mut();
        if let Some((_, compiled)) = known.iter().find(|(of, _)| *of == variant) {
            return compiled.clone();
        }
        let planned = self.operations.planned(variant, tape);
        let compiled = CompiledTape::of_planned((tape.clone(), lasting.clone()), planned, recompute_options);
        let passes = passes(graph_phase, recompute_options);
        let compiled = Rc::new(compiled.without_operations(passes, &self.operations.nothing));
        known.push((variant, compiled.clone()));
        compiled
    }
}

/// The tapes of the parts of a chunk, with all else that its totals depend on among layouts that have the same tapes
/// before anything is recomputed. Many ways of recomputing change no tape of a chunk.
#[derive(Debug)]
pub(crate) struct ChunkTapes {
    /// The number of the chunk's shape.
    pub(super) shape: usize,
    /// Whether the gradient of its output is retained.
    pub(super) retained: bool,
    pub(super) graph_phase: GraphPhase,
    /// How many of its first layers are recomputed groups of their own.
    pub(super) groups: usize,
    /// Whether ranks share the inputs that such groups keep.
    pub(super) distributed: bool,
    pub(super) tapes: Vec<Rc<CompiledTape>>,
}

impl ChunkTapes {
    /// Whether another chunk has the same totals.
    fn is_like(&self, other: &Self) -> bool {
        let settings = |of: &Self| (of.shape, of.retained, of.graph_phase, of.groups, of.distributed);
        let mut tapes = self.tapes.iter().zip(&other.tapes);
        settings(self) == settings(other) && tapes.all(|(one, other)| Rc::ptr_eq(one, other))
    }
}

/// The tapes of the distinct blocks of a module before anything is recomputed or offloaded.
#[derive(Debug)]
pub(crate) struct PlainTapes {
    embedding: OnceCell<PlainTape>,
    /// In the order of [`Architecture::specs`].
    layers: Vec<OnceCell<PlainTape>>,
    /// By whether a chunk has MTP depths, and by whether it has the output layer.
    heads: [[OnceCell<PlainTape>; 2]; 2],
    /// The totals of chunks with what was compiled of these tapes.
    totals: RefCell<Vec<(ChunkTapes, Rc<ChunkTotals>)>>,
    /// Bytes of the static tensors of the CUDA graphs that stages with these schedules capture of these tapes.
    static_tensors: RefCell<Vec<(StageLayout, Schedule, Bytes)>>,
}

impl PlainTapes {
    /// No tapes so far.
    pub(crate) fn new(architecture: &Architecture) -> Self {
        Self {
            embedding: OnceCell::new(),
            layers: vec![OnceCell::new(); architecture.specs().len()],
            heads: Default::default(),
            totals: RefCell::default(),
            static_tensors: RefCell::default(),
        }
    }
}

/// The tapes of the blocks of a layout before anything is recomputed or offloaded. Layouts that differ only in how
/// experts are split have the same tapes of blocks without experts.
#[derive(Clone, Debug)]
pub(crate) struct LayoutPlainTapes {
    /// The tapes of blocks that may have experts.
    pub(crate) with_experts: Rc<PlainTapes>,
    /// The tapes of all other blocks.
    pub(crate) without_experts: Rc<PlainTapes>,
    /// Their operations.
    pub(crate) operations: Rc<KnownOperations>,
}

impl LayoutPlainTapes {
    /// The totals of a chunk, which `totals` works out the first time.
    pub(super) fn totals(&self, of: ChunkTapes, totals: impl FnOnce() -> ChunkTotals) -> Rc<ChunkTotals> {
        let mut known = self.with_experts.totals.borrow_mut();
        if let Some((_, totals)) = known.iter().find(|(other, _)| other.is_like(&of)) {
            return totals.clone();
        }
        let totals = Rc::new(totals());
        known.push((of, totals.clone()));
        totals
    }

    /// Bytes of the static tensors of the CUDA graphs of a stage with this schedule, which `bytes` works out the first
    /// time: what is recomputed changes no graph's inputs and outputs.
    pub(super) fn static_tensors(
        &self,
        (stages, schedule): (&StageLayout, Schedule),
        bytes: impl FnOnce() -> Bytes,
    ) -> Bytes {
        let known = &self.with_experts.static_tensors;
        let is_same = |(layout, of, _): &&(StageLayout, Schedule, Bytes)| *of == schedule && layout == stages;
        if let Some((.., bytes)) = known.borrow().iter().find(is_same) {
            return *bytes;
        }
        let bytes = bytes();
        known.borrow_mut().push((stages.clone(), schedule, bytes));
        bytes
    }

    /// The tape of the embedding of a layout with these sizes.
    pub(super) fn embedding(&self, sizes: &Sizes<'_>) -> &PlainTape {
        let known = &self.without_experts.embedding;
        known.get_or_init(|| PlainTape::new(embedding_tape(sizes), &self.operations))
    }

    /// The tape of the layers at a place among the [distinct ones](Architecture::specs).
    pub(super) fn layer(&self, sizes: &Sizes<'_>, place: usize, spec: LayerSpec) -> Option<&PlainTape> {
        let known = self.of(spec.experts().is_some()).layers.get(place)?;
        Some(known.get_or_init(|| PlainTape::new(layer_tape(sizes, spec), &self.operations)))
    }

    /// The tape of what follows the layers of a chunk, by its number of MTP depths, of which it has all or none, and by
    /// whether it has the output layer.
    pub(super) fn head(&self, sizes: &Sizes<'_>, depths: u64, output: bool) -> Option<&PlainTape> {
        let mtp = depths > 0;
        let known = self.of(mtp).heads.get(usize::from(mtp))?.get(usize::from(output))?;
        // Without FSDP no bucket holds the gradient of the output layer's weight.
        Some(known.get_or_init(|| PlainTape::new(head_tape(sizes, depths, output, 0), &self.operations)))
    }

    /// The operations of the embedding of a layout with these sizes.
    pub(crate) fn embedding_tape(&self, sizes: &Sizes<'_>) -> Arc<AutogradTape> {
        self.embedding(sizes).plain.tape.clone()
    }

    /// The operations of the layers at a place among the distinct ones.
    pub(crate) fn layer_tape(&self, sizes: &Sizes<'_>, place: usize, spec: LayerSpec) -> Option<Arc<AutogradTape>> {
        Some(self.layer(sizes, place, spec)?.plain.tape.clone())
    }

    /// The operations of the output layer, behind all MTP depths.
    pub(crate) fn output_tape(&self, sizes: &Sizes<'_>) -> Option<Arc<AutogradTape>> {
        Some(self.head(sizes, sizes.m.mtp_num_layers, true)?.plain.tape.clone())
    }

    fn of(&self, experts: bool) -> &PlainTapes {
        if experts {
            &self.with_experts
        } else {
            &self.without_experts
        }
    }
}
