//! `calibrate`: factors on predicted step times, from runs that were measured.

use js_sys::{Array, Reflect};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use super::error::{self, type_error};
use super::job::Given;
use super::to_js;
use megatron_memory::config::check;
use megatron_memory::config::job::Config;
use megatron_memory::memory::{Estimate, estimate};
use megatron_memory::time;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/** A run whose steps were measured. `import` of a training log has its job and, as `measured.iterations`, its times. */
export interface MeasuredRun {
  job: Job | string;
  step_seconds: number;
}
";

/// The factors of measured runs on predicted step times.
#[allow(clippy::struct_field_names, reason = "one has the name of the job's setting")]
#[derive(Debug, Serialize, Tsify)]
pub struct Calibration {
    /// The setting with which a job of the same model, GPU and precision has them.
    step_time_calibration: String,
    /// The factor of what the GPU computes, and of exchanges within a node.
    compute: f64,
    /// The factor of what the host launches.
    host: f64,
    /// The factor of messages over the network.
    network: f64,
    /// How far off times are with them, in percent.
    within_percent: f64,
}

/// The factors that make predicted step times those of measured runs: one for all that takes time, or from three runs of
/// different layouts on one each for computing, host and network. `null` where no time is predicted for a run, or runs are
/// of different models, GPUs or precisions.
///
/// # Errors
/// Throws a `TypeError` for arguments of the wrong kind, and a `ConfigError` for a job with mistakes.
#[wasm_bindgen(unchecked_return_type = "Calibration | null")]
pub fn calibrate(#[wasm_bindgen(unchecked_param_type = "MeasuredRun[]")] runs: &JsValue) -> Result<JsValue, JsValue> {
    let list: &Array = runs
        .dyn_ref()
        .ok_or_else(|| type_error("runs must be an array of jobs with their step_seconds"))?;
    let runs: Vec<(Config, Estimate, f64)> = list.iter().map(|run| read(&run)).collect::<Result<_, _>>()?;
    let runs: Vec<(&Config, &Estimate, f64)> = runs
        .iter()
        .map(|(config, of, seconds)| (config, of, *seconds))
        .collect();
    let found = time::calibrate(&runs).map(|by| Calibration {
        step_time_calibration: by.to_string(),
        compute: by.compute,
        host: by.host,
        network: by.network,
        within_percent: by.within_percent,
    });
    to_js(&found)
}

/// One run with its estimate.
fn read(run: &JsValue) -> Result<(Config, Estimate, f64), JsValue> {
    if !run.is_object() {
        return Err(type_error("runs must hold nothing but jobs with their step_seconds"));
    }
    let seconds = Reflect::get(run, &"step_seconds".into())?.as_f64();
    let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    let seconds = seconds.ok_or_else(|| type_error("step_seconds must be a number above zero"))?;
    let job = Given::read(&Reflect::get(run, &"job".into())?, None)?.into_job();
    let checked = check(&job);
    let config = checked.config.ok_or_else(|| error::config(&checked.problems))?;
    let estimate = estimate(&config);
    Ok((config, estimate, seconds))
}
