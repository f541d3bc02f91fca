//! Arguments of functions. Each is checked, since JavaScript may pass anything whatever the TypeScript types say.

use serde::de::DeserializeOwned;
use serde_wasm_bindgen::Deserializer;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::error::type_error;
use super::plain_data::whole_number;
use megatron_memory::report::amount::Unit;

/// Reads an argument of any type that serde reads.
///
/// # Errors
/// Throws a `TypeError` that names the key whose value is wrong.
pub(super) fn read<T: DeserializeOwned>(argument: JsValue) -> Result<T, JsValue> {
    let read = serde_path_to_error::deserialize(Deserializer::from(argument));
    read.map_err(|error| {
        let path = error.path().to_string();
        let message = message(error.into_inner());
        match (path.as_str(), rule(&message)) {
            (".", _) => type_error(&message),
            (path, Some(rule)) => type_error(&format!("{path} {rule}")),
            (path, None) => type_error(&format!("{path}: {message}")),
        }
    })
}

/// The requirement on a value, for a deserializer's error message that names the expected Rust type; `None` for other
/// messages.
fn rule(message: &str) -> Option<&'static str> {
    let (_, expected) = message.split_once(", expected ")?;
    Some(match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "must be a whole number, not below zero",
        "i128" => "must be a whole number",
        "a string" => "must be a string",
        "a boolean" => "must be true or false",
        "a sequence" => "must be an array",
        _ => return None,
    })
}

/// The message of a deserializer's error.
fn message(error: serde_wasm_bindgen::Error) -> String {
    let error = js_sys::Error::from(JsValue::from(error));
    error.message().into()
}

/// Reads the options of a function. Without an options object every option has its default.
pub(super) fn options<T>(given: Option<Ts<T>>) -> Result<T, JsValue>
where
    T: Tsify + DeserializeOwned + Default,
{
    given.map_or_else(|| Ok(T::default()), |given| read(given.js_value()))
}

/// Reads the argument called `name`, which must be a string.
pub(super) fn text(argument: &JsValue, name: &str) -> Result<String, JsValue> {
    let text = argument.as_string();
    text.ok_or_else(|| type_error(&format!("{name} must be a string")))
}

/// Reads the argument called `name`, which must be an array of strings.
pub(super) fn texts(argument: &JsValue, name: &str) -> Result<Vec<String>, JsValue> {
    if !js_sys::Array::is_array(argument) {
        return Err(type_error(&format!("{name} must be an array of strings")));
    }
    let texts = serde_wasm_bindgen::from_value(argument.clone());
    texts.map_err(|_| type_error(&format!("{name} must hold nothing but strings")))
}

/// Reads the argument called `name`, which must be a whole number.
pub(super) fn whole(argument: &JsValue, name: &str) -> Result<i128, JsValue> {
    let number = serde_wasm_bindgen::from_value(argument.clone()).ok();
    let number = number.or_else(|| whole_number(argument.as_f64()?));
    number.ok_or_else(|| type_error(&format!("{name} must be a whole number")))
}

/// Reads the option `unit`; GiB where it is absent.
pub(super) fn unit(name: Option<&str>) -> Result<Unit, JsValue> {
    match name {
        None | Some("GiB") => Ok(Unit::Gib),
        Some("GB") => Ok(Unit::Gb),
        Some(_) => Err(type_error("unit must be GiB or GB")),
    }
}
