//! Times of single kernels that were measured on one GPU: what is known of coefficients of step times before any job is
//! looked at.

#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "times and their shares are no counts of elements or bytes"
)]

use serde::Deserialize;
use strum::IntoEnumIterator;

use crate::time::hardware::Hardware;

/// Measured kernels of one GPU (`src/evidence/step_times/operations.json`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredOperations {
    /// The id of the GPU.
    pub gpu: String,
    /// The name that its driver gives.
    pub device: String,
    /// What the kernels come from.
    pub software: String,
    /// How they were measured.
    pub method: String,
    operations: Vec<Operation>,
}

/// What a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, strum::EnumIter, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum OperationKind {
    /// It reads and writes memory: norms, activations, residual sums, casts, and tokens in the order of experts.
    Elementwise,
    /// The matrix product of a linear layer in bf16.
    Products,
    /// The same in fp8, with one scale for each operand and without their quantization.
    QuantizedProducts,
    /// The products of several experts in one kernel.
    ExpertProducts,
    /// Core attention under a causal mask, forwards or backwards.
    Attention,
    /// A step of Adam.
    Optimizer,
}

impl OperationKind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// A name without spaces, such as `expert_products`.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }
}

/// A measured kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    kind: OperationKind,
    what: String,
    /// The sizes of the kernel: rows and columns; of products rows, columns and the inner size, behind the number of
    /// experts; of attention samples, tokens, heads of queries and of keys, and their width.
    size: Vec<u64>,
    /// Bytes that it must read and write.
    #[serde(default)]
    bytes: u64,
    /// Floating-point operations.
    #[serde(default)]
    operations: u64,
    /// Seconds: the least, the median and the most of several turns.
    seconds: [f64; 3],
}

/// How much longer the kernels of a kind take than at the speeds of the data sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverNominal {
    /// The number of measured kernels.
    pub count: usize,
    /// The factor that a tenth stays below, the median, and the factor that nine tenths stay below.
    pub quantiles: [f64; 3],
}

impl MeasuredOperations {
    /// Reads the measured kernels.
    ///
    /// # Errors
    /// When the text is not JSON, or a field is missing or has a wrong value.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// How much longer the kernels of a kind take; `None` where none was measured, or the GPU's speeds are not known.
    #[must_use]
    pub fn over_nominal(&self, kind: OperationKind) -> Option<OverNominal> {
        let on = Hardware::of_gpu(&self.gpu)?;
        let peak = match kind {
            OperationKind::QuantizedProducts => on.quantized.peak,
            OperationKind::Elementwise
            | OperationKind::Products
            | OperationKind::ExpertProducts
            | OperationKind::Attention
            | OperationKind::Optimizer => on.half.peak,
        };
        let of_kind = self.operations.iter().filter(|operation| operation.kind == kind);
        let mut factors: Vec<f64> = of_kind
            .map(
                |Operation {
                     bytes,
                     operations,
                     seconds: [_, median, _],
                     ..
                 }| { median / (*bytes as f64 / on.memory).max(*operations as f64 / peak) },
            )
            .collect();
        factors.sort_by(f64::total_cmp);
        let last = factors.len().checked_sub(1)?;
        let quantile = |tenths: usize| factors.get(last * tenths / 10).copied().unwrap_or(f64::NAN);
        Some(OverNominal {
            count: factors.len(),
            quantiles: [1, 5, 9].map(quantile),
        })
    }

    /// The part of what bf16 products reach of their peak that fp8 products of the same sizes reach of theirs, in the
    /// median.
    #[must_use]
    pub fn quantized_share(&self) -> Option<f64> {
        let on = Hardware::of_gpu(&self.gpu)?;
        let of = |kind: OperationKind| {
            let of_kind = self.operations.iter().filter(move |operation| operation.kind == kind);
            of_kind.filter(|operation| operation.what == "product")
        };
        let shares = of(OperationKind::QuantizedProducts).filter_map(|quantized| {
            let half = of(OperationKind::Products).find(|half| half.size == quantized.size)?;
            let [[_, of_half, _], [_, of_quantized, _]] = [half.seconds, quantized.seconds];
            Some(of_half / of_quantized * on.half.peak / on.quantized.peak)
        });
        let mut shares: Vec<f64> = shares.collect();
        shares.sort_by(f64::total_cmp);
        shares.get(shares.len() / 2).copied()
    }
}
