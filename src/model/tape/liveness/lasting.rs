//! The tensors of a tape that stay between its passes.

use crate::model::tape::{ActivationTensor, AutogradTape};

/// The tensors of a tape that stay between its passes, or that others than its operations read, whatever is recomputed of
/// it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastingTensors {
    /// The tensors that attributes of modules refer to.
    pub(crate) attributes: Vec<ActivationTensor>,
    /// Whether they hold the graph of the tape's operations.
    pub(crate) holds_graph: bool,
    /// For each captured graph, the tensors that it makes and that others read.
    pub(crate) static_outputs: Vec<Vec<ActivationTensor>>,
    /// Bytes of the output, if that lies in the pool of a graph.
    pub(crate) pooled_output: u64,
}

impl LastingTensors {
    /// Those of a tape.
    pub(crate) fn of(tape: &AutogradTape) -> Self {
        let attributes = tape.attributes.iter().filter_map(|id| tape.get(*id));
        let static_outputs = tape.graphs.iter().map(|graph| tape.static_outputs(graph).copied());
        Self {
            attributes: attributes.copied().collect(),
            holds_graph: tape.holds_graph,
            static_outputs: static_outputs.map(Iterator::collect).collect(),
            pooled_output: tape.pooled_output(),
        }
    }
}
