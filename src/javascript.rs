//! Plain data from JavaScript, for both of the modules that it loads.

use js_sys::{Array, ArrayBuffer, BigInt, Map, Object, Reflect, Symbol, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

use crate::value::{DEEPEST, MOST, Value};

/// The value as plain data: as `Value`'s own reader takes it, for the few kinds of values that JavaScript has.
pub(crate) fn read(data: &JsValue) -> Result<Value, String> {
    let mut left = MOST;
    value(data, DEEPEST, &mut left)
}

fn value(data: &JsValue, depth: u32, left: &mut u32) -> Result<Value, String> {
    *left = left
        .checked_sub(1)
        .ok_or_else(|| format!("more than {MOST} values are too many"))?;
    // Every question is a call: the one with the shortest answer first, then what is most frequent.
    if let Some(b) = data.as_bool() {
        return Ok(Value::Bool(b));
    }
    if let Some(x) = data.as_f64() {
        return Ok(number(x));
    }
    if let Some(text) = data.as_string() {
        return Ok(Value::Text(text));
    }
    if data.is_null() || data.is_undefined() {
        return Ok(Value::Null);
    }
    if data.is_bigint() {
        return Ok(big(data.unchecked_ref()));
    }
    let inside = || {
        depth
            .checked_sub(1)
            .ok_or_else(|| format!("lists and objects may be nested {DEEPEST} deep"))
    };
    if let Some(list) = data.dyn_ref::<Array>() {
        let depth = inside()?;
        return (0..list.length())
            .map(|at| value(&list.get(at), depth, left))
            .collect::<Result<_, _>>()
            .map(Value::List);
    }
    if data.has_type::<ArrayBuffer>() || data.has_type::<Uint8Array>() {
        return Err(String::from(
            "invalid type: byte array, expected plain data",
        ));
    }
    let (keys, values) = if let Some(map) = data.dyn_ref::<Map>() {
        (Array::from(&map.keys()), Array::from(&map.values()))
    } else if data.is_object() && Reflect::has(data, &Symbol::iterator()) == Ok(false) {
        let object = data.unchecked_ref();
        (Object::keys(object), Object::values(object))
    } else {
        return Err(format!("invalid type: {data:?}, expected plain data"));
    };
    let depth = inside()?;
    let entry = |(key, inner): (JsValue, JsValue)| {
        let name = key
            .as_string()
            .ok_or_else(|| format!("invalid type: {key:?}, expected a string"))?;
        Ok((name, value(&inner, depth, left)?))
    };
    keys.iter()
        .zip(values.iter())
        .map(entry)
        .collect::<Result<_, String>>()
        .map(Value::Map)
}

/// A whole number where JavaScript's numbers hold all of its neighbors as well, a float otherwise.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the cast is kept only where it loses nothing"
)]
fn number(x: f64) -> Value {
    const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
    let whole = x as i64;
    if whole as f64 == x && whole.unsigned_abs() <= MAX_SAFE_INTEGER {
        Value::Int(whole.into())
    } else {
        Value::Float(x)
    }
}

/// What is too large for any field stays as text: the field's own check then names it.
fn big(data: &BigInt) -> Value {
    let digits = data
        .to_string(10)
        .map_or_else(|_| String::new(), String::from);
    digits.parse().map_or(Value::Text(digits), Value::Int)
}
