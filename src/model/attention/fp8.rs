//! The tensors that core attention in fp8 saves (`FusedAttnFunc.forward` of Transformer Engine).

use super::core::Inputs;
use crate::config::choices::Fp8Recipe;
use crate::config::job::Module;
use crate::model::quantization::Fp8;
use crate::model::sizes::Sizes;
use crate::model::tape::{AutogradTape, TensorId};
use crate::model::tensor::{Factor, factor};

/// How one recipe stores what attention needs for its backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AttentionFp8 {
    /// Copies of queries, keys and values, of one byte an element: by rows, and with mxfp8 also by columns
    /// (`combine_and_quantize`).
    copies: u64,
    /// Elements that share a scale of one byte; 0 where a tensor has one scale.
    block: u64,
    /// Whether the output is kept in fp8 as well. It is not with scales of the current maxima
    /// (`NVTE_DPA_FP8CS_O_in_F16`) and with mxfp8.
    output: bool,
    /// Numbers that each row of the scores leaves behind: its maximum and the reciprocal of its sum, or one of both.
    pub(super) sums: u64,
}

impl AttentionFp8 {
    /// The recipe of a module whose attention is in fp8; `None` where it is not. `get_fp8_recipe` of Megatron-LM asks
    /// the blockwise recipe for no such attention, and only the delayed one for `fp8_multi_head_attention`.
    pub(super) fn of(m: &Module) -> Option<Self> {
        let a = &m.args;
        Fp8::of(m)?;
        // In fp4 jobs Transformer Engine is told which recipe attention has (`NVTE_DPA_FP8_RECIPE`);
        // Megatron-Bridge's recipes say `Float8CurrentScaling`.
        let recipe = if a.fp4_format.is_some() {
            Fp8Recipe::Tensorwise
        } else {
            a.fp8_recipe
        };
        let whole = a.fp8_multi_head_attention && recipe == Fp8Recipe::Delayed;
        let (copies, block, sums) = match recipe {
            Fp8Recipe::Delayed | Fp8Recipe::Tensorwise => (1, 0, 2),
            Fp8Recipe::Mxfp8 => (2, 32, 1),
            Fp8Recipe::Blockwise => return None,
        };
        (a.fp8_dot_product_attention || whole).then_some(Self {
            copies,
            block,
            output: recipe == Fp8Recipe::Delayed,
            sums,
        })
    }

    /// Saves queries, keys and values in fp8, and the output.
    pub(super) fn saves(self, sizes: &Sizes<'_>, tape: &mut AutogradTape, inputs: &Inputs, output: TensorId) {
        let shapes = [
            ("queries in fp8", inputs.queries.tokens(sizes, inputs.qk_width)),
            ("keys in fp8", inputs.groups.tokens(sizes, inputs.qk_width)),
            ("values in fp8", inputs.groups.tokens(sizes, inputs.v_width)),
        ];
        for (what, shape) in shapes {
            tape.keeps(what, shape.times(self.copies()), 1);
            if self.block > 0 {
                let scales = shape.times(self.copies()).over(factor("block", self.block));
                tape.keeps("scales", scales, 1);
            }
        }
        if self.output {
            let shape = inputs.queries.tokens(sizes, inputs.v_width);
            tape.keeps("attention output in fp8", shape, 1);
        } else {
            tape.saves(&[output]);
        }
    }

    /// The copies as a factor of a shape.
    fn copies(self) -> Factor {
        if self.copies == 1 {
            Factor::NONE
        } else {
            factor("copies", self.copies)
        }
    }
}
