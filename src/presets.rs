//! Model and GPU presets: saved imports, each with its source.

pub mod gpus;
