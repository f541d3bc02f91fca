//! The frameworks' own reports through the JavaScript API.

use wasm_bindgen::prelude::*;

use super::read;
use super::text::{Writer, written};
use crate::config::job::Module;
use crate::framework_reports::differences::{Difference, Effect, differences};
use crate::framework_reports::megatron_bridge::{
    MegatronBridgeReport, MemoryComponent, TrainingMemory,
};
use crate::framework_reports::megatron_lm::MegatronLmReport;
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
    let report = megatron_lm::report(&(&args).into(), (&microbatches).into());
    written(|w| of_megatron_lm(w, &report))
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
    let input = python(read(input)?);
    let report = megatron_bridge::report(&(&input).into());
    let Err(cause) = &report.estimate else {
        return written(|w| of_megatron_bridge(w, &report));
    };
    let error = exception(cause);
    let set =
        |key: &str, value: JsValue| js_sys::Reflect::set(&error, &JsValue::from_str(key), &value);
    if let Some(cause) = &report.report_error {
        set("report_error", written(|w| raised(w, cause))?)?;
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
pub(super) fn of_module(w: &mut Writer, m: &Module, estimate: &ModuleEstimate) {
    let reports = job::reports(m);
    w.object(|w| {
        w.key("megatron_lm");
        of_megatron_lm(w, &reports.megatron_lm);
        w.key("megatron_bridge");
        of_megatron_bridge(w, &reports.megatron_bridge);
        w.key("differences").list(|w| {
            for of in differences(m, estimate) {
                difference(w, &of);
            }
        });
    });
}

fn of_megatron_lm(w: &mut Writer, report: &MegatronLmReport) {
    w.object(|w| {
        for (key, amount) in [
            (
                "weight_and_optimizer_bytes",
                &report.weight_and_optimizer_bytes,
            ),
            ("activation_bytes", &report.activation_bytes),
            (
                "activation_bytes_without_sp",
                &report.activation_bytes_without_sp,
            ),
        ] {
            w.key(key);
            match amount {
                Ok(bytes) => w.float(*bytes),
                Err(error) => instead(w, error),
            }
        }
        w.key("report_mb");
        match &report.report_mb {
            Ok(Some(amounts)) => w.list(|w| amounts.iter().for_each(|amount| w.float(*amount))),
            Ok(None) => w.null(),
            Err(error) => instead(w, error),
        }
        w.key("report_verbose_stdout")
            .text(&report.report_verbose_stdout);
    });
}

/// What stands in the place of a formula that failed.
fn instead(w: &mut Writer, error: &PythonError) {
    w.object(|w| {
        w.key("error");
        raised(w, error);
    });
}

fn raised(w: &mut Writer, error: &PythonError) {
    w.object(|w| {
        w.key("type").text(error.kind);
        w.key("message").text(&error.message);
    });
}

/// The estimate's fields or its `error`, then how the printed report fares.
fn of_megatron_bridge(w: &mut Writer, report: &MegatronBridgeReport) {
    w.object(|w| {
        match &report.estimate {
            Ok(estimate) => training_memory(w, estimate),
            Err(error) => {
                w.key("error");
                raised(w, error);
            }
        }
        if let Some(error) = &report.report_error {
            w.key("report_error");
            raised(w, error);
        }
        w.key("report_verbose_stdout")
            .text(&report.report_verbose_stdout);
    });
}

fn training_memory(w: &mut Writer, estimate: &TrainingMemory) {
    w.key("components")
        .list(|w| estimate.components.iter().for_each(|of| component(w, of)));
    w.key("activation");
    match &estimate.activation {
        Some(activation) => component(w, activation),
        None => w.null(),
    }
    for (key, amount) in [
        ("total_parameters", estimate.total_parameters),
        (
            "weight_and_optimizer_bytes",
            estimate.weight_and_optimizer_bytes,
        ),
        ("total_memory_bytes", estimate.total_memory_bytes),
        ("total_memory_mb", estimate.total_memory_mb),
        ("total_memory_gb", estimate.total_memory_gb),
    ] {
        w.key(key).float(amount);
    }
    w.key("assumptions")
        .list(|w| estimate.assumptions.iter().for_each(|text| w.text(text)));
    w.key("formatted_mb").text(&estimate.formatted_mb);
    w.key("formatted_gb").text(&estimate.formatted_gb);
}

fn component(w: &mut Writer, component: &MemoryComponent) {
    w.object(|w| {
        w.key("name").text(component.name);
        for (key, amount) in [
            ("parameter_count", component.parameter_count),
            ("parameter_count_per_gpu", component.parameter_count_per_gpu),
            ("bytes_per_parameter", component.bytes_per_parameter),
            ("memory_bytes", component.memory_bytes),
            ("memory_mb", component.memory_mb),
            ("memory_gb", component.memory_gb),
        ] {
            w.key(key).float(amount);
        }
    });
}

fn difference(w: &mut Writer, difference: &Difference) {
    let (less, more) = match difference.effect {
        Effect::Less(bytes) => (Some(bytes.0), None),
        Effect::More(bytes) => (None, Some(bytes.0)),
        Effect::Unsaid => (None, None),
    };
    w.object(|w| {
        w.key("id").text(difference.id);
        w.key("frameworks").list(|w| {
            for framework in difference.frameworks {
                w.text(framework.name());
            }
        });
        w.key("text").text(&difference.text);
        w.key("less_bytes").number_or_null(less);
        w.key("more_bytes").number_or_null(more);
    });
}
