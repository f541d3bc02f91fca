//! Whole numbers of any size.

use core::cmp::Ordering;

/// A whole number of any size: limbs of 32 bits, the lowest first, the highest one not zero.
#[derive(Clone)]
pub(super) struct Big(pub(super) Vec<u32>);

impl Big {
    pub(super) fn new(number: u64) -> Self {
        let mut big = Self(Vec::new());
        for limb in [number, number >> 32] {
            big.0.push((limb & 0xffff_ffff) as u32);
        }
        big.trimmed()
    }

    pub(super) fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    pub(super) fn times(&mut self, factor: u32) {
        let mut carry = 0_u64;
        for limb in &mut self.0 {
            carry += u64::from(*limb) * u64::from(factor);
            *limb = (carry & 0xffff_ffff) as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push((carry & 0xffff_ffff) as u32);
        }
    }

    pub(super) fn shifted(mut self, bits: u32) -> Self {
        for _ in 0..bits / 31 {
            self.times(1 << 31);
        }
        self.times(1 << (bits % 31));
        self
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let limbs = self.0.len().cmp(&other.0.len());
        limbs.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() < other.0.len() {
            (other, self)
        } else {
            (self, other)
        };
        let mut carry = 0_u64;
        let mut sum = Vec::with_capacity(long.0.len() + 1);
        for (at, limb) in long.0.iter().enumerate() {
            carry += u64::from(*limb) + u64::from(short.0.get(at).copied().unwrap_or(0));
            sum.push((carry & 0xffff_ffff) as u32);
            carry >>= 32;
        }
        sum.push(carry as u32);
        Self(sum).trimmed()
    }

    /// Takes away a number that is not larger.
    pub(super) fn minus(&mut self, other: &Self) {
        let mut borrow = 0_i64;
        for (at, limb) in self.0.iter_mut().enumerate() {
            borrow += i64::from(*limb) - i64::from(other.0.get(at).copied().unwrap_or(0));
            *limb = (borrow & 0xffff_ffff) as u32;
            borrow >>= 32;
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl Big {
    pub(super) fn bits(&self) -> i32 {
        let top = self.0.last().map_or(0, |limb| 32 - limb.leading_zeros());
        i32::try_from(self.0.len().saturating_sub(1) * 32).unwrap_or(i32::MAX) + top as i32
    }

    pub(super) fn times_ten_to(mut self, power: i32) -> Self {
        for _ in 0..power {
            self.times(10);
        }
        self
    }
}
