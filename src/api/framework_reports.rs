//! The results and printed reports of Megatron-LM's and Megatron-Bridge's own estimators.

use js_sys::Reflect;
use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::plain_data::whole_number;
use super::{Exact, arguments, error, to_js, to_ts};
use megatron_memory::config::job::Module;
use megatron_memory::framework_reports::differences::{self, Effect, differences};
use megatron_memory::framework_reports::megatron_bridge::{self, MemoryComponent, TrainingMemory};
use megatron_memory::framework_reports::{job, megatron_lm};
use megatron_memory::memory::ModuleEstimate;
use megatron_memory::python::PythonError;
use megatron_memory::value::Value;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = "
/** The arguments of Megatron-Bridge's own estimator. */
export interface MegatronBridgeInput {
  /** The attributes of Megatron-Bridge's model provider. */
  model: Record<string, unknown>;
  /** The attributes of Megatron-Bridge's training configuration. */
  train: Record<string, unknown>;
  num_microbatches?: number | null;
  include_activation?: boolean;
}
";

/// The reports of the frameworks' own estimators for a module, and why they differ from this estimate.
#[derive(Debug, Serialize, Tsify)]
pub struct Reports {
    megatron_lm: MegatronLmReport,
    megatron_bridge: BridgeOutcome,
    differences: Vec<Difference>,
}

/// The results of Megatron-LM's own estimator. A formula that raises an exception there has an `error` instead of a
/// value.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct MegatronLmReport {
    weight_and_optimizer_bytes: Outcome<f64>,
    activation_bytes: Outcome<f64>,
    activation_bytes_without_sp: Outcome<f64>,
    /// Weights with optimizer, activations, and their sum, in units of 1024 * 1024 bytes; `null` where nothing is
    /// reported.
    report_mb: Outcome<Option<[f64; 3]>>,
    report_verbose_stdout: String,
}

/// The value of a formula, or the exception that it raises.
#[derive(Debug, Serialize, Tsify)]
#[serde(untagged)]
pub enum Outcome<T> {
    /// The value of the formula.
    Value(T),
    /// The formula raises an exception.
    Failed {
        /// The exception.
        error: PythonException,
    },
}

/// An exception that one of the frameworks' estimators raises.
#[derive(Debug, Serialize, Tsify)]
pub struct PythonException {
    /// The exception's class, such as `ZeroDivisionError`.
    #[serde(rename = "type")]
    class: &'static str,
    message: String,
}

/// The results of Megatron-Bridge's own estimator.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct MegatronBridgeReport {
    components: Vec<MegatronBridgeComponent>,
    activation: Option<MegatronBridgeComponent>,
    total_parameters: f64,
    weight_and_optimizer_bytes: f64,
    total_memory_bytes: f64,
    total_memory_mb: f64,
    total_memory_gb: f64,
    assumptions: Vec<&'static str>,
    formatted_mb: String,
    formatted_gb: String,
    /// The exception that printing the report raises; no key where it raises none.
    #[serde(skip_serializing_if = "Option::is_none")]
    report_error: Option<PythonException>,
    report_verbose_stdout: String,
}

/// One row of Megatron-Bridge's report.
#[derive(Debug, Serialize, Tsify)]
pub struct MegatronBridgeComponent {
    name: &'static str,
    parameter_count: f64,
    parameter_count_per_gpu: f64,
    bytes_per_parameter: f64,
    memory_bytes: f64,
    memory_mb: f64,
    memory_gb: f64,
}

/// The exception that Megatron-Bridge's estimator raises, in place of its results.
#[derive(Debug, Serialize, Tsify)]
pub struct MegatronBridgeFailure {
    error: PythonException,
    /// The exception that printing the report raises; no key where it raises none.
    #[serde(skip_serializing_if = "Option::is_none")]
    report_error: Option<PythonException>,
    report_verbose_stdout: String,
}

/// The results of Megatron-Bridge's estimator, or the exception that it raises.
#[derive(Debug, Serialize, Tsify)]
#[serde(untagged)]
pub enum BridgeOutcome {
    /// The results.
    Report(Box<MegatronBridgeReport>),
    /// The exception.
    Failure(Box<MegatronBridgeFailure>),
}

/// A reason why reports differ from this estimate.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Difference {
    id: &'static str,
    #[tsify(type = "(\"Megatron-LM\" | \"Megatron-Bridge\")[]")]
    frameworks: Vec<&'static str>,
    text: String,
    /// Bytes by which the report is too low for this reason, on the stage with the largest peak; `null` where not
    /// known.
    less_bytes: Option<Exact>,
    /// Bytes by which the report is too high for this reason, on the stage with the largest peak; `null` where not
    /// known.
    more_bytes: Option<Exact>,
}

/// Computes what Megatron-LM's `report_theoretical_memory` computes and prints for `args`. A formula that raises an
/// exception there has an `error` instead of a value.
///
/// # Errors
/// Throws a `TypeError` where an argument is not plain data.
#[wasm_bindgen(js_name = megatronLmReport)]
pub fn megatron_lm_report(
    #[wasm_bindgen(unchecked_param_type = "Record<string, unknown>")] args: JsValue,
    #[wasm_bindgen(
        js_name = numMicrobatches,
        unchecked_optional_param_type = "number | null"
    )]
    num_microbatches: JsValue,
) -> Result<Ts<MegatronLmReport>, JsValue> {
    let args = python(arguments::read(args)?);
    let num_microbatches = python(arguments::read(num_microbatches)?);
    to_ts(&megatron_lm::report(&(&args).into(), (&num_microbatches).into()).into())
}

