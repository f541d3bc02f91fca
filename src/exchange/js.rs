//! The second JavaScript module: the functions of [`exchange`](super), and the page's dialogs.

use wasm_bindgen::prelude::*;

use super::data::Failure;
use super::dialog::{Dialog, Effect};
use crate::javascript;
use crate::report::markup::Markup;
use crate::value::Value;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

/// Reads any text that holds a job. See the types of the options and the result.
///
/// # Errors
/// Throws an `ImportError`.
#[wasm_bindgen(js_name = importText, unchecked_return_type = "Import")]
pub fn import_text(
    #[wasm_bindgen(js_name = "text", unchecked_param_type = "string")] source: &JsValue,
    #[wasm_bindgen(unchecked_optional_param_type = "ImportOptions")] options: &JsValue,
) -> Result<JsValue, JsValue> {
    let source = text(source, "text")?;
    answer(super::import_text(&source, &read(options)?))
}

/// A job as text.
///
/// # Errors
/// Throws an `ExportError` where the format has no word for the job, a `ConfigError` where it shows a result and the job
/// has none.
#[wasm_bindgen(js_name = exportText, unchecked_return_type = "string")]
pub fn export_text(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "ExportFormat")] format: &JsValue,
    #[wasm_bindgen(unchecked_optional_param_type = "ExportOptions")] options: &JsValue,
) -> Result<JsValue, JsValue> {
    let format = text(format, "format")?;
    answer(super::export_text(&read(job)?, &format, &read(options)?))
}

/// The link of a job, from its `#` on.
///
/// # Errors
/// Throws where an argument has the wrong form.
#[wasm_bindgen(js_name = encodeLink, unchecked_return_type = "string")]
pub fn encode_link(
    #[wasm_bindgen(unchecked_param_type = "Job")] job: &JsValue,
    #[wasm_bindgen(unchecked_optional_param_type = "LinkOptions")] options: &JsValue,
) -> Result<JsValue, JsValue> {
    answer(super::encode_link(&read(job)?, &read(options)?))
}

/// What a link says; an address with one will do.
///
/// # Errors
/// Throws a `LinkError` where it is none, or of a newer version.
#[wasm_bindgen(js_name = decodeLink, unchecked_return_type = "Link")]
pub fn decode_link(
    #[wasm_bindgen(unchecked_param_type = "string")] link: &JsValue,
) -> Result<JsValue, JsValue> {
    answer(super::decode_link(&text(link, "link")?))
}

/// Every preset.
///
/// # Errors
/// None that a caller could cause.
#[wasm_bindgen(unchecked_return_type = "Preset[]")]
pub fn presets() -> Result<JsValue, JsValue> {
    answer(Ok(super::presets()))
}

/// A chart of a job, as the text of an SVG file.
///
/// # Errors
/// Throws a `ConfigError` for a job with problems.
#[wasm_bindgen(unchecked_return_type = "string")]
pub fn svg(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "ChartName")] chart: &JsValue,
    #[wasm_bindgen(unchecked_optional_param_type = "SvgOptions")] options: &JsValue,
) -> Result<JsValue, JsValue> {
    let chart = text(chart, "chart")?;
    answer(super::svg(&read(job)?, &chart, &read(options)?))
}

/// A part of the layouts of a job.
///
/// # Errors
/// Throws a `ConfigError` for a job whose problems are not its layout, a `SearchError` where there is nothing to search.
#[wasm_bindgen(unchecked_return_type = "Layouts")]
pub fn search(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    #[wasm_bindgen(unchecked_optional_param_type = "SearchOptions")] options: &JsValue,
) -> Result<JsValue, JsValue> {
    answer(super::search(&read(job)?, &read(options)?))
}

/// A dialog of the page. No part of the API: `exchange.js` shows what `draw` gives, tells `act` what the reader does,
/// and does what that answers.
#[wasm_bindgen(js_name = Dialog, skip_typescript)]
pub struct PageDialog(Dialog);

#[wasm_bindgen(js_class = Dialog)]
impl PageDialog {
    /// The dialog `import`, `export` or `search` of a page with this address.
    #[must_use]
    #[wasm_bindgen(constructor, skip_typescript)]
    pub fn new(kind: &str, address: &str) -> Self {
        Self(Dialog::new(kind, address))
    }

