//! Parallelism: rank grids and process groups, pipeline stages and their schedule, and the modules of a multi-module
//! job.

pub mod groups;
pub mod mimo;
pub mod problem;
pub mod schedule;
pub mod stages;
