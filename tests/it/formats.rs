//! Tests of `formats`.

mod bridge_recipes;
mod bridge_table;
mod detect;
mod front_ends;
mod graphs;
mod hf_config;
mod hf_hybrid;
mod hub;
mod hybrid;
mod import;
mod import_text;
mod job_json;
mod json;
mod keys;
mod megatron_args;
mod not_modelled;
mod overrides;
mod paste;
mod precision;
mod python;
mod questions;
mod share_url;
mod shell;
mod tokenizers;
mod training_log;
mod yaml;
