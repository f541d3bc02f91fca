//! The free memory inside of the allocator's segments at the moment when it took more of the GPU's memory for the last
//! time: the holes.

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

/// The free blocks of all segments right after the allocator took more of the GPU's memory for the last time, the rest of
/// what it took included. It took more since no other free block was large enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// When that was: from then on segments have their most bytes.
    pub moment: ReplayMoment,
    /// Bytes of the free blocks.
    pub free: Bytes,
}
