//! Amounts and counts as rounded text. All arithmetic is in whole numbers, so that no text depends on floating-point
//! rounding.

use core::cmp::{Ordering, Reverse};

use crate::units::Bytes;

/// A unit of memory, in which a report gives all amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// 2^30 bytes.
    #[default]
    Gib,
    /// 10^9 bytes.
    Gb,
}

impl Unit {
    /// Both units.
    pub const ALL: [Self; 2] = [Self::Gib, Self::Gb];

    /// The unit in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Gib => 1 << 30,
            Self::Gb => 1_000_000_000,
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

    /// The number without its unit, such as `61.27`.
    #[must_use]
    pub fn number(self, amount: Bytes) -> String {
        self.write(self.steps(amount))
    }

    /// The number with its unit, such as `61.27 GiB`.
    #[must_use]
    pub fn amount(self, amount: Bytes) -> String {
        format!("{} {}", self.number(amount), self.unit.symbol())
    }

    /// The numbers of some parts, rounded so that they add up to the number of their sum (the largest remainder method): all
    /// are rounded down, then the parts with the largest remainders, earlier ones first among equals, get one step more.
    #[must_use]
    pub fn parts(self, parts: &[Bytes]) -> Vec<String> {
        self.parts_beside(parts, &[])
    }

    /// [`parts`](Self::parts), shown beside other parts: a part that is equal to the other part at its place gets the same
    /// number where the sum allows it.
    #[must_use]
    pub fn parts_beside(self, parts: &[Bytes], others: &[Bytes]) -> Vec<String> {
        let beside = self.rounded(others, &[]);
        let beside: Vec<(Bytes, u128)> = others.iter().copied().zip(beside).collect();
        let steps = self.rounded(parts, &beside);
        steps.into_iter().map(|steps| self.write(steps)).collect()
    }

    /// The parts in steps, rounded as [`parts_beside`](Self::parts_beside) says. `beside` has the other parts with their
    /// steps.
    fn rounded(self, parts: &[Bytes], beside: &[(Bytes, u128)]) -> Vec<u128> {
        let unit = u128::from(self.unit.bytes());
        let scaled = |part: &Bytes| u128::from(part.0) * self.steps_per_unit();
        let mut steps: Vec<u128> = parts.iter().map(|part| scaled(part) / unit).collect();
        let total: u128 = parts.iter().map(scaled).sum();
        let missing = (total + unit / 2) / unit - steps.iter().sum::<u128>();
        let mut by_remainder: Vec<(Ordering, u128, &mut u128)> = parts
            .iter()
            .zip(&mut steps)
            .enumerate()
            .map(|(i, (part, steps))| {
                let other = beside.get(i).filter(|(other, _)| other == part);
                let like = other.map_or(Ordering::Equal, |(_, other)| {
                    if other > steps {
                        Ordering::Greater
                    } else {
                        Ordering::Less
                    }
                });
                (like, scaled(part) % unit, steps)
            })
            .collect();
        by_remainder.sort_by_key(|(like, remainder, _)| {
            // A part of 0 bytes stays 0.
            Reverse((*remainder > 0, *like, *remainder))
        });
        let missing = usize::try_from(missing).unwrap_or(usize::MAX);
        for (.., steps) in by_remainder.into_iter().take(missing) {
            *steps += 1;
        }
        steps
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
    format!(
        "{} {}",
        grouped(amount.0),
        if amount.0 == 1 { "byte" } else { "bytes" }
    )
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

/// A share of a whole in percent with one decimal, such as `12.5 %`; `0.0 %` where both are 0.
#[must_use]
pub fn percent(part: Bytes, whole: Bytes) -> String {
    let whole = u128::from(whole.0.max(1));
    let tenths = (u128::from(part.0) * 1000 + whole / 2) / whole;
    format!("{}.{} %", tenths / 10, tenths % 10)
}
