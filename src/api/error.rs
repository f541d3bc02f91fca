//! The errors that the functions throw. Callers tell them apart by their `name`.

use js_sys::{Error, Reflect, TypeError};
use wasm_bindgen::prelude::*;

use super::to_js;
use super::validate::problems;
use megatron_memory::config::job::Config;
use megatron_memory::config::problem::Problem;
use megatron_memory::python::PythonError;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = "
/** Thrown for a job that Megatron would refuse. */
export interface ConfigError extends Error {
  name: \"ConfigError\";
  problems: Problem[];
}

/** Thrown by `importText` for a text that cannot be read. */
export interface ImportError extends Error {
  name: \"ImportError\";
}

/** Thrown by `exportText` and `svg` for an unknown format or chart, and for a job that the format cannot express. */
export interface ExportError extends Error {
  name: \"ExportError\";
}

/** Thrown for a link that cannot be read, and for an unknown preset. */
export interface LinkError extends Error {
  name: \"LinkError\";
}

/** Thrown for a rank, a module or a dimension of ranks that the job does not have. */
export interface RankError extends Error {
  name: \"RankError\";
}

/** Thrown by `search` for a job whose layouts cannot be searched, by `fit` and `limits` for one without a GPU. */
export interface SearchError extends Error {
  name: \"SearchError\";
}
";

/// The `TypeError` for an argument of the wrong kind.
pub(super) fn type_error(message: &str) -> JsValue {
    TypeError::new(message).into()
}

/// An error with this `name`.
pub(super) fn named(name: &str, message: &str) -> Error {
    let error = Error::new(message);
    error.set_name(name);
    error
}

/// The `RankError` with this message.
pub(super) fn rank(message: &str) -> JsValue {
    named("RankError", message).into()
}

/// The `RankError` for a rank that no module of the job has.
pub(super) fn no_rank(job: &Config) -> JsValue {
    let last = job.world_size().saturating_sub(1);
    rank(&format!("no module has this rank; the job has ranks 0 to {last}"))
}

/// The `ImportError` with this message.
pub(super) fn import(message: &str) -> JsValue {
    named("ImportError", message).into()
}

/// The `ExportError` with this message.
pub(super) fn export(message: &str) -> JsValue {
    named("ExportError", message).into()
}

/// The `LinkError` with this message.
pub(super) fn link(message: &str) -> JsValue {
    named("LinkError", message).into()
}

/// The `SearchError` with this message.
pub(super) fn search(message: &str) -> JsValue {
    named("SearchError", message).into()
}

/// The `ConfigError` of a job with these problems.
pub(super) fn config(of: &[Problem]) -> JsValue {
    let messages: Vec<String> = of.iter().map(ToString::to_string).collect();
    let error = named("ConfigError", &messages.join("; "));
    let problems = to_js(&problems(of));
    let set = problems.and_then(|problems| Reflect::set(&error, &"problems".into(), &problems));
    set.map_or_else(|why| why, |_| error.into())
}

/// The exception that `MegatronMIMO` raises, as an error whose name is the exception's class.
pub(super) fn raised(error: &PythonError) -> JsValue {
    named(error.exception.into(), &error.message).into()
}
