//! Tests of `formats`.

mod hf_config;
mod json;
