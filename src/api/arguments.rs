//! Arguments of functions. Each is checked, since JavaScript may pass anything whatever the TypeScript types say.

use core::cell::Cell;

use js_sys::Object;
use serde::de::{DeserializeOwned, Error as _, Visitor, value};
use serde::forward_to_deserialize_any;
use serde_wasm_bindgen::Deserializer;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::error::type_error;
use super::plain_data::whole_number;
use megatron_memory::report::amount::Unit;

/// The least Jaro-Winkler similarity to an option at which an unknown key is taken for its misspelling.
const SIMILAR: f64 = 0.8;

/// Reads an argument of any type that serde reads.
///
/// # Errors
/// Throws a `TypeError` that names the key whose value is wrong.
pub(super) fn read<T: DeserializeOwned>(argument: JsValue) -> Result<T, JsValue> {
    // Following the path to every value takes as long as reading it, and only an error has to name its own.
    let read = T::deserialize(Deserializer::from(argument.clone()));
    let read = read.or_else(|_| serde_path_to_error::deserialize(Deserializer::from(argument)));
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
///
/// # Errors
/// Throws a `TypeError` for an option that the function does not have, and for a wrong value.
pub(super) fn options<T>(given: Option<Ts<T>>) -> Result<T, JsValue>
where
    T: Tsify + DeserializeOwned + Default,
{
    options_beside(given, &[])
}

/// As [`options`], in an object that may have some other keys too.
pub(super) fn options_beside<T>(given: Option<Ts<T>>, others: &[&str]) -> Result<T, JsValue>
where
    T: Tsify + DeserializeOwned + Default,
{
    let Some(given) = given else {
        return Ok(T::default());
    };
    let given = given.js_value();
    let known = names::<T>();
    let keys = given.dyn_ref::<Object>().map(Object::keys).unwrap_or_default();
    let keys = keys.iter().filter_map(|key| key.as_string());
    for key in keys.filter(|key| !others.contains(&key.as_str())) {
        if !known.contains(&key.as_str()) {
            return Err(type_error(&unknown_option(&key, known)));
        }
    }
    read(given)
}

/// The message about an option that a function does not have, with the most similar one of those that it has.
fn unknown_option(key: &str, known: &[&str]) -> String {
    let similarity = |name: &str| strsim::jaro_winkler(key, name);
    let mut similar: Vec<&str> = known.to_vec();
    similar.sort_by(|a, b| similarity(b).total_cmp(&similarity(a)));
    match similar.first().filter(|name| similarity(name) >= SIMILAR) {
        Some(name) => format!("there is no option {key}; did you mean {name}?"),
        None => format!("there is no option {key}; the options are {}", known.join(", ")),
    }
}

/// The names of the fields of a struct, as serde reads them.
pub(super) fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    let fields = FieldNames::default();
    // The visit ends with an error as soon as the names are known.
    let _ = T::deserialize(&fields);
    fields.names.get()
}

/// A deserializer that has no value, and remembers which fields a struct asks it for.
#[derive(Default)]
struct FieldNames {
    names: Cell<&'static [&'static str]>,
}

impl<'de> serde::Deserializer<'de> for &FieldNames {
    type Error = value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.names.set(fields);
        self.deserialize_any(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(value::Error::custom("there is no value"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
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
