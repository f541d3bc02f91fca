//! From a parsed value to the Rust type of its field.

use core::marker::PhantomData;

use super::choices::{
    AttentionBackend, AttentionVariant, CpCommType, CrossEntropyFusion, Fp8Format, Fp8Recipe,
    FrontEnd, MainGradsDtype, MainParamsDtype, MomentDtype, Normalization, OffloadModule,
    OptimizerKind, PositionEmbedding, ProjectorKind, ProjectorNorm, RecomputeGranularity,
    RecomputeMethod, RecomputeModule, RouterDtype, RouterScore, SoftmaxType, TokenDispatcher,
    TransformerImpl,
};
use super::field::Decimal;
use super::fields::FieldId;
use super::parse::Parsed;
use super::pattern::LayerPattern;

/// Names out of a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameSet<T> {
    bits: u32,
    of: PhantomData<T>,
}

/// Types that a field can have. A missing value can only reach here after a problem was reported;
/// the placeholder it gets is never shown.
pub(super) trait Typed {
    fn from_parsed(parsed: Option<&Parsed>) -> Self;
}

/// One field's value as its Rust type. One copy a type and not one a field, for the sake of size.
#[inline(never)]
pub(super) fn typed<T: Typed>(values: &[Option<Parsed>], field: FieldId) -> T {
    T::from_parsed(values.get(field as usize).and_then(Option::as_ref))
}

impl Typed for u64 {
    fn from_parsed(parsed: Option<&Parsed>) -> Self {
        if let Some(Parsed::Int(i)) = parsed {
            *i
        } else {
            1
        }
    }
}

impl Typed for Option<u64> {
    fn from_parsed(parsed: Option<&Parsed>) -> Self {
        if let Some(Parsed::Int(i)) = parsed {
            Some(*i)
        } else {
            None
        }
    }
}

impl Typed for bool {
    fn from_parsed(parsed: Option<&Parsed>) -> Self {
        parsed == Some(&Parsed::Flag(true))
    }
}

impl Typed for Decimal {
    fn from_parsed(parsed: Option<&Parsed>) -> Self {
        if let Some(Parsed::Decimal(d)) = parsed {
            *d
        } else {
            Self::ONE
        }
    }
}

impl Typed for Option<Decimal> {
    fn from_parsed(parsed: Option<&Parsed>) -> Self {
        if let Some(Parsed::Decimal(d)) = parsed {
            Some(*d)
        } else {
            None
        }
    }
}

impl Typed for LayerPattern {
    fn from_parsed(parsed: Option<&Parsed>) -> Self {
        if let Some(Parsed::Pattern(p)) = parsed {
            p.clone()
        } else {
            Self::Every(1)
        }
    }
}

impl Typed for Option<String> {
    fn from_parsed(parsed: Option<&Parsed>) -> Self {
        if let Some(Parsed::Text(t)) = parsed {
            Some(t.clone())
        } else {
            None
        }
    }
}

macro_rules! typed_choices {
    ($($choice:ident),+) => {$(
        impl Typed for Option<$choice> {
            fn from_parsed(parsed: Option<&Parsed>) -> Self {
                let Some(Parsed::Choice(index)) = parsed else { return None };
                $choice::ALL.get(usize::from(*index)).copied()
            }
        }

        impl Typed for $choice {
            fn from_parsed(parsed: Option<&Parsed>) -> Self {
                #[allow(clippy::indexing_slicing, reason = "no list of names is empty")]
                Option::<$choice>::from_parsed(parsed).unwrap_or($choice::ALL[0])
            }
        }
    )+};
}

typed_choices!(
    AttentionBackend,
    AttentionVariant,
    CpCommType,
    CrossEntropyFusion,
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
            fn from_parsed(parsed: Option<&Parsed>) -> Self {
                let bits = if let Some(Parsed::Set(bits)) = parsed { *bits } else { 0 };
                Self { bits, of: PhantomData }
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

typed_sets!(OffloadModule, RecomputeModule);
