//! How Transformer Engine stores what it multiplies in fp8 or fp4, recipe by recipe.

use super::tape::{AutogradTape, TensorId};
use super::tensor::{Shape, factor};
use crate::config::choices::{Fp8Recipe, TransformerImpl};
use crate::config::fields::Args;
use crate::config::job::Module;

/// The recipe of fp8 or fp4 that matrix products are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuantizationRecipe {
    /// fp8, scaled so.
    Fp8(Fp8Recipe),
    /// fp4 with scales for blocks of 16 values and one for the whole tensor.
    Nvfp4,
}

impl QuantizationRecipe {
    /// The recipe of a module; `None` without fp8 and fp4.
    pub(crate) fn of(a: &Args) -> Option<Self> {
        if a.fp4_format.is_some() {
            return Some(Self::Nvfp4);
        }
        a.fp8_format.map(|_| Self::Fp8(a.fp8_recipe))
    }
}

/// Whether the weights of linear layers are stored in fp8 or fp4.
pub(crate) fn quantizes_parameters(m: &Module) -> bool {
    let asked = if m.args.fp4_format.is_some() {
        m.args.fp4_param_gather
    } else {
        m.args.fp8_param_gather
    };
    asked && Fp8::of(m).is_some()
}

/// Whether the output layer is a linear layer of Transformer Engine in MXFP8 (`is_mxfp8_output_proj_active`). Hybrid
/// models have no such output layer.
pub(crate) fn quantizes_output(m: &Module) -> bool {
    let a = &m.args;
    let asked = a.fp8_output_proj && a.fp8_format.is_some() && a.fp8_recipe == Fp8Recipe::Mxfp8;
    asked && m.hybrid().is_none() && Fp8::of(m).is_some()
}

/// One recipe on one generation of GPUs.
///
/// A tensor has one byte an element by rows for the forward product. The backward products read it by columns: where
/// scales go along blocks, or the GPU multiplies fp8 in one layout only, that is a copy of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp8 {
    /// Values in a byte: 2 in fp4, else 1.
    pub per_byte: u64,
    /// Elements of an input that share a scale; 0 when all of a tensor do.
    pub block: u64,
    /// Elements of a weight that share a scale; 0 when all of a tensor do.
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
        if a.transformer_impl == TransformerImpl::Local {
            return None;
        }
        let recipe = QuantizationRecipe::of(a)?;
        let transposed = 1 + u64::from(!m.gpu_generation().multiplies_fp8_in_every_layout());
        let (block, weight_block, scale, both, gathers_rows) = match recipe {
            QuantizationRecipe::Fp8(Fp8Recipe::Delayed | Fp8Recipe::Tensorwise) => (0, 0, 4, transposed, true),
            QuantizationRecipe::Fp8(Fp8Recipe::Blockwise) => (128, 128 * 128, 4, 2, false),
            QuantizationRecipe::Fp8(Fp8Recipe::Mxfp8) => (32, 32, 1, 2, false),
            // The scales of a weight's squares of 16 values lie there once for each row
            // (`NVFP4Quantizer.get_scale_shape`).
            QuantizationRecipe::Nvfp4 => (16, 16, 1, 2, false),
        };
        Some(Self {
            per_byte: if recipe == QuantizationRecipe::Nvfp4 { 2 } else { 1 },
            block,
            weight_block,
            scale,
            both,
            gathers_rows,
            shares: recipe != QuantizationRecipe::Fp8(Fp8Recipe::Delayed),
            original: false,
        })
    }

    /// Copies of a weight in bytes of an element. They are by rows and by columns, or by rows alone where each backward
    /// pass makes the other one anew (`keep_fp8_weight_transpose_cache` of AMD's Transformer Engine).
    pub(crate) fn weight_copies(self, a: &Args) -> u64 {
        if self.transposes_weights_anew(a) { 1 } else { self.both }
    }

    /// Whether a weight's copy by columns is there only while it is used. Other recipes scale it by columns, and cannot
    /// transpose the one by rows.
    pub(crate) fn transposes_weights_anew(self, a: &Args) -> bool {
        a.no_fp8_weight_transpose_cache && self.gathers_rows && self.both > 1
    }

    /// An input of this shape, read one way, with its scales.
    pub(crate) fn input(self, tape: &mut AutogradTape, what: &'static str, shape: Shape) -> [TensorId; 2] {
        let scales = scales(shape, self.block);
        [
            tape.tensor(what, self.data(shape), 1),
            tape.tensor("scales", scales, self.scale),
        ]
    }

    /// The bytes of values of this shape, read one way.
    pub(crate) fn data(self, shape: Shape) -> Shape {
        if self.per_byte > 1 {
            shape.over(factor("values in a byte", self.per_byte))
        } else {
            shape
        }
    }

    /// The scales of a weight of this shape, read one way.
    pub(crate) fn weight_scales(self, shape: Shape) -> Shape {
        scales(shape, self.weight_block)
    }

    /// Whether columns that were gathered have to be put into order in a second buffer: those of blockwise scaling are
    /// transposed (`_start_all_gather_fp8_blockwise`), and so are those of NVFP4 (`_all_gather_nvfp4`).
    #[must_use]
    pub fn reorders(self) -> bool {
        self.block == 128 || self.block == 16
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
    match QuantizationRecipe::of(&m.args) {
        _ if fuses_experts(m) => 256,
        None => 1,
        Some(QuantizationRecipe::Nvfp4) => 128,
        Some(QuantizationRecipe::Fp8(Fp8Recipe::Mxfp8)) => 32,
        Some(_) => 16,
    }
}

/// Whether both products of routed experts and their activation are one fused operation
/// (`TEGroupedMLP._fused_forward`).
pub(crate) fn fuses_experts(m: &Module) -> bool {
    let a = &m.args;
    a.use_transformer_engine_op_fuser && a.moe_grouped_gemm && a.transformer_impl != TransformerImpl::Local
}
