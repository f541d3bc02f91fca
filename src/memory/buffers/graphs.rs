//! What Transformer Engine's CUDA graphs hold besides their pool, from their capture on: tensors that every replay
//! copies its inputs and the gradients of its outputs into.

use core::cell::RefCell;

use super::{Buffer, List};
use crate::config::choices::CudaGraphModule;
use crate::memory::blocks::{CompiledTapes, attention_mask as mask};
use crate::memory::chunk_graphs::{ChunkGraphs, GraphOutputs};
use crate::model::tape::{Capture, Point};
use crate::model::tensor::factor;
use crate::model::{LayerSpec, Mixer};
use crate::parallel::schedule::{ChunkBytes, Schedule};
use crate::source::Source;

/// The most captured layers that are alive at once, by the schedules of stages and the graphs of each of their chunks.
#[derive(Debug, Default)]
pub(crate) struct KnownInFlight(RefCell<Vec<(Schedule, Vec<u64>, u64)>>);

impl KnownInFlight {
    /// The most captured layers of a stage that are alive at once, whose chunks have these graphs.
    fn of(&self, schedule: Schedule, graphs: &[ChunkGraphs]) -> u64 {
        let counts = || graphs.iter().map(|graphs| graphs.count);
        let mut known = self.0.borrow_mut();
        let mut of_others = known.iter();
        let same = of_others.find(|(of, graphs, _)| *of == schedule && counts().eq(graphs.iter().copied()));
        if let Some((.., layers)) = same {
            return *layers;
        }
        let counts: Vec<u64> = counts().collect();
        let layers = in_flight(&schedule, &counts);
        known.push((schedule, counts, layers));
        layers
    }
}

/// The static tensors of a stage's graphs: with this schedule, and these graphs of each chunk.
pub(crate) fn buffers(
    tapes: &CompiledTapes<'_>,
    schedule: Schedule,
    of_chunks: &[ChunkGraphs],
    known: &KnownInFlight,
) -> Vec<Buffer> {
    let mut out = List(Vec::with_capacity(4));
    let layers = known.of(schedule, of_chunks);
    if layers == 0 {
        return out.0;
    }
    let (sizes, m) = (tapes.sizes(), tapes.sizes().m);
    let stream = sizes.streams();
    let alive = factor("captured layers in flight", layers);
    let what = "inputs of CUDA graphs";
    out.tensor(what, stream.times(alive), sizes.stream_width(), Source::GraphInputs);
    let attends = |spec: &LayerSpec| {
        let captured = Capture::of(m, *spec).is_some_and(|capture| capture.from == Point::Start);
        captured && spec.mixer.map(Mixer::cuda_graph_module) == Some(CudaGraphModule::Attn)
    };
    if tapes.architecture().specs().iter().any(attends) {
        let mask = mask(m).times(alive);
        out.tensor("attention masks of CUDA graphs", mask, 1, Source::GraphMasks);
    }
    // Graphs with as many outputs of each shape share the gradients of these.
    let (mut kinds, mut other) = (Vec::<GraphOutputs>::new(), None);
    for graphs in of_chunks {
        for kind in &graphs.kinds {
            if !kinds.contains(kind) {
                kinds.push(*kind);
            }
        }
        other = graphs.other.or(other);
    }
    let (mut streams, mut others) = (1, 0);
    for kind in kinds {
        (streams, others) = (streams + kind.streams, others + kind.others);
    }
    // The input's gradient of the graph that is captured last stays too.
    let shape = stream.times(factor("outputs of each kind of graph, and one input", streams));
    let what = "gradients of the residual stream around CUDA graphs";
    out.tensor(what, shape, sizes.stream_width(), Source::GraphGradients);
    if let Some(other) = other {
        let shape = other.shape.times(factor("outputs of each kind of graph", others));
        let what = "gradients of tokens between CUDA graphs and experts";
        out.tensor(what, shape, other.width, Source::GraphGradients);
    }
    out.0
}

/// The most captured layers that are alive at once: of each, one microbatch's input stays as it is until its backward
/// pass. With EP overlap every layer goes forwards before another goes backwards.
fn in_flight(schedule: &Schedule, graphs: &[u64]) -> u64 {
    let weights = graphs.iter().map(|graphs| ChunkBytes {
        stored: *graphs,
        ..ChunkBytes::default()
    });
    let weights: Vec<ChunkBytes> = weights.collect();
    let graphs = |chunk: u32| graphs.get(chunk as usize).copied().unwrap_or(0);
    let most = schedule.peak_with(&weights, &|up, down| graphs(up).max(graphs(down) + 1));
    u64::try_from(most.bytes).unwrap_or(u64::MAX)
}
