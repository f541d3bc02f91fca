//! The CUDA graphs of Transformer Engine that the layers of a chunk are captured in.

use super::blocks::Block;
use crate::model::tape::ActivationTensor;

/// The outputs of a graph that others read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GraphOutputs {
    /// Outputs that have the size of the residual stream.
    pub(crate) streams: u64,
    /// Outputs of any other size.
    pub(crate) others: u64,
}

/// The graphs of a chunk.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkGraphs {
    /// How many there are.
    pub(crate) count: u64,
    /// The outputs of graphs, each kind once.
    pub(crate) kinds: Vec<GraphOutputs>,
    /// The last of the outputs that are not of the size of the residual stream.
    pub(crate) other: Option<ActivationTensor>,
}

impl ChunkGraphs {
    /// The graphs of these blocks, where the residual stream has so many bytes.
    pub(crate) fn of(blocks: &[Block<'_>], stream: u64) -> Self {
        let mut of_chunk = Self::default();
        for outputs in blocks.iter().flat_map(|block| &block.compiled.static_outputs) {
            of_chunk.count += 1;
            let mut kind = GraphOutputs::default();
            for output in outputs {
                if output.allocated() == stream {
                    kind.streams += 1;
                } else {
                    kind.others += 1;
                    of_chunk.other = Some(*output);
                }
            }
            if !of_chunk.kinds.contains(&kind) {
                of_chunk.kinds.push(kind);
            }
        }
        of_chunk
    }
}
