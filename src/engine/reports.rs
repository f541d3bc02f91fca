//! The frameworks' own reports through the JavaScript API.

use serde::ser::{Serialize, SerializeStruct, Serializer};
use wasm_bindgen::prelude::*;

use super::output::{Exact, List};
use super::{read, write};
use crate::config::job::Module;
use crate::framework_reports::differences::{Difference, Effect, differences};
use crate::framework_reports::{PythonError, job, megatron_bridge, megatron_lm};
use crate::memory::ModuleEstimate;
use crate::value::Value;

/// What Megatron-LM's `report_theoretical_memory` computes and prints for these arguments. A formula that
/// fails there is a field with an `error` here.
///
/// # Errors
/// Throws when an argument is not plain data.
#[wasm_bindgen(js_name = megatronLmReport, unchecked_return_type = "MegatronLmReport")]
pub fn megatron_lm_report(
    #[wasm_bindgen(unchecked_param_type = "Record<string, unknown>")] args: &JsValue,
    #[wasm_bindgen(js_name = numMicrobatches, unchecked_param_type = "number | null | undefined")]
    num_microbatches: &JsValue,
) -> Result<JsValue, JsValue> {
    let (args, microbatches) = (python(read(args)?), python(read(num_microbatches)?));
    write(&megatron_lm::report(&args, Some(&microbatches)))
}

/// What Megatron-Bridge's `estimate_training_memory` and `report_theoretical_memory` compute and print.
///
/// # Errors
/// Throws what the estimator raises: an `Error` with the exception's class as its `name`. Its
/// `report_error` and `report_verbose_stdout` say how the printed report fares.
#[wasm_bindgen(js_name = megatronBridgeReport, unchecked_return_type = "MegatronBridgeReport")]
pub fn megatron_bridge_report(
    #[wasm_bindgen(unchecked_param_type = "MegatronBridgeInput")] input: &JsValue,
) -> Result<JsValue, JsValue> {
    let report = megatron_bridge::report(&python(read(input)?));
    let Err(cause) = &report.estimate else {
        return write(&report);
    };
    let error = exception(cause);
    let set =
        |key: &str, value: JsValue| js_sys::Reflect::set(&error, &JsValue::from_str(key), &value);
    if let Some(cause) = &report.report_error {
        set("report_error", write(cause)?)?;
    }
    set(
        "report_verbose_stdout",
        JsValue::from_str(&report.report_verbose_stdout),
    )?;
    Err(error.into())
}

fn exception(cause: &PythonError) -> js_sys::Error {
    let error = js_sys::Error::new(&cause.message);
    error.set_name(cause.kind);
    error
}

/// JavaScript has one kind of number: what is whole there is an `int` for Python.
fn python(value: Value) -> Value {
    match value {
        Value::Float(x) => whole_number(x).map_or(Value::Float(x), Value::Int),
        Value::List(items) => Value::List(items.into_iter().map(python).collect()),
        Value::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| (key, python(value)))
                .collect(),
        ),
        other => other,
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the cast is kept only where it loses nothing"
)]
pub(super) fn whole_number(x: f64) -> Option<i128> {
    // The largest float below 2^127 is a whole number; a larger one saturates to 2^127 - 1, which no
    // float equals.
    let int = x as i128;
    (int as f64 == x && int != i128::MAX).then_some(int)
}

/// What the frameworks would print for a module, and why it differs from the estimate.
pub(super) struct Reports<'a>(pub(super) &'a Module, pub(super) &'a ModuleEstimate);

impl Serialize for Reports<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let reports = job::reports(self.0);
        let reasons = differences(self.0, self.1);
        object!(serializer, {
            "megatron_lm": reports.megatron_lm,
            "megatron_bridge": reports.megatron_bridge,
            "differences": List(|| reasons.iter().map(Reason)),
        })
    }
}

struct Reason<'a>(&'a Difference);

impl Serialize for Reason<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (less, more) = match self.0.effect {
            Effect::Less(bytes) => (Some(Exact(bytes.0)), None),
            Effect::More(bytes) => (None, Some(Exact(bytes.0))),
            Effect::Unsaid => (None, None),
        };
        object!(serializer, {
            "id": self.0.id,
            "frameworks": List(|| self.0.frameworks.iter().map(|framework| framework.name())),
            "text": self.0.text.as_str(),
            "less_bytes": less,
            "more_bytes": more,
        })
    }
}
