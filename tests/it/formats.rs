//! Tests of `formats`.

mod detect;
mod hf_config;
mod json;
mod megatron_args;
mod overrides;
mod shell;
mod yaml;
