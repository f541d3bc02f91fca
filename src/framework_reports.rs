//! What Megatron-LM's and Megatron-Bridge's own estimators would print for the same job.
//!
//! Closed formulas on purpose, in the frameworks' own floating-point order. Nothing else may use them.
//!
//! Both estimators are Python programs that check little: text, `None`, a zero or a missing name
//! reaches the arithmetic, and what comes out then is part of what a user of the framework sees. So
//! the formulas compute with [`python`]'s values, and a report carries the exception where Python would
//! have raised one. Messages are those of `CPython` 3.11.
#![allow(
    clippy::float_arithmetic,
    reason = "the reports reproduce float64 programs bit for bit"
)]

pub mod python;

pub mod differences;
pub mod job;
pub mod megatron_bridge;
pub mod megatron_lm;

use python::{OperationError, PyValue, fixed, str};

/// The frameworks' "MB": 1024 · 1024 bytes.
const MEGABYTE: i32 = 1 << 20;
/// Megatron-Bridge's "GB": 1024 · 1024 · 1024 bytes.
const GIGABYTE: i32 = 1 << 30;
/// What parameter counts are divided by before they are printed.
const BILLION: i32 = 1_000_000_000;

/// What both estimators say about the interleaved schedule.
struct Interleaving {
    /// The factor by which it raises the activations of the layers.
    penalty: f64,
    /// The number of microbatches in flight, as it is printed.
    in_flight: String,
}

impl Interleaving {
    fn new<'a>(pipeline_size: PyValue<'a>, virtual_size: PyValue<'a>) -> Result<Self, OperationError> {
        let penalty = (1 + ((pipeline_size - 1) / (pipeline_size * virtual_size))).value()?;
        let in_flight = match (penalty * pipeline_size).value()?.ceil()? {
            // A whole number beyond 128 bits: Python writes all its digits.
            PyValue::Float(whole) => fixed(whole, 0),
            whole => str(whole),
        };
        Ok(Self {
            penalty: penalty.float()?,
            in_flight,
        })
    }
}
