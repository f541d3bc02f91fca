//! Exact amounts: elements and bytes are whole numbers everywhere below the report.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul};

use serde::{Deserialize, Serialize};

/// A number of bytes. `{}` prints it exactly, `{:#}` for people, in GiB with three decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(
    /// The number of bytes.
    pub u64,
);

/// One GiB.
pub const GIB: u64 = 1 << 30;
/// One MiB.
pub const MIB: u64 = 1 << 20;

/// The saturating product, as [`u64::saturating_mul`] has it, but faster on WebAssembly: that has no instruction that
/// detects an overflow, so the standard function multiplies in 128 bits, while the leading zeros of the factors show at
/// once that nearly all products fit.
#[must_use]
pub fn multiply(a: u64, b: u64) -> u64 {
    if a.leading_zeros() + b.leading_zeros() >= u64::BITS {
        a * b
    } else {
        a.saturating_mul(b)
    }
}

/// The number in 32 bits, or the largest such number.
#[must_use]
pub fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Adds `from * times` to `into`, saturating.
pub fn add_times(into: &mut u64, from: u64, times: u64) {
    *into = into.saturating_add(multiply(from, times));
}

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `count` MiB.
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count.saturating_mul(MIB))
    }

    /// The difference, or nothing when `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The amount as thousandths of a GiB, rounded to nearest.
    #[must_use]
    pub fn gib_thousandths(self) -> u64 {
        u64::try_from((u128::from(self.0) * 1000 + u128::from(GIB / 2)) / u128::from(GIB)).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let thousandths = self.gib_thousandths();
            write!(f, "{}.{:03} GiB", thousandths / 1000, thousandths % 1000)
        } else {
            write!(f, "{} B", self.0)
        }
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self(multiply(self.0, times))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}
