//! From a parsed value to the Rust type of its field.

use core::marker::PhantomData;

use super::field::Decimal;
use super::parse::Parsed;
use super::pattern::LayerPattern;

/// A type that a field can have.
pub(super) trait FromField {
    /// The field's value. `None`, or a value of another kind, can only reach here after a problem was reported; the
    /// placeholder that the field then gets is never shown.
    fn from_field(value: Option<Parsed>) -> Self;
}

/// A name out of a closed list.
pub trait Choice: Copy + 'static {
    /// Every name of the list, in order.
    const ALL: &'static [Self];

    /// The name's bit in a set.
    fn bit(self) -> u32;
}

/// Any number of names out of a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameSet<T> {
    bits: u32,
    of: PhantomData<T>,
}

impl<T: Choice> NameSet<T> {
    /// The set of these names.
    #[must_use]
    pub fn of(names: &[T]) -> Self {
        Self::from_bits(names.iter().fold(0, |bits, name| bits | name.bit()))
    }

    /// The set as bits, for comparisons.
    pub(crate) const fn bits(self) -> u32 {
        self.bits
    }

    fn from_bits(bits: u32) -> Self {
        Self { bits, of: PhantomData }
    }

    /// Whether the set has `name`.
    #[must_use]
    pub fn contains(self, name: T) -> bool {
        self.bits & name.bit() != 0
    }

    /// Whether the set has no names.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// The set's names, in the order of their list.
    pub fn iter(self) -> impl Iterator<Item = T> {
        T::ALL.iter().copied().filter(move |name| self.contains(*name))
    }
}

impl<T: Choice> FromField for NameSet<T> {
    fn from_field(value: Option<Parsed>) -> Self {
        match value {
            Some(Parsed::Set(bits)) => Self::from_bits(bits),
            _ => Self::from_bits(0),
        }
    }
}

impl FromField for u64 {
    fn from_field(value: Option<Parsed>) -> Self {
        Option::from_field(value).unwrap_or(1)
    }
}

impl FromField for Option<u64> {
    fn from_field(value: Option<Parsed>) -> Self {
        match value {
            Some(Parsed::Int(i)) => Some(i),
            _ => None,
        }
    }
}

impl FromField for bool {
    fn from_field(value: Option<Parsed>) -> Self {
        value == Some(Parsed::Flag(true))
    }
}

impl FromField for Decimal {
    fn from_field(value: Option<Parsed>) -> Self {
        Option::from_field(value).unwrap_or(Self::ONE)
    }
}

impl FromField for Option<Decimal> {
    fn from_field(value: Option<Parsed>) -> Self {
        match value {
            Some(Parsed::Decimal(d)) => Some(d),
            _ => None,
        }
    }
}

impl FromField for LayerPattern {
    fn from_field(value: Option<Parsed>) -> Self {
        match value {
            Some(Parsed::Pattern(pattern)) => pattern,
            _ => Self::Every(1),
        }
    }
}

impl FromField for Option<String> {
    fn from_field(value: Option<Parsed>) -> Self {
        match value {
            Some(Parsed::Text(text)) => Some(text),
            _ => None,
        }
    }
}
