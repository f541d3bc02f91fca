//! Declarations of parameters: the operation that uses a weight declares it, so that the parameters of a part and what
//! it keeps for its backward pass come from one build.

use super::tensor::{Component, Factor, ParamTensor, Row, Shape, Sharding, factor};
use super::{hidden, tp};
use crate::config::job::Module;
use crate::source::Source;

/// Makes the parameters of one component.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    m: &'a Module,
    component: Component,
    source: Source,
    /// Whether tensor-parallel ranks split a part of an encoder that each of them has in full.
    is_split: bool,
}

impl<'a> Weights<'a> {
    /// Parameters that are counted under this component and created there.
    pub(crate) const fn of(m: &'a Module, component: Component, source: Source) -> Self {
        Self {
            m,
            component,
            source,
            is_split: false,
        }
    }

    /// The same, split by tensor-parallel ranks even in an encoder that each of them has in full.
    pub(crate) const fn split_by_all_ranks(self) -> Self {
        Self { is_split: true, ..self }
    }

    /// A tensor that tensor-parallel ranks split by its first dimension, as `ColumnParallelLinear` and
    /// `VocabParallelEmbedding` do (`partition_dim` 0). The factors of a matrix end with the width of its rows.
    pub(crate) fn column_parallel<const N: usize>(
        self,
        name: &'static str,
        factors: &[Factor; N],
        dimensions: u8,
    ) -> ParamTensor {
        let parts = if self.is_split {
            factor("TP", self.m.tp)
        } else {
            tp(self.m)
        };
        let shape = Shape::of(factors).over(parts);
        let is_whole = !self.is_split && self.m.tensor_parts() < self.m.tp;
        let sharding = if is_whole {
            Sharding::Replicated
        } else {
            Sharding::TpSharded
        };
        self.tensor(name, shape, sharding, dimensions, row(&shape, dimensions))
    }

    /// A matrix with a row for each number of the padded vocabulary, which tensor-parallel ranks split.
    pub(crate) fn over_vocabulary(self, name: &'static str) -> ParamTensor {
        let vocabulary = factor("V", self.m.padded_vocab_size);
        self.column_parallel(name, &[vocabulary, hidden(self.m)], 2)
    }

    /// A matrix of so many rows that tensor-parallel ranks split by its second dimension, as `RowParallelLinear` does
    /// (`partition_dim` 1).
    pub(crate) fn row_parallel<const N: usize>(
        self,
        name: &'static str,
        factors: &[Factor; N],
        rows: Factor,
    ) -> ParamTensor {
        self.column_parallel(name, factors, 2).with_rows(rows)
    }

    /// A tensor that every tensor-parallel rank has in full. The factors of a matrix end with the width of its rows.
    pub(crate) fn whole<const N: usize>(
        self,
        name: &'static str,
        factors: &[Factor; N],
        dimensions: u8,
    ) -> ParamTensor {
        let shape = Shape::of(factors);
        self.tensor(name, shape, Sharding::Replicated, dimensions, row(&shape, dimensions))
    }

    /// The parameters of a norm: a weight of this width, and with `LayerNorm` a bias beside it.
    pub(crate) fn norm(self, name: &'static str, width: Factor) -> ParamTensor {
        match self.m.norm_parts() {
            1 => self.whole(name, &[width], 1),
            parts => self.whole(name, &[factor("(weight + bias)", parts), width], 1),
        }
    }

    /// A tensor of any shape.
    pub(crate) const fn tensor(
        self,
        name: &'static str,
        shape: Shape,
        sharding: Sharding,
        dimensions: u8,
        row: Row,
    ) -> ParamTensor {
        ParamTensor {
            component: self.component,
            name,
            shape,
            sharding,
            dimensions,
            row,
            keep_in_fp32: false,
            source: self.source,
        }
    }
}

/// The row of a tensor with so many dimensions, whose last factor is the width of its rows.
fn row(shape: &Shape, dimensions: u8) -> Row {
    if dimensions <= 1 {
        Row::Elements(1)
    } else {
        Row::of_last(shape)
    }
}
