//! Amounts of memory as PyTorch prints them: `58.15 GiB`, `577.12 MiB`, `0 bytes`.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, GIB, MIB};

/// An amount with two decimals of its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PrintedAmount {
    /// The printed amount.
    pub bytes: Bytes,
    /// How far the true amount may be from it: half a unit of the last digit.
    pub rounding: Bytes,
}

impl PrintedAmount {
    /// The smallest amount that is printed so.
    #[must_use]
    pub fn least(self) -> Bytes {
        self.bytes.saturating_sub(self.rounding)
    }

    /// The largest amount that is printed so.
    #[must_use]
    pub fn most(self) -> Bytes {
        self.bytes + self.rounding
    }

    /// Whether an amount is printed so.
    #[must_use]
    pub fn is_print_of(self, bytes: Bytes) -> bool {
        (self.least()..=self.most()).contains(&bytes)
    }

    /// The sum of two amounts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            rounding: self.rounding + other.rounding,
        }
    }

    /// This amount less another one that is a part of it.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            rounding: self.rounding + other.rounding,
        }
    }

    /// The amount that a text begins with.
    pub(super) fn at_start(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, rest) = text.split_at_checked(digits)?;
        let rest = rest.trim_start();
        let unit = ["GiB", "MiB", "KiB", "bytes", "GB", "MB", "TiB"];
        let unit = unit.into_iter().find(|unit| rest.starts_with(unit))?;
        Self::of(number, unit)
    }

    /// The amount that a text ends with.
    pub(super) fn at_end(text: &str) -> Option<Self> {
        let (before, unit) = text.trim_end().rsplit_once(' ')?;
        let number = before.trim_end();
        let start = number
            .rfind(|c: char| !c.is_ascii_digit() && c != '.')
            .map_or(0, |at| at + 1);
        Self::of(number.get(start..)?, unit)
    }

    /// An amount of more than an exbibyte is PyTorch's print of an unknown one.
    fn of(number: &str, unit: &str) -> Option<Self> {
        let unit = match unit {
            "bytes" => 1,
            "KiB" => 1 << 10,
            "MiB" | "MB" => MIB,
            "GiB" | "GB" => GIB,
            "TiB" => GIB << 10,
            _ => return None,
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let whole: u64 = whole.parse().ok().filter(|whole| *whole < 1 << 24 || unit == 1)?;
        let scale = 10_u64.checked_pow(u32::try_from(decimals.len()).ok().filter(|digits| *digits <= 4)?)?;
        let part: u64 = if decimals.is_empty() { 0 } else { decimals.parse().ok()? };
        let bytes = whole.checked_mul(unit)?.checked_add(part.checked_mul(unit)? / scale)?;
        Some(Self {
            bytes: Bytes(bytes),
            rounding: Bytes(if unit == 1 { 0 } else { unit / scale / 2 + 1 }),
        })
    }
}
