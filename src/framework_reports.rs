//! What Megatron-LM's and Megatron-Bridge's own estimators would print for the same job.
//!
//! Closed formulas on purpose, in the frameworks' own floating-point order. Nothing else may use them.
//!
//! Both estimators are Python programs that check little: text, `None`, a zero or a missing name
//! reaches the arithmetic, and what comes out then is part of what a user of the framework sees. So
//! the formulas run on [`python`]'s numbers, and a report carries the exception where Python would
//! have raised one. Messages are those of `CPython` 3.11.
#![allow(
    clippy::float_arithmetic,
    reason = "the reports reproduce float64 programs bit for bit"
)]

mod python;

pub mod differences;
pub mod job;
pub mod megatron_bridge;
pub mod megatron_lm;

pub use python::PythonError;

use python::Py;

/// The frameworks' "MB": 1024 · 1024 bytes.
const MEGABYTE: i32 = 1 << 20;
/// Megatron-Bridge's "GB": 1024 · 1024 · 1024 bytes.
const GIGABYTE: i32 = 1 << 30;
/// What parameter counts are divided by before they are printed.
const BILLION: i32 = 1_000_000_000;

/// The two lines that both estimators print about the interleaved schedule, and its factor.
struct Interleaving {
    penalty: Py,
    in_flight: String,
}

impl Interleaving {
    /// One microbatch more per virtual stage than the pipeline is deep, relative to that depth.
    fn new(pipeline_size: Py, virtual_size: Py) -> Self {
        let penalty = 1 + ((pipeline_size - 1) / (pipeline_size * virtual_size));
        let in_flight = (penalty * pipeline_size).ceil_text();
        Self { penalty, in_flight }
    }

    fn lines(&self) -> String {
        [
            "Memory penalty from interleaved schedule: ",
            &self.penalty.fixed(2),
            "\nNumber of in-flight microbatches: ",
            &self.in_flight,
            "\n",
        ]
        .concat()
    }
}
