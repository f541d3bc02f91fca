//! What Megatron-LM's and Megatron-Bridge's own estimators would print for the same job.
//!
//! Closed formulas on purpose, in the frameworks' own floating-point order. Nothing else may use them.
#![allow(
    clippy::float_arithmetic,
    reason = "the reports reproduce float64 programs bit for bit"
)]

pub mod megatron_bridge;
pub mod megatron_lm;
