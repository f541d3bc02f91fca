//! From a parsed value to the Rust type of its field.

use core::marker::PhantomData;
use core::slice::Iter;

use super::choices::{
    AttentionBackend, AttentionVariant, CpCommType, CrossEntropyFusion, CudaGraphImpl,
    CudaGraphModule, Fp8Format, Fp8Recipe, FrontEnd, MainGradsDtype, MainParamsDtype, MomentDtype,
    Normalization, OffloadModule, OptimizerKind, PositionEmbedding, ProjectorKind, ProjectorNorm,
    RecomputeGranularity, RecomputeMethod, RecomputeModule, RouterDtype, RouterScore, SoftmaxType,
    TokenDispatcher, TransformerImpl,
};
use super::field::Decimal;
use super::parse::Parsed;
use super::pattern::LayerPattern;

/// Names out of a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameSet<T> {
    bits: u32,
    of: PhantomData<T>,
}

/// Types that a field can have.
pub(super) trait Typed {
    /// What stands in a field that has not been read.
    const UNREAD: Self;

    /// Takes a field's value. A missing one can only reach here after a problem was reported; the
    /// placeholder that the field then gets is never shown.
    fn take(&mut self, parsed: Option<&Parsed>);
}

/// Reads the next field's value into its place. One copy a type and not one a field, for the sake of size.
pub(super) fn read<T: Typed>(field: &mut T, values: &mut Iter<'_, Option<Parsed>>) {
    field.take(values.next().and_then(Option::as_ref));
}

impl Typed for u64 {
    const UNREAD: Self = 0;

    fn take(&mut self, parsed: Option<&Parsed>) {
        *self = match parsed {
            Some(Parsed::Int(i)) => *i,
            _ => 1,
        };
    }
}

impl Typed for Option<u64> {
    const UNREAD: Self = None;

    fn take(&mut self, parsed: Option<&Parsed>) {
        *self = match parsed {
            Some(Parsed::Int(i)) => Some(*i),
            _ => None,
        };
    }
}

impl Typed for bool {
    const UNREAD: Self = false;

    fn take(&mut self, parsed: Option<&Parsed>) {
        *self = matches!(parsed, Some(Parsed::Flag(true)));
    }
}

impl Typed for Decimal {
    const UNREAD: Self = Self::ONE;

    fn take(&mut self, parsed: Option<&Parsed>) {
        *self = match parsed {
            Some(Parsed::Decimal(d)) => *d,
            _ => Self::ONE,
        };
    }
}

impl Typed for Option<Decimal> {
    const UNREAD: Self = None;

    fn take(&mut self, parsed: Option<&Parsed>) {
        *self = match parsed {
            Some(Parsed::Decimal(d)) => Some(*d),
            _ => None,
        };
    }
}

impl Typed for LayerPattern {
    const UNREAD: Self = Self::Every(1);

    fn take(&mut self, parsed: Option<&Parsed>) {
        if let Some(Parsed::Pattern(pattern)) = parsed {
            self.clone_from(pattern);
        }
    }
}

impl Typed for Option<String> {
    const UNREAD: Self = None;

    fn take(&mut self, parsed: Option<&Parsed>) {
        if let Some(Parsed::Text(text)) = parsed {
            *self = Some(text.clone());
        }
    }
}

macro_rules! typed_choices {
    ($($choice:ident),+) => {$(
        impl Typed for Option<$choice> {
            const UNREAD: Self = None;

            fn take(&mut self, parsed: Option<&Parsed>) {
                *self = match parsed {
                    Some(Parsed::Choice(index)) => $choice::at(*index),
                    _ => None,
                };
            }
        }

        impl Typed for $choice {
            #[allow(clippy::indexing_slicing, reason = "no list of names is empty")]
            const UNREAD: Self = Self::ALL[0];

            fn take(&mut self, parsed: Option<&Parsed>) {
                *self = match parsed {
                    Some(Parsed::Choice(index)) => Self::at(*index).unwrap_or(Self::UNREAD),
                    _ => Self::UNREAD,
                };
            }
        }
    )+};
}

typed_choices!(
    AttentionBackend,
    AttentionVariant,
    CpCommType,
    CrossEntropyFusion,
    CudaGraphImpl,
    Fp8Format,
    Fp8Recipe,
    FrontEnd,
    MainGradsDtype,
    MainParamsDtype,
    MomentDtype,
    Normalization,
    OptimizerKind,
    PositionEmbedding,
    ProjectorKind,
    ProjectorNorm,
    RecomputeGranularity,
    RecomputeMethod,
    RouterDtype,
    RouterScore,
    SoftmaxType,
    TokenDispatcher,
    TransformerImpl
);

macro_rules! typed_sets {
    ($($choice:ident),+) => {$(
        impl Typed for NameSet<$choice> {
            const UNREAD: Self = Self { bits: 0, of: PhantomData };

            fn take(&mut self, parsed: Option<&Parsed>) {
                if let Some(Parsed::Set(bits)) = parsed {
                    self.bits = *bits;
                }
            }
        }

        impl NameSet<$choice> {
            /// These names.
            #[must_use]
            pub fn of(names: &[$choice]) -> Self {
                let bits = names.iter().fold(0, |bits, name| bits | 1 << *name as u32);
                Self { bits, of: PhantomData }
            }

            /// Whether `name` is in.
            #[must_use]
            pub const fn contains(self, name: $choice) -> bool {
                self.bits & (1 << name as u32) != 0
            }

            /// Whether nothing is in.
            #[must_use]
            pub const fn is_empty(self) -> bool {
                self.bits == 0
            }

            /// The names that are in, in the order of their list.
            pub fn iter(self) -> impl Iterator<Item = $choice> {
                $choice::ALL.iter().copied().filter(move |name| self.contains(*name))
            }
        }
    )+};
}

typed_sets!(CudaGraphModule, OffloadModule, RecomputeModule);
