//! One size of a layer in four bytes, also where it may be absent: layers are copied often.

use core::fmt;
use core::num::NonZeroU32;

/// A size of a layer, from 0 to `u32::MAX` - 1. It is stored as the number after it, so that 0 is free to stand for a size
/// that is absent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerSize(NonZeroU32);

/// A larger number becomes the largest size, which is still far beyond what a text of sizes may have.
impl From<u64> for LayerSize {
    fn from(size: u64) -> Self {
        let after = u32::try_from(size.saturating_add(1)).unwrap_or(u32::MAX);
        Self(NonZeroU32::new(after).unwrap_or(NonZeroU32::MAX))
    }
}

impl From<LayerSize> for u64 {
    fn from(LayerSize(after): LayerSize) -> Self {
        Self::from(after.get() - 1)
    }
}

impl fmt::Display for LayerSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        u64::from(*self).fmt(f)
    }
}

impl fmt::Debug for LayerSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
