//! The CUDA graphs of Transformer Engine that the layers of a chunk are captured in.

use crate::model::tape::ActivationTensor;
use crate::model::tape::liveness::CompiledTape;

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
    /// Adds the graphs of so many blocks, where the residual stream has so many bytes.
    pub(crate) fn add(&mut self, block: &CompiledTape, blocks: u64, stream: u64) {
        for outputs in &block.lasting.static_outputs {
            self.count += blocks;
            let mut kind = GraphOutputs::default();
            for output in outputs {
                if output.allocated() == stream {
                    kind.streams += 1;
                } else {
                    kind.others += 1;
                    self.other = Some(*output);
                }
            }
            if !self.kinds.contains(&kind) {
                self.kinds.push(kind);
            }
        }
    }
}
