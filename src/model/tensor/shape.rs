//! A shape as a list of factors over a list of parallel sizes; both the number and the printed formula come from that
//! list.

use core::fmt::{self, Write};

/// One factor of a shape: a symbol with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// How formulas write it; empty for the neutral factor.
    pub symbol: &'static str,
    /// Its value.
    pub value: u64,
}

impl Factor {
    /// The factor that changes nothing and is not printed.
    pub const NONE: Self = factor("", 1);

    /// Whether formulas write it.
    #[must_use]
    pub fn is_written(&self) -> bool {
        !self.symbol.is_empty()
    }
}

/// A factor called `symbol` with this value.
#[must_use]
pub const fn factor(symbol: &'static str, value: u64) -> Factor {
    Factor { symbol, value }
}

/// A product of factors over a product of parallel sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    times: [Factor; 4],
    /// How many of them were given.
    given: usize,
    over: [Factor; 3],
}

impl Shape {
    /// A shape of up to four factors; more do not compile.
    #[must_use]
    pub fn of<const N: usize>(factors: &[Factor; N]) -> Self {
        const { assert!(N <= 4, "a shape has at most four factors") };
        let mut times = [Factor::NONE; 4];
        for (slot, factor) in times.iter_mut().zip(factors) {
            *slot = *factor;
        }
        Self {
            times,
            given: N,
            over: [Factor::NONE; 3],
        }
    }

    /// The same shape split over one more parallel size. A fourth size is multiplied into the third.
    #[must_use]
    pub fn over(mut self, divisor: Factor) -> Self {
        if divisor.value == 1 {
            return self;
        }
        let free = self.over.iter().position(|slot| slot.value == 1);
        put(&mut self.over, free, divisor);
        self
    }

    /// So many tensors of the same shape: one more factor. A fifth factor is multiplied into the fourth.
    #[must_use]
    pub fn times(mut self, count: Factor) -> Self {
        let unused = |slot: &Factor| slot.value == 1 && !slot.is_written();
        let free = self.times.iter().position(unused);
        self.given = self.given.max(free.map_or(self.times.len(), |at| at + 1));
        put(&mut self.times, free, count);
        self
    }

    /// Elements of the whole tensor, before it is split.
    #[must_use]
    pub fn whole(&self) -> u128 {
        self.times.iter().map(|f| u128::from(f.value)).product()
    }

    /// Elements that one rank holds; a part of an element counts as one.
    #[must_use]
    pub fn elements(&self) -> u64 {
        if let (Some(times), Some(over)) = (narrow(&self.times), narrow(&self.over)) {
            return times.div_ceil(over.max(1));
        }
        let over: u128 = self.over.iter().map(|f| u128::from(f.value)).product();
        u64::try_from(self.whole().div_ceil(over.max(1))).unwrap_or(u64::MAX)
    }

    /// The factors, neutral ones included.
    pub fn factors(&self) -> impl Iterator<Item = Factor> {
        self.times.into_iter().take(self.given)
    }

    /// The parallel sizes that split it.
    pub fn divisors(&self) -> impl Iterator<Item = Factor> {
        self.over.into_iter().filter(|f| f.value != 1)
    }

    /// The formula with values in place of symbols.
    #[must_use]
    pub fn substituted(&self) -> String {
        self.write(|out, f| {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", f.value);
        })
    }

    fn write(&self, part: impl Fn(&mut String, &Factor)) -> String {
        let mut out = String::new();
        product(&mut out, self.factors(), &part);
        if out.is_empty() {
            out.push('1');
        }
        match self.divisors().count() {
            0 => {}
            1 => {
                out.push_str(" / ");
                product(&mut out, self.divisors(), &part);
            }
            _ => {
                out.push_str(" / (");
                product(&mut out, self.divisors(), &part);
                out.push(')');
            }
        }
        out
    }
}

/// Puts a factor into a free place; where there is none, the last factor is multiplied by it, so that the number stays
/// right although the formula lacks the symbol.
fn put(factors: &mut [Factor], free: Option<usize>, factor: Factor) {
    match free.and_then(|at| factors.get_mut(at)) {
        Some(slot) => *slot = factor,
        None => {
            if let Some(last) = factors.last_mut() {
                last.value = last.value.saturating_mul(factor.value);
            }
        }
    }
}

fn product(out: &mut String, factors: impl Iterator<Item = Factor>, part: impl Fn(&mut String, &Factor)) {
    for (index, factor) in factors.filter(Factor::is_written).enumerate() {
        if index > 0 {
            out.push_str(" · ");
        }
        part(out, &factor);
    }
}

/// A product that has at most 64 bits for sure, as nearly all have: WebAssembly has no instruction for a wider one.
fn narrow(factors: &[Factor]) -> Option<u64> {
    let bits = |f: &Factor| u64::BITS - f.value.leading_zeros();
    let fits = factors.iter().map(bits).sum::<u32>() <= u64::BITS;
    fits.then(|| factors.iter().map(|f| f.value).product())
}

/// The formula in symbols, such as `h · f / TP`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.write(|out, factor| out.push_str(factor.symbol)))
    }
}
