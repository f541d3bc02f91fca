//! How Transformer Engine stores what it multiplies in fp8, recipe by recipe.

use super::tape::{AutogradTape, TensorId};
use super::tensor::{Shape, factor};
use crate::config::choices::{Fp8Recipe, TransformerImpl};
use crate::config::job::Module;

/// One recipe on one generation of GPUs.
///
/// A tensor has one byte an element by rows for the forward product. The backward products read it by columns: where
/// scales go along blocks, or the GPU multiplies fp8 in one layout only, that is a copy of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp8 {
    /// Elements of an input that share a scale; 0 when all of a tensor do.
    pub block: u64,
    /// The same for a weight.
    pub weight_block: u64,
    /// Bytes of a scale.
    pub scale: u64,
    /// Bytes of an element with its copy by columns: 2, or 1 where the GPU needs no copy.
    pub both: u64,
    /// Ranks can only gather rows: this rank's part is kept by rows, and transposed after it was gathered.
    pub gathers_rows: bool,
    /// An input that somebody else keeps anyway is kept as it is, without a copy in fp8 (`save_original_input`).
    pub shares: bool,
    /// Whether this layer is such a case.
    pub original: bool,
}

impl Fp8 {
    /// The recipe of a module; `None` when it computes in no fp8.
    #[must_use]
    pub fn of(m: &Module) -> Option<Self> {
        let a = &m.args;
        if a.fp8_format.is_none() || a.transformer_impl == TransformerImpl::Local {
            return None;
        }
        let transposed = 1 + u64::from(!m.gpu_generation().multiplies_fp8_in_every_layout());
        let (block, weight_block, scale, both, gathers_rows) = match a.fp8_recipe {
            Fp8Recipe::Delayed | Fp8Recipe::Tensorwise => (0, 0, 4, transposed, true),
            Fp8Recipe::Blockwise => (128, 128 * 128, 4, 2, false),
            Fp8Recipe::Mxfp8 => (32, 32, 1, 2, false),
        };
        Some(Self {
            block,
            weight_block,
            scale,
            both,
            gathers_rows,
            shares: a.fp8_recipe != Fp8Recipe::Delayed,
            original: false,
        })
    }

    /// An input of this shape, read one way, with its scales.
    pub(crate) fn input(
        self,
        tape: &mut AutogradTape,
        what: &'static str,
        shape: Shape,
    ) -> [TensorId; 2] {
        let scales = scales(shape, self.block);
        [
            tape.tensor(what, shape, 1),
            tape.tensor("scales", scales, self.scale),
        ]
    }

    /// The scales of a weight of this shape, read one way.
    pub(crate) fn weight_scales(self, shape: Shape) -> Shape {
        scales(shape, self.weight_block)
    }

    /// Whether columns that were gathered have to be put into order in a second buffer: those of blockwise scaling are
    /// transposed (`_start_all_gather_fp8_blockwise`).
    #[must_use]
    pub fn reorders(self) -> bool {
        self.block == 128
    }
}

fn scales(shape: Shape, block: u64) -> Shape {
    if block == 0 {
        Shape::of(&[])
    } else {
        shape.over(factor("block", block))
    }
}

/// Rows that every expert's matrix products are filled up to (`get_align_size_for_quantization`).
#[must_use]
pub fn expert_alignment(m: &Module) -> u64 {
    match m.args.fp8_recipe {
        _ if fuses_experts(m) => 256,
        _ if m.args.fp8_format.is_none() => 1,
        Fp8Recipe::Mxfp8 => 32,
        _ => 16,
    }
}

/// Whether both products of routed experts and their activation are one fused operation
/// (`TEGroupedMLP._fused_forward`).
pub(crate) fn fuses_experts(m: &Module) -> bool {
    let a = &m.args;
    a.use_transformer_engine_op_fuser
        && a.moe_grouped_gemm
        && a.transformer_impl != TransformerImpl::Local
}
