//! How one state of parameters is held: which parameters have it, its bytes, and the ranks that split it.

use super::parameters::Count;
use crate::config::field::Decimal;
use crate::units::{Bytes, multiply};

/// The parameters that have a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliesTo {
    /// All parameters.
    All,
    /// All but the matrices that Muon updates with momentum alone.
    AllButMuonMatrices,
    /// No parameters.
    None,
}

/// The size and the sharding of one state, for parameters of one sharding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateRule {
    /// The parameters that have the state.
    pub applies_to: AppliesTo,
    /// Bytes of one element.
    pub bytes: u64,
    /// Bytes by which an element stored in fp8 is smaller than `bytes`.
    pub fp8_saving: u64,
    /// Bytes of one element of a parameter that stays in fp32.
    pub bytes_in_fp32: u64,
    /// The number of ranks that the state is sharded over.
    pub shard: u64,
    /// The part of the state that stays on the GPU.
    pub on_gpu: Decimal,
}

impl StateRule {
    pub(super) const NONE: Self = Self {
        applies_to: AppliesTo::None,
        bytes: 0,
        fp8_saving: 0,
        bytes_in_fp32: 0,
        shard: 1,
        on_gpu: Decimal::ONE,
    };

    /// The rule of a tensor that is stored in fp8 or stays in fp32 as a whole, or not at all.
    #[must_use]
    pub fn of(self, count: Count) -> Self {
        let less = if count.quantized > 0 { self.fp8_saving } else { 0 };
        let bytes = if count.in_fp32 > 0 {
            self.bytes_in_fp32
        } else {
            self.bytes
        };
        Self {
            bytes: bytes - less,
            ..self
        }
    }

    /// Bytes on one rank of the states of `count` parameters. The shard size is rounded up.
    #[must_use]
    pub fn bytes_of(&self, count: Count) -> Bytes {
        let elements = match self.applies_to {
            AppliesTo::All => count.elements,
            AppliesTo::AllButMuonMatrices => count.elements - count.matrices,
            AppliesTo::None => 0,
        };
        let in_fp32 = count.in_fp32.min(elements);
        let of_rank = |elements: u64| self.on_gpu.scale_up(elements.div_ceil(self.shard));
        let all = multiply(of_rank(elements - in_fp32), self.bytes);
        let wide = multiply(of_rank(in_fp32), self.bytes_in_fp32);
        let less = multiply(count.quantized / self.shard, self.fp8_saving);
        Bytes(all.saturating_add(wide).saturating_sub(less))
    }
}

/// Copies that the optimizer step makes of gradients, in the dtype of the main parameters.
pub(crate) struct GradientCopy {
    /// Bytes of an element.
    pub(crate) bytes: u64,
    /// The parameters whose gradients are copied.
    pub(crate) elements: fn(&Count) -> u64,
}
