//! Megatron Memory: how much GPU memory a Megatron training job needs, on every pipeline stage, in
//! every bucket, and why.

pub mod value;

pub mod config;
pub mod parallel;

pub mod framework_reports;

pub mod formats;
pub mod presets;

#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "web")]
pub mod ui;
