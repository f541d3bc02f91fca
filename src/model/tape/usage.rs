//! Bytes sorted by what they are used for.

use crate::units::add_times;
/// The number of uses: one for each family of kept tensors, and one for all that is not kept.
pub const USES: usize = 6;
/// The index of what only lives for a moment.
pub const TRANSIENT: usize = 5;
/// Bytes by use: kept tensors by [`Family`](super::Family), then everything that only lives for a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage(pub [u64; USES]);

impl Usage {
    /// All uses together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Adds another usage.
    pub fn add(&mut self, other: &Self) {
        for (into, from) in self.0.iter_mut().zip(&other.0) {
            *into = into.saturating_add(*from);
        }
    }

    /// Adds so many times another usage.
    pub fn add_many(&mut self, other: &Self, times: u64) {
        for (into, from) in self.0.iter_mut().zip(&other.0) {
            add_times(into, *from, times);
        }
    }

    /// Adds bytes to one use.
    pub fn add_to(&mut self, usage: usize, bytes: u64) {
        if let Some(into) = self.0.get_mut(usage) {
            *into = into.saturating_add(bytes);
        }
    }

    /// Takes another usage off.
    pub fn remove(&mut self, other: &Self) {
        for (from, bytes) in self.0.iter_mut().zip(&other.0) {
            *from = from.saturating_sub(*bytes);
        }
    }

    /// Takes bytes off one use.
    pub(crate) fn take(&mut self, usage: usize, bytes: u64) {
        if let Some(from) = self.0.get_mut(usage) {
            *from = from.saturating_sub(bytes);
        }
    }
}
