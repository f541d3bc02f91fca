//! Megatron Memory: how much GPU memory a Megatron training job needs, on every pipeline stage, in
//! every bucket, and why.
//!
//! # Vocabulary
//!
//! A *job* is a list of *modules*; most jobs have one, called `language`. A module is a model with its
//! own parallel sizes on its own range of ranks. A *stage* is one pipeline rank's part of a module, a
//! *chunk* one virtual stage of it. A *part* is a unit that chunks hold in some number: the embedding, a
//! layer of one kind, the output layer. A *tensor* has a shape: a product of factors divided by parallel
//! sizes. A *bucket* is a top-level group of bytes, such as expert weights; a *line* is one row of the
//! itemised estimate, with formula and source. The *sharding* of a parameter is TP-sharded, replicated, or
//! routed expert. An *overhead* is memory that the device shows beyond PyTorch's allocations; its sizes are
//! input fields with measured defaults.
//!
//! # How data flows
//!
//! ```text
//! form fields, links, files, launch scripts, presets
//!         |  formats, presets            text to raw values; every key is accounted for
//!     config::raw::RawJob                plain values, may be wrong, nothing lost
//!         |  config::check               every problem at once, with values that would work
//!     config::job::Config                checked, typed, every size derived; below here nothing fails
//!         |
//!     parallel (who holds which layers)  model (what a layer consists of)
//!         |                                  |
//!     memory::estimate                   bytes by stage and bucket; itemised on demand
//!     time                               seconds of a step, from the same operations
//!     verdict                            whether Megatron runs the job and the GPU has the memory, in one value
//!         |                              search: the same for every layout of a job
//!         |                              fit: changes with which a job fits, and what they cost
//!     report, export                     scenes, tables, texts; no page in them
//!         |
//!     ui, api, bin/cli                   packages of their own: the page, the JavaScript API, the command line
//! ```
//!
//! # What holds everywhere
//!
//! - Arrows point down that picture; a test reads the imports.
//! - Only building a [`config::job::Config`] can fail. [`memory::estimate`] is total and deterministic.
//! - Elements and bytes are whole numbers; floats begin in the report, and in [`time`], whose seconds are no counts.
//! - A formula and its number come from the same factors, and every number names its source.
//! - What the frameworks' own estimators print lives in [`framework_reports`] alone; nothing else may
//!   use those closed formulas.

pub mod python;
pub mod value;
mod variants;

pub mod config;
pub mod memory;
pub mod model;
pub mod parallel;
pub mod source;
pub mod time;
pub mod units;

pub mod verdict;

pub mod diagnosis;
pub mod evidence;
pub mod fit;
pub mod framework_reports;
pub mod search;

pub mod formats;
pub mod presets;

pub mod export;
pub mod report;
