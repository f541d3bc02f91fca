//! Amounts for people: bytes in the chosen unit, counts with their magnitude. Whole numbers only.

use crate::units::{Bytes, GIB};

/// The unit in which the page shows memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// 2^30 bytes.
    #[default]
    GiB,
    /// 10^9 bytes.
    GB,
}

impl Unit {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GiB => "GiB",
            Self::GB => "GB",
        }
    }

    /// Bytes in one.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::GiB => GIB,
            Self::GB => 1_000_000_000,
        }
    }

    /// The amount with one decimal, rounded to nearest, without the unit.
    #[must_use]
    pub fn number(self, amount: Bytes) -> String {
        let unit = u128::from(self.bytes());
        let tenths = (u128::from(amount.0) * 10 + unit / 2) / unit;
        format!("{}.{}", tenths / 10, tenths % 10)
    }

    /// The amount with one decimal and the unit.
    #[must_use]
    pub fn show(self, amount: Bytes) -> String {
        format!("{} {}", self.number(amount), self.name())
    }
}

/// `part` of `whole` in whole percent, rounded to nearest.
#[must_use]
pub fn percent(part: u64, whole: u64) -> u64 {
    thousandths(part, whole).saturating_add(5) / 10
}

/// `part` of `whole` in thousandths, rounded down.
#[must_use]
pub fn thousandths(part: u64, whole: u64) -> u64 {
    let share = u128::from(part) * 1000 / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// A count in three or four digits and its magnitude: 671B, 37.6B, 151M.
#[must_use]
pub fn magnitude(count: u64) -> String {
    let (unit, name) = match count {
        0..1_000 => return count.to_string(),
        1_000..1_000_000 => (1_000, "K"),
        1_000_000..1_000_000_000 => (1_000_000, "M"),
        1_000_000_000..1_000_000_000_000 => (1_000_000_000, "B"),
        _ => (1_000_000_000_000, "T"),
    };
    let (whole, tenth) = (count / unit, count % unit * 10 / unit);
    if whole < 100 {
        format!("{whole}.{tenth}{name}")
    } else {
        format!("{whole}{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Unit, magnitude, percent};
    use crate::units::Bytes;

    #[test]
    fn amounts_are_rounded_to_nearest_in_both_units() {
        let h100 = Bytes::mib(81_559);
        assert_eq!(Unit::GiB.show(h100), "79.6 GiB");
        assert_eq!(Unit::GB.show(h100), "85.5 GB");
        assert_eq!(Unit::GiB.show(Bytes::ZERO), "0.0 GiB");
        assert_eq!(percent(1, 3), 33);
        assert_eq!(percent(2, 3), 67);
    }

    #[test]
    fn counts_carry_their_magnitude() {
        for (count, text) in [
            (999, "999"),
            (37_600_000_000, "37.6B"),
            (671_026_419_200, "671B"),
            (1_043_000_000_000, "1.0T"),
        ] {
            assert_eq!(magnitude(count), text);
        }
    }
}
