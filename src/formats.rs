//! Configurations in and out of text: every reader reports what it did with every key.

pub mod arguments;
mod derivations;
pub mod detect;
pub mod dialects;
pub mod environment;
pub mod frameworks;
pub mod hf_config;
pub mod hub;
pub mod import;
pub mod import_text;
pub mod interpolation;
pub mod job_json;
pub mod json;
pub mod megatron_args;
mod merge;
pub mod node;
pub mod out_of_memory;
pub mod overrides;
pub mod paste;
pub mod python;
pub mod python_literal;
pub mod report;
pub mod share_url;
pub mod shell;
pub mod state;
pub mod training_log;
pub mod yaml;
