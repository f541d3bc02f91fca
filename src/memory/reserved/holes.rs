//! When the segments of a replay grew last, and how much of them was free then: the holes.

use core::fmt;

use crate::memory::blocks::BlockKind;
use crate::memory::peak::PassName;
use crate::units::Bytes;

/// A moment of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayMoment {
    /// The model, its buffers and the optimizer are made.
    #[default]
    SetUp,
    /// A pass of a part of the model.
    Pass {
        /// The iteration, counted from 1.
        iteration: u32,
        /// A forward or backward pass, or a forward pass that runs again.
        pass: PassName,
        /// The part of the model; `None` for what passes between chunks.
        block: Option<BlockKind>,
    },
    /// An optimizer step.
    OptimizerStep {
        /// The iteration, counted from 1.
        iteration: u32,
    },
}

/// The moment in words, such as `iteration 2, backward pass of output`.
impl fmt::Display for ReplayMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetUp => f.write_str("before the first iteration"),
            Self::Pass { iteration, pass, block } => {
                write!(f, "iteration {iteration}, {}", pass.label())?;
                block.map_or(Ok(()), |block| write!(f, " of {block}"))
            }
            Self::OptimizerStep { iteration } => write!(f, "iteration {iteration}, optimizer step"),
        }
    }
}

/// The free blocks of all segments when these grew last. Nothing fits into them that was asked for then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// When segments grew last: they have their most bytes from then on.
    pub moment: ReplayMoment,
    /// Bytes of the tensor for which they grew.
    pub requested: Bytes,
    /// Bytes of the free blocks then.
    pub free: Bytes,
}
