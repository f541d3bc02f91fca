//! The phases of a training run with regard to CUDA graphs.

/// A phase of a training run. Transformer Engine's CUDA graphs are captured between two iterations, those of
/// `cuda_graph_impl` local within the first, between its last backward pass and its optimizer step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GraphPhase {
    /// All of it, where no graphs are captured layer by layer.
    #[default]
    Plain,
    /// The iterations before the capture.
    BeforeCapture,
    /// The capture: the graphs alone, in the order of the schedule.
    Capture,
    /// The iterations after it, in which the graphs' tensors lie in a pool of their own.
    Replay,
}

impl GraphPhase {
    /// The words behind the name of a moment that lies in this phase.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::BeforeCapture => ", before CUDA graphs are captured",
            Self::Capture => ", while CUDA graphs are captured",
            Self::Replay => ", with CUDA graphs",
        }
    }
}
