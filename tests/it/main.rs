//! Every test of the core that goes through public functions, as one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::float_arithmetic,
    clippy::format_push_string,
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    missing_docs,
    reason = "a test that meets a surprise should stop there and say so"
)]

mod config;
mod diagnosis;
mod evidence;
mod export;
mod fit;
mod formats;
mod framework_reports;
mod memory;
mod modules;
mod oracle;
mod parallel;
mod parameters;
mod presets;
mod public_reports;
mod report;
mod search;
mod tidy;
mod time;
mod value;
mod verdict;

/// The top folder of the project.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
