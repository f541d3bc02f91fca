//! The JavaScript API: the library as an ES module with TypeScript types, for pages and for Node.
//!
//! One file a group of functions. Arguments and results are plain JavaScript objects, which serde converts. Every
//! options object and every result is a struct in this module; tsify derives its TypeScript type. Only a job is
//! untyped: [`RawJob`](megatron_memory::config::raw::RawJob) takes any object and reports its mistakes.
//!
//! The types are a contract of their own: names say their unit, whole numbers are [`Exact`](exact::Exact), fields and
//! choices have the names of arguments, and what belongs together is flat. The library's types have none of that. The few
//! that are the same are written twice, since tsify's derive makes imports of wasm-bindgen, of which the library is free.
//!
//! All functions are synchronous. They throw a `TypeError` for arguments of the wrong kind, and otherwise the errors of
//! [`error`].

mod arguments;
pub mod calibrate;
mod error;
pub mod estimate;
pub mod evidence;
pub mod exact;
pub mod export;
pub mod fit;
pub mod framework_reports;
pub mod import;
mod job;
pub mod links;
pub mod measured;
pub mod modules;
mod plain_data;
pub mod presets;
pub mod ranks;
pub mod search;
pub mod svg;
pub mod validate;

use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use error::type_error;
use exact::Exact;

/// The version of this calculator.
#[must_use]
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Converts a result to a JavaScript value. Maps become objects, and `None` becomes `null`.
fn to_js<T: Serialize + ?Sized>(value: &T) -> Result<JsValue, JsValue> {
    let serializer = Serializer::json_compatible();
    let written = value.serialize(&serializer);
    written.map_err(|error| type_error(&error.to_string()))
}

/// Converts a result to a JavaScript value that has the result's TypeScript type.
fn to_ts<T: Serialize + Tsify>(value: &T) -> Result<Ts<T>, JsValue> {
    to_js(value).map(Ts::new_unchecked)
}
