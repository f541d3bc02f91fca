//! Jobs of several modules: encoders, projectors, what freezing saves, and ranks that modules share.

mod edit;
mod jobs;
mod measured;
mod parameters;

use megatron_memory::config::problem::Problem;
use megatron_memory::config::raw::RawJob;
use megatron_memory::config::{Checked, check};
use megatron_memory::value::Value;
use serde_json::Value as Json;

/// The checked job of a JSON object.
fn checked(job: &Json) -> Checked {
    let value: Value = serde_json::from_value(job.clone()).unwrap();
    check(&RawJob::from_value(&value))
}

/// The errors of a job.
fn errors(job: &Json) -> Vec<Problem> {
    checked(job).errors().cloned().collect()
}
