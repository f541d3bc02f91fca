//! Decimal numbers without rounding.

use core::fmt;

/// A decimal number in whole millionths; prints without trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(
    /// Millionths.
    pub u64,
);

impl Decimal {
    /// One.
    pub const ONE: Self = Self(1_000_000);

    /// `amount` times this number, rounded up to a whole unit; saturates.
    #[must_use]
    pub fn scale_up(self, amount: u64) -> u64 {
        if self == Self::ONE {
            return amount;
        }
        let scaled = (u128::from(amount) * u128::from(self.0)).div_ceil(1_000_000);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut rest, mut digits) = (self.0 / 1_000_000, self.0 % 1_000_000, 6);
        write!(f, "{whole}")?;
        if rest == 0 {
            return Ok(());
        }
        while rest.is_multiple_of(10) {
            rest /= 10;
            digits -= 1;
        }
        write!(f, ".{rest:0digits$}")
    }
}
