//! Arguments that are a text, some texts or a whole number. A caller in JavaScript may pass anything, and
//! glue that expects one of these would read memory that is not there.

use wasm_bindgen::prelude::*;

use super::{failure, read, reports::whole_number};
use crate::value::Value;

/// The text that the argument called `name` must be.
pub(super) fn text(value: &JsValue, name: &str) -> Result<String, JsValue> {
    let text = value.as_string();
    text.ok_or_else(|| failure(&format!("{name} must be a string")))
}

/// The texts that the argument called `name` must be a list of.
pub(super) fn texts(value: &JsValue, name: &str) -> Result<Vec<String>, JsValue> {
    let Value::List(items) = read(value)? else {
        return Err(failure(&format!("{name} must be an array of strings")));
    };
    let text = |item: Value| match item {
        Value::Text(text) => Ok(text),
        _ => Err(failure(&format!("{name} must hold nothing but strings"))),
    };
    items.into_iter().map(text).collect()
}

/// The whole number that the argument called `name` must be.
pub(super) fn whole(value: &JsValue, name: &str) -> Result<i128, JsValue> {
    let number = match read(value)? {
        Value::Int(n) => Some(n),
        Value::Float(x) => whole_number(x),
        _ => None,
    };
    number.ok_or_else(|| failure(&format!("{name} must be a whole number")))
}
