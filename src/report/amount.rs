//! Amounts and counts as rounded text. All arithmetic is in whole numbers, so that no text depends on floating-point
//! rounding.

use core::cmp::Ordering;

use strum::{EnumCount, VariantArray};

use crate::units::Bytes;
use crate::variants::all;

/// A unit of memory, in which a report gives all amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumCount, VariantArray)]
pub enum Unit {
    /// 2^30 bytes.
    #[default]
    Gib,
    /// 10^9 bytes.
    Gb,
}

impl Unit {
    /// Both units.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The unit in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Gib => 1 << 30,
            Self::Gb => 1_000_000_000,
        }
    }

    /// The next larger unit: how many of this one it is, and its symbol.
    const fn larger(self) -> (u64, &'static str) {
        match self {
            Self::Gib => (1 << 10, "TiB"),
            Self::Gb => (1_000, "TB"),
        }
    }

    /// The unit's symbol, which follows the number.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Gib => "GiB",
            Self::Gb => "GB",
        }
    }
}

/// A unit and a number of decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The unit.
    pub unit: Unit,
    /// The number of decimals, at most 9; larger values count as 9.
    pub decimals: u8,
}

impl Scale {
    /// The unit with one decimal, for headlines and marks of charts.
    #[must_use]
    pub const fn coarse(unit: Unit) -> Self {
        Self { unit, decimals: 1 }
    }

    /// The unit with two decimals, for rows of numbers.
    #[must_use]
    pub const fn fine(unit: Unit) -> Self {
        Self { unit, decimals: 2 }
    }

    /// The number of steps of the last decimal in one unit, such as 100 for two decimals.
    fn steps_per_unit(self) -> u128 {
        10u128.pow(u32::from(self.decimals.min(9)))
    }

    /// The amount in steps of the last decimal, rounded to nearest, halves up.
    #[must_use]
    pub fn steps(self, amount: Bytes) -> u128 {
        let unit = u128::from(self.unit.bytes());
        (u128::from(amount.0) * self.steps_per_unit() + unit / 2) / unit
    }

    /// The number without its unit, such as `61.27`, rounded to nearest; `<0.01` for an amount that is not zero and
    /// would print as zero.
    #[must_use]
    pub fn number(self, amount: Bytes) -> String {
        match self.steps(amount) {
            0 if amount > Bytes::ZERO => format!("<{}", self.write(1)),
            steps => self.write(steps),
        }
    }

    /// The number with its unit, such as `61.27 GiB`.
    #[must_use]
    pub fn amount(self, amount: Bytes) -> String {
        format!("{} {}", self.number(amount), self.unit.symbol())
    }

    /// An amount between two bounds with its unit, such as `66.3 to 72.6 GiB`; one amount where both look the same.
    #[must_use]
    pub fn range(self, least: Bytes, most: Bytes) -> String {
        match (self.number(least), self.number(most)) {
            (low, high) if low == high => format!("{high} {}", self.unit.symbol()),
            (low, high) => format!("{low} to {high} {}", self.unit.symbol()),
        }
    }

    /// The same in the next larger unit where the amounts are so large, such as `1.7 to 1.8 TiB`.
    #[must_use]
    pub fn short_range(self, least: Bytes, most: Bytes) -> String {
        let (count, symbol) = self.unit.larger();
        if least.0 < count * self.unit.bytes() {
            return self.range(least, most);
        }
        let number = |amount: Bytes| self.number(Bytes(amount.0 / count));
        match (number(least), number(most)) {
            (low, high) if low == high => format!("{high} {symbol}"),
            (low, high) => format!("{low} to {high} {symbol}"),
        }
    }

    /// The difference between two amounts in words, such as `+0.25 GiB (+12.5 %)`; `no change` only where they are
    /// equal to the byte.
    #[must_use]
    pub fn change(self, from: Bytes, to: Bytes) -> String {
        let off = Bytes(to.0.abs_diff(from.0));
        let (sign, word) = match to.cmp(&from) {
            Ordering::Equal => return String::from("no change"),
            Ordering::Less => ("−", "less"),
            Ordering::Greater => ("+", "more"),
        };
        if self.steps(off) == 0 {
            return format!("{} {word}", self.amount(off));
        }
        let (amount, share) = (self.amount(off), percent(off, from));
        match share.strip_prefix('<') {
            // There is no share of nothing.
            _ if from == Bytes::ZERO => format!("{sign}{amount}"),
            Some(_) => format!("{sign}{amount} ({share})"),
            None => format!("{sign}{amount} ({sign}{share})"),
        }
    }

    /// How numbers of this scale are rounded, as a footnote of tables and sums.
    #[must_use]
    pub fn rounding_note(self) -> String {
        let (decimals, unit) = (usize::from(self.decimals.min(9)), self.unit.symbol());
        let (step, half) = match decimals {
            0 => (String::from("1"), String::from("0.5")),
            n => (format!("0.{:0>n$}", 1), format!("0.{:0>m$}", 5, m = n + 1)),
        };
        format!(
            "Each number is rounded by itself, to {step} {unit}, so a total may differ from the sum of its parts by up to \
             {half} {unit} for each number."
        )
    }

    /// The number of an amount in steps.
    fn write(self, steps: u128) -> String {
        let (per_unit, decimals) = (self.steps_per_unit(), usize::from(self.decimals.min(9)));
        if decimals == 0 {
            return steps.to_string();
        }
        format!("{}.{:0decimals$}", steps / per_unit, steps % per_unit)
    }
}

/// A whole number with its digits in groups of three, such as `12,345,678`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An amount in bytes, such as `12,345,678 bytes`.
#[must_use]
pub fn exact(amount: Bytes) -> String {
    format!("{} {}", grouped(amount.0), if amount.0 == 1 { "byte" } else { "bytes" })
}

/// A number of parameters with one decimal, such as `671.0B`; below a thousand, the number itself.
#[must_use]
pub fn parameters(count: u64) -> String {
    const SUFFIXES: [(u64, &str); 4] = [
        (1_000_000_000_000, "T"),
        (1_000_000_000, "B"),
        (1_000_000, "M"),
        (1_000, "K"),
    ];
    for (unit, suffix) in SUFFIXES {
        // A number that rounds up to 1000.0 of one unit is 1.0 of the next.
        if count >= unit - unit / 20_000 {
            let tenths = (u128::from(count) * 10 + u128::from(unit) / 2) / u128::from(unit);
            return format!("{}.{}{suffix}", tenths / 10, tenths % 10);
        }
    }
    count.to_string()
}

/// A share of a whole in percent with one decimal, such as `12.5 %`; `<0.1 %` for a share that is not zero and would
/// print as zero, `0.0 %` where both are 0.
#[must_use]
pub fn percent(part: Bytes, whole: Bytes) -> String {
    let whole = u128::from(whole.0.max(1));
    match (u128::from(part.0) * 1000 + whole / 2) / whole {
        0 if part > Bytes::ZERO => String::from("<0.1 %"),
        tenths => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}
