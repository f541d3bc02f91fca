//! The JavaScript API: the library as an ES module, for pages and for Node.
//!
//! Plain objects go in through [`javascript`] and come out through [`text`]. Whole numbers are JavaScript numbers
//! up to 2^53 - 1 and `BigInt` beyond, so that none is ever rounded.

mod arguments;
mod output;
mod peaks;
pub mod ranks;
pub mod reports;
mod text;

use wasm_bindgen::prelude::*;

use crate::config::check;
use crate::config::raw::RawJob;
use crate::javascript;
use crate::memory;
use crate::value::Value;
use text::written;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("engine/types.d.ts");

/// The version of this calculator.
#[must_use]
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Memory of every pipeline stage of a job in the public JSON form. `options` ask for more: the memory of one `rank`,
/// the `timeline` of an iteration, the `ledger` of what recomputing would save. The job may have the same keys.
///
/// # Errors
/// Throws an `Error` whose `problems` lists everything that is wrong with the job.
#[wasm_bindgen(unchecked_return_type = "Estimate")]
pub fn estimate(
    #[wasm_bindgen(unchecked_param_type = "Job")] config: &JsValue,
    #[wasm_bindgen(unchecked_optional_param_type = "EstimateOptions")] options: &JsValue,
) -> Result<JsValue, JsValue> {
    let mut job = read(config)?;
    let request = peaks::Request::take(&mut job, &read(options)?);
    let raw = RawJob::from_value(&job);
    let checked = check(&raw);
    let Some(config) = &checked.config else {
        return Err(refusal(&checked.problems)?);
    };
    let estimate = memory::estimate(config);
    let all = output::Estimate {
        job: &raw,
        config,
        result: &estimate,
        checked: &checked,
        request,
    };
    let result = written(|w| output::estimate(w, &all))?;
    // The top level repeats the first module: the same objects, not copies of them.
    let modules = js_sys::Reflect::get(&result, &JsValue::from_str("modules"))?;
    let first = js_sys::Reflect::get_u32(&modules, 0)?;
    for key in ["derived", "parameters", "stages", "reports"] {
        let key = JsValue::from_str(key);
        js_sys::Reflect::set(&result, &key, &js_sys::Reflect::get(&first, &key)?)?;
    }
    Ok(result)
}

/// Everything that is wrong with a job, warnings included; an empty list when nothing is.
///
/// # Errors
/// Throws when the argument is not plain data.
#[wasm_bindgen(unchecked_return_type = "Problem[]")]
pub fn validate(
    #[wasm_bindgen(unchecked_param_type = "Job")] config: &JsValue,
) -> Result<JsValue, JsValue> {
    let checked = check(&RawJob::from_value(&read(config)?));
    written(|w| output::problems(w, &checked.problems))
}

/// The error that `estimate` throws.
fn refusal(problems: &[crate::config::problem::Problem]) -> Result<JsValue, JsValue> {
    let message: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let error = js_sys::Error::new(&message.join("; "));
    error.set_name("ConfigError");
    let problems = written(|w| output::problems(w, problems))?;
    js_sys::Reflect::set(&error, &JsValue::from_str("problems"), &problems)?;
    Ok(error.into())
}

/// An argument as plain data.
fn read(data: &JsValue) -> Result<Value, JsValue> {
    javascript::read(data).map_err(|message| failure(&message))
}

/// An error with this message.
fn failure(message: &str) -> JsValue {
    js_sys::Error::new(message).into()
}