    /// What it shows: elements as `[tag, [name, value, …], text, children]`.
    #[must_use]
    #[wasm_bindgen(skip_typescript)]
    pub fn draw(&self) -> JsValue {
        self.0
            .draw()
            .iter()
            .map(markup)
            .collect::<js_sys::Array>()
            .into()
    }

    /// Something was typed, chosen or pressed; the answer is what to do, `[kind, text or data, name]`, or nothing.
    #[wasm_bindgen(skip_typescript)]
    pub fn act(&mut self, place: &str, value: &str) -> Option<js_sys::Array> {
        self.0.act(place, value).map(effect)
    }

    /// A search found something; the answer is what to do, or nothing.
    ///
    /// # Errors
    /// Throws where it is no plain data.
    #[wasm_bindgen(skip_typescript)]
    pub fn take(&mut self, found: &JsValue) -> Result<Option<js_sys::Array>, JsValue> {
        Ok(self.0.take(&read(found)?).map(effect))
    }
}

fn effect(effect: Effect) -> js_sys::Array {
    let (kind, what, name) = match effect {
        Effect::Copy(text) => ("copy", text.into(), String::new()),
        Effect::Download { name, text } => ("download", text.into(), name),
        Effect::Picture { name, text } => ("picture", text.into(), name),
        Effect::Fetch(address) => ("fetch", address.into(), String::new()),
        Effect::Search { job, total } => ("search", write(&job), total),
        Effect::Explain(index) => ("explain", index.into(), String::new()),
        Effect::Stop => ("stop", JsValue::NULL, String::new()),
        Effect::Open(link) => ("open", link.into(), String::new()),
        Effect::Close => ("close", JsValue::NULL, String::new()),
    };
    js_sys::Array::of3(&kind.into(), &what, &name.into())
}

fn markup(element: &Markup) -> JsValue {
    let attributes: js_sys::Array = element
        .attributes
        .iter()
        .flat_map(|(name, value)| [JsValue::from_str(name), JsValue::from_str(value)])
        .collect();
    let children: js_sys::Array = element.children.iter().map(markup).collect();
    js_sys::Array::of4(
        &JsValue::from_str(element.tag),
        &attributes,
        &JsValue::from_str(&element.text),
        &children,
    )
    .into()
}

fn text(value: &JsValue, name: &str) -> Result<String, JsValue> {
    let text = value.as_string();
    text.ok_or_else(|| js_sys::TypeError::new(&format!("{name} must be a string")).into())
}

fn read(data: &JsValue) -> Result<Value, JsValue> {
    javascript::read(data).map_err(|message| js_sys::TypeError::new(&message).into())
}

fn answer(result: Result<Value, Failure>) -> Result<JsValue, JsValue> {
    result.map(|value| write(&value)).map_err(|failure| {
        let error = js_sys::Error::new(&failure.message);
        error.set_name(failure.name);
        if failure.problems != Value::Null {
            // Fails only for frozen objects.
            let _ = js_sys::Reflect::set(&error, &"problems".into(), &write(&failure.problems));
        }
        error.into()
    })
}

/// Whole numbers that JavaScript's numbers cannot hold become `BigInt`.
fn write(value: &Value) -> JsValue {
    const EXACT: i128 = 1 << 53;
    match value {
        Value::Null => JsValue::NULL,
        Value::Bool(b) => JsValue::from_bool(*b),
        Value::Int(i) if -EXACT < *i && *i < EXACT => {
            #[allow(clippy::cast_precision_loss, reason = "below 2^53 nothing is lost")]
            let number = *i as f64;
            JsValue::from_f64(number)
        }
        Value::Int(i) => JsValue::from(*i),
        Value::Float(x) => JsValue::from_f64(*x),
        Value::Text(text) => JsValue::from_str(text),
        Value::List(items) => items.iter().map(write).collect::<js_sys::Array>().into(),
        Value::Map(entries) => {
            let pairs = entries
                .iter()
                .map(|(key, value)| js_sys::Array::of2(&JsValue::from_str(key), &write(value)));
            // Fails only for what is no list of pairs. A key such as `__proto__` becomes one like any other.
            let object = js_sys::Object::from_entries(&pairs.collect::<js_sys::Array>());
            object.map_or(JsValue::NULL, Into::into)
        }
    }
}
