//! Configurations in and out of text: every reader reports what it did with every key.

pub mod bridge_keys;
pub mod detect;
pub mod environment;
pub mod hf_config;
pub mod hub;
pub mod import;
pub mod import_text;
pub mod job_json;
pub mod json;
pub mod keys;
pub mod megatron_args;
mod merge;
pub mod node;
pub mod overrides;
pub mod python;
pub mod report;
pub mod share_url;
pub mod shell;
pub mod slime_keys;
pub mod state;
pub mod swift_keys;
pub mod verl_keys;
pub mod yaml;
