//! Tests of `formats`.

mod detect;
mod hf_config;
mod json;
mod keys;
mod megatron_args;
mod overrides;
mod shell;
mod yaml;
