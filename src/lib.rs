//! Megatron Memory: how much GPU memory a Megatron training job needs, on every pipeline stage, in
//! every bucket, and why.

pub mod value;

pub mod config;
pub mod memory;
pub mod model;
pub mod parallel;
pub mod source;
pub mod units;

pub mod framework_reports;

pub mod formats;
pub mod presets;

#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "web")]
pub mod ui;