/// Computes what Megatron-Bridge's `estimate_training_memory` and `report_theoretical_memory` compute and print.
///
/// # Errors
/// Throws the exception that `estimate_training_memory` raises as an `Error` whose `name` is the exception's class. Its
/// properties `report_error` and `report_verbose_stdout` are those of `MegatronBridgeFailure`.
#[wasm_bindgen(js_name = megatronBridgeReport)]
pub fn megatron_bridge_report(
    #[wasm_bindgen(unchecked_param_type = "MegatronBridgeInput")] input: JsValue,
) -> Result<Ts<MegatronBridgeReport>, JsValue> {
    let input = python(arguments::read(input)?);
    let report = megatron_bridge::report(&(&input).into());
    match report.into() {
        BridgeOutcome::Report(report) => to_ts(&*report),
        BridgeOutcome::Failure(failure) => Err(raised(&failure)?),
    }
}

/// The JavaScript error for the exception that Megatron-Bridge's estimator raises.
fn raised(failure: &MegatronBridgeFailure) -> Result<JsValue, JsValue> {
    let error = error::named(failure.error.class, &failure.error.message);
    if let Some(report_error) = &failure.report_error {
        Reflect::set(&error, &"report_error".into(), &to_js(report_error)?)?;
    }
    let stdout = JsValue::from_str(&failure.report_verbose_stdout);
    Reflect::set(&error, &"report_verbose_stdout".into(), &stdout)?;
    Ok(error.into())
}

/// Converts numbers from JavaScript, which has one kind, to Python's two: whole ones become `int`.
fn python(value: Value) -> Value {
    match value {
        Value::Float(x) => whole_number(x).map_or(Value::Float(x), Value::Int),
        Value::List(items) => Value::List(items.into_iter().map(python).collect()),
        Value::Map(entries) => {
            let entries = entries.into_iter();
            Value::Map(entries.map(|(key, value)| (key, python(value))).collect())
        }
        other => other,
    }
}

impl Reports {
    /// The frameworks' reports for a module, and why they differ from its estimate.
    pub(super) fn new(m: &Module, estimate: &ModuleEstimate) -> Self {
        let reports = job::reports(m);
        Self {
            megatron_lm: reports.megatron_lm.into(),
            megatron_bridge: reports.megatron_bridge.into(),
            differences: differences(m, estimate).into_iter().map(Difference::from).collect(),
        }
    }
}

impl<T> From<Result<T, PythonError>> for Outcome<T> {
    fn from(result: Result<T, PythonError>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(error) => Self::Failed { error: error.into() },
        }
    }
}

impl From<PythonError> for PythonException {
    fn from(error: PythonError) -> Self {
        Self {
            class: error.exception.into(),
            message: error.message,
        }
    }
}

impl From<megatron_lm::MegatronLmReport> for MegatronLmReport {
    fn from(report: megatron_lm::MegatronLmReport) -> Self {
        Self {
            weight_and_optimizer_bytes: report.weight_and_optimizer_bytes.into(),
            activation_bytes: report.activation_bytes.into(),
            activation_bytes_without_sp: report.activation_bytes_without_sp.into(),
            report_mb: report.report_mb.into(),
            report_verbose_stdout: report.report_verbose_stdout,
        }
    }
}

impl From<megatron_bridge::MegatronBridgeReport> for BridgeOutcome {
    fn from(report: megatron_bridge::MegatronBridgeReport) -> Self {
        let report_error = report.report_error.map(PythonException::from);
        let report_verbose_stdout = report.report_verbose_stdout;
        match report.estimate {
            Ok(estimate) => Self::Report(Box::new(MegatronBridgeReport::new(
                estimate,
                report_error,
                report_verbose_stdout,
            ))),
            Err(error) => Self::Failure(Box::new(MegatronBridgeFailure {
                error: error.into(),
                report_error,
                report_verbose_stdout,
            })),
        }
    }
}

impl MegatronBridgeReport {
    fn new(estimate: TrainingMemory, report_error: Option<PythonException>, report_verbose_stdout: String) -> Self {
        let component = MegatronBridgeComponent::from;
        Self {
            components: estimate.components.into_iter().map(component).collect(),
            activation: estimate.activation.map(component),
            total_parameters: estimate.total_parameters,
            weight_and_optimizer_bytes: estimate.weight_and_optimizer_bytes,
            total_memory_bytes: estimate.total_memory_bytes,
            total_memory_mb: estimate.total_memory_mb,
            total_memory_gb: estimate.total_memory_gb,
            assumptions: estimate.assumptions,
            formatted_mb: estimate.formatted_mb,
            formatted_gb: estimate.formatted_gb,
            report_error,
            report_verbose_stdout,
        }
    }
}

impl From<MemoryComponent> for MegatronBridgeComponent {
    fn from(component: MemoryComponent) -> Self {
        Self {
            name: component.name,
            parameter_count: component.parameter_count,
            parameter_count_per_gpu: component.parameter_count_per_gpu,
            bytes_per_parameter: component.bytes_per_parameter,
            memory_bytes: component.memory_bytes,
            memory_mb: component.memory_mb,
            memory_gb: component.memory_gb,
        }
    }
}

impl From<differences::Difference> for Difference {
    fn from(difference: differences::Difference) -> Self {
        let (less, more) = match difference.effect {
            Effect::Less(bytes) => (Some(bytes), None),
            Effect::More(bytes) => (None, Some(bytes)),
            Effect::Unsaid => (None, None),
        };
        let frameworks = difference.frameworks.iter();
        Self {
            id: difference.id,
            frameworks: frameworks.map(|framework| framework.name()).collect(),
            text: difference.text,
            less_bytes: less.map(Exact::from),
            more_bytes: more.map(Exact::from),
        }
    }
}
