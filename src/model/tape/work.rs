//! The work of operations, as far as the time that they take depends on it.

use crate::units::multiply;

/// The work of an operation, as step times count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Its time is that of the memory that it reads and writes.
    MemoryBound,
    /// It also computes products that step times do not count, such as those of adapters. Its time is taken as that of the
    /// memory that it reads and writes.
    UncountedFlops,
    /// The scan or the convolution of a linear attention: so many floating-point operations forwards, as Megatron's own
    /// count has them (`num_floating_point_operations`). Its time is that of the memory that it reads and writes.
    Scan(u64),
    /// It multiplies rows by the weights of a linear layer.
    Product(Product),
    /// The same, and Megatron does not count its operations (`num_floating_point_operations`).
    UncountedProduct(Product),
    /// Core attention in one kernel, or one of its two products: so many floating-point operations forwards.
    Attention(u64),
    /// A kernel of sparse attention or of its indexer.
    SparseAttention(SparseOperations),
    /// It only moves tokens to the ranks of their experts or back, whose time is counted by layer.
    Exchange,
}

/// The floating-point operations of a kernel of sparse attention or of its indexer on one rank. Their time is that of as
/// many operations of core attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SparseOperations {
    /// Of the forward pass.
    pub forward: u64,
    /// Of the backward pass, with what it computes again.
    pub backward: u64,
    /// Those that Megatron counts for the forward pass, whatever the kernel leaves out: each query meets every earlier
    /// token (`num_floating_point_operations`).
    pub counted: u64,
}

/// The matrix product of a linear layer on one rank, or those of all routed experts of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of the input, over all matrices.
    pub rows: u64,
    /// Columns of the input.
    pub inner: u64,
    /// Columns of the output.
    pub columns: u64,
    /// Weight matrices, each of which multiplies its part of the rows; `None` for one that multiplies all.
    pub experts: Option<u64>,
    /// Whether it is computed in the module's fp8 or fp4.
    pub quantized: bool,
    /// Whether its weight has a gradient.
    pub trained: bool,
    /// Whether the norm of its input is part of the operation.
    pub normed: bool,
}

impl Product {
    /// The product that makes this many elements of output from so many of input with weights of so many elements.
    pub(crate) fn of((input, output): (u64, u64), weights: u64, experts: Option<u64>) -> Self {
        let each = (weights / experts.unwrap_or(1).max(1)).max(1);
        // Rows times inner, rows times columns, and inner times columns are known.
        let rows = if input.leading_zeros() + output.leading_zeros() >= u64::BITS {
            (input * output / each).isqrt()
        } else {
            // Products of 128 bits, and roots of them, take much longer.
            let squared = u128::from(input) * u128::from(output) / u128::from(each);
            u64::try_from(squared.isqrt()).unwrap_or(u64::MAX)
        };
        let rows = rows.max(1);
        Self {
            rows,
            inner: input / rows,
            columns: output / rows,
            experts,
            quantized: false,
            trained: true,
            normed: false,
        }
    }

    /// Floating-point operations of one of its passes: forward, input gradient and weight gradient take as many each.
    #[must_use]
    pub fn flops(&self) -> u64 {
        multiply(2, multiply(self.rows, multiply(self.inner, self.columns)))
    }

    /// Elements of all its weights.
    #[must_use]
    pub fn weights(&self) -> u64 {
        multiply(self.experts.unwrap_or(1), multiply(self.inner, self.columns))
    }
}
