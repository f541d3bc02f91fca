//! How much memory layouts leave free: the groups in which they are listed.

use super::candidate::Candidate;
use crate::verdict::Verdict;

/// A group of layouts by the memory that they leave free, the group that is listed first before all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Room {
    /// The layout fits with room to run as fast as predicted, or no GPU is chosen.
    Enough,
    /// It fits with less than [`ROOM_FOR_SPEED`](super::candidate::ROOM_FOR_SPEED) free, so that it runs slower than predicted.
    Little,
    /// The GPU has the least memory that the device may show for it, but not the most.
    Tight,
    /// It does not fit.
    Missing,
}

impl Room {
    /// The groups behind the first one, in the order in which they are listed.
    pub const LATER: [Self; 3] = [Self::Little, Self::Tight, Self::Missing];
}

impl Candidate {
    /// The group of the layout, by its numbers.
    #[must_use]
    pub fn room(&self) -> Room {
        match self.verdict() {
            Verdict::Fits if self.is_nearly_full() => Room::Little,
            Verdict::Unknown | Verdict::Fits => Room::Enough,
            Verdict::Tight => Room::Tight,
            Verdict::DoesNotFit | Verdict::NotThisJob | Verdict::Refused(_) => Room::Missing,
        }
    }
}
