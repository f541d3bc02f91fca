//! Tests of `formats`.

mod hf_config;
mod json;
mod megatron_args;
mod shell;
