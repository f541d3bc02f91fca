//! Whole numbers for JavaScript, never rounded.

use serde::{Serialize, Serializer};
use tsify::Tsify;

use megatron_memory::units::Bytes;

/// The largest whole number up to which JavaScript's numbers are exact: `Number.MAX_SAFE_INTEGER`.
const MAX_SAFE_INTEGER: u128 = (1 << 53) - 1;

/// A whole number: a JavaScript number up to 2^53 - 1, a `BigInt` beyond, so that none is rounded.
#[derive(Clone, Copy, Debug, Tsify)]
#[tsify(type = "number | bigint")]
pub struct Exact(i128);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0) {
            Ok(number) if self.0.unsigned_abs() <= MAX_SAFE_INTEGER => serializer.serialize_i64(number),
            // The serializer makes a BigInt of every number of 128 bits.
            _ => serializer.serialize_i128(self.0),
        }
    }
}

macro_rules! from_whole_numbers {
    ($($number:ty)*) => {
        $(impl From<$number> for Exact {
            fn from(number: $number) -> Self {
                Self(number.into())
            }
        })*
    };
}

from_whole_numbers! { u32 u64 i64 i128 }

impl From<usize> for Exact {
    fn from(number: usize) -> Self {
        Self(number.try_into().unwrap_or(i128::MAX))
    }
}

impl From<Bytes> for Exact {
    fn from(bytes: Bytes) -> Self {
        bytes.0.into()
    }
}
