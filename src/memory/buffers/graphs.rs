//! What Transformer Engine's CUDA graphs hold besides their pool, from their capture on: tensors that every replay
//! copies its inputs and the gradients of its outputs into.

use super::{Buffer, List};
use crate::config::choices::CudaGraphModule;
use crate::memory::blocks::{CompiledTapes, attention_mask as mask};
use crate::memory::chunk_profile::ChunkProfile;
use crate::model::tape::{Capture, Point, block};
use crate::model::tensor::factor;
use crate::model::{LayerSpec, Mixer};
use crate::parallel::schedule::{ChunkBytes, Schedule};
use crate::source::{GRAPH_GRADIENTS, GRAPH_INPUTS, GRAPH_MASKS};
use crate::units::multiply;

/// The static tensors of a stage's graphs, whose chunks are these as they are captured.
pub(crate) fn buffers(tapes: &CompiledTapes<'_>, schedule: &Schedule, chunks: &[ChunkProfile<'_>]) -> Vec<Buffer> {
    let mut out = List(Vec::with_capacity(4));
    let layers = in_flight(schedule, chunks);
    if layers == 0 {
        return out.0;
    }
    let (sizes, m) = (tapes.sizes(), tapes.sizes().m);
    let stream = sizes.residual();
    let alive = factor("captured layers in flight", layers);
    let what = "inputs of CUDA graphs";
    out.tensor(what, stream.times(alive), sizes.stream_width(), GRAPH_INPUTS);
    let attends = |spec: &LayerSpec| {
        let captured = Capture::of(m, *spec).is_some_and(|capture| capture.from == Point::Start);
        captured && spec.mixer.map(Mixer::cuda_graph_module) == Some(CudaGraphModule::Attn)
    };
    if tapes.architecture().specs().iter().any(attends) {
        let mask = mask(m).times(alive);
        out.tensor("attention masks of CUDA graphs", mask, 1, GRAPH_MASKS);
    }
    // Graphs with as many outputs of each shape share the gradients of these.
    let bytes = block(multiply(stream.elements(), sizes.stream_width()));
    let (mut kinds, mut other) = (Vec::<(u64, u64)>::new(), None);
    for block in chunks.iter().flat_map(|chunk| &chunk.blocks) {
        let tape = &block.compiled.tape;
        for graph in &tape.graphs {
            let mut kind = (0, 0);
            for output in tape.static_outputs(graph) {
                if output.allocated() == bytes {
                    kind.0 += 1;
                } else {
                    kind.1 += 1;
                    other = Some(output);
                }
            }
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    let (mut streams, mut others) = (1, 0);
    for kind in kinds {
        (streams, others) = (streams + kind.0, others + kind.1);
    }
    // The input's gradient of the graph that is captured last stays too.
    let shape = stream.times(factor("outputs of each kind of graph, and one input", streams));
    let what = "gradients of the residual stream around CUDA graphs";
    out.tensor(what, shape, sizes.stream_width(), GRAPH_GRADIENTS);
    if let Some(other) = other {
        let shape = other.shape.times(factor("outputs of each kind of graph", others));
        let what = "gradients of tokens between CUDA graphs and experts";
        out.tensor(what, shape, other.width, GRAPH_GRADIENTS);
    }
    out.0
}

/// The most captured layers that are alive at once: of each, one microbatch's input stays as it is until its backward
/// pass. With EP overlap every layer goes forwards before another goes backwards.
fn in_flight(schedule: &Schedule, chunks: &[ChunkProfile<'_>]) -> u64 {
    let of = |chunk: &ChunkProfile<'_>| -> u64 {
        let graphs = chunk.blocks.iter().map(|block| block.compiled.tape.graphs.len());
        graphs.map(|graphs| graphs as u64).sum()
    };
    let weights: Vec<ChunkBytes> = chunks
        .iter()
        .map(|chunk| ChunkBytes {
            stored: of(chunk),
            ..ChunkBytes::default()
        })
        .collect();
    let graphs = |chunk: u32| weights.get(chunk as usize).map_or(0, |chunk| chunk.stored);
    let most = schedule.peak_with(&weights, &|up, down| graphs(up).max(graphs(down) + 1));
    u64::try_from(most.bytes).unwrap_or(u64::MAX)
}
