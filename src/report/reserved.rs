//! What PyTorch's allocator reserves, in words.

use super::amount::Scale;
use crate::memory::reserved::ReservedRange;

/// What a replay of the allocator finds, in one sentence and a second one on the holes.
#[must_use]
pub fn sentences(reserved: &ReservedRange, scale: Scale) -> String {
    format!(
        "Reserved by a replay of PyTorch's allocator: {}. When it grows last, {} of it are holes: {}.",
        scale.range(reserved.low, reserved.high),
        scale.amount(reserved.holes.free),
        reserved.holes.moment,
    )
}
