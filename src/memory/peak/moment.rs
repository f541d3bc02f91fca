//! The heaviest moment of a stage, as the page names it.

use core::fmt;

use crate::memory::blocks::BlockKind;
use crate::memory::graph_phase::GraphPhase;
use crate::parallel::schedule::Phase;

/// The heaviest moment of a rank: the pass, layer and operation at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PassName {
    /// A forward pass.
    Forward,
    /// A backward pass.
    Backward,
    /// A forward pass that runs a second time within a backward pass.
    Recompute,
    /// The optimizer step.
    #[default]
    OptimizerStep,
    /// Nothing: an iteration has ended.
    BetweenIterations,
}

/// When a stage needs most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeakMoment {
    /// The kind of pass that the stage runs at that moment.
    pub pass: PassName,
    /// The part of the job's life.
    pub graph_phase: GraphPhase,
    /// The step of the schedule, counted from 0; none in the optimizer step.
    pub step: Option<u64>,
    /// The part of the schedule.
    pub phase: Option<Phase>,
    /// The chunk at work.
    pub chunk: u32,
    /// The micro batch at work.
    pub microbatch: u32,
    /// The block at work; none in the optimizer step.
    pub block: Option<BlockKind>,
    /// The decoder layer at work, counted over the whole model from 0.
    pub layer: Option<u32>,
    /// The operation at work.
    pub op: &'static str,
}

impl PassName {
    /// The pass in words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Forward => "forward pass",
            Self::Backward => "backward pass",
            Self::Recompute => "recompute in the backward pass",
            Self::OptimizerStep => "optimizer step",
            Self::BetweenIterations => "between iterations",
        }
    }
}

impl fmt::Display for PeakMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pass = self.pass.label();
        if matches!(self.pass, PassName::OptimizerStep | PassName::BetweenIterations) {
            f.write_str(pass)?;
            return f.write_str(self.graph_phase.suffix());
        }
        write!(f, "{pass} of micro batch {}, chunk {}, ", self.microbatch, self.chunk)?;
        if let Some(block) = self.block {
            write!(f, "{block}")?;
        }
        if let Some(layer) = self.layer {
            write!(f, " {layer}")?;
        }
        write!(f, ": {}{}", self.op, self.graph_phase.suffix())
    }
}
