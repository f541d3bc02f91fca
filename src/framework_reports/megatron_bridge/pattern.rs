//! The layers that Megatron-Bridge's estimator takes for mixture-of-experts layers.

use super::super::python::{OperationError, PyValue, str};
use super::ModelConfig;
use super::integers::{positive_or, saturating_int};
use crate::python::{Exception, PythonError};

/// The most layers that are laid out one by one.
const MOST_LAYERS: usize = 1 << 20;

/// `_has_moe`.
pub(super) fn has_moe(model: &ModelConfig<'_>) -> Result<bool, OperationError> {
    match model.num_moe_experts.if_given() {
        Some(experts) => experts.exceeds(0),
        None => Ok(false),
    }
}

/// `_get_moe_layer_pattern`: for every layer, then every MTP layer, whether it has experts.
pub(super) fn moe_layers(model: &ModelConfig<'_>) -> Result<Vec<bool>, PythonError> {
    let num_layers = saturating_int(positive_or(model.num_layers, "num_layers", 1)?)?;
    let mut pattern = if has_moe(model)? {
        layers_with_experts(model, num_layers)?
    } else {
        vec![false; repetitions(PyValue::Int(num_layers))?]
    };
    let mtp_num_layers = model.mtp_num_layers.if_given();
    if let Some(mtp_num_layers) = mtp_num_layers.filter(|number| number.truth())
        && mtp_num_layers.exceeds(0)?
    {
        let more = repetitions(mtp_num_layers)?;
        let last = pattern
            .last()
            .copied()
            .ok_or(OperationError::Raised(Exception::IndexError))?;
        pattern.resize(pattern.len() + more, last);
    }
    Ok(pattern)
}

/// The pattern of the decoder layers of a model with experts.
fn layers_with_experts(model: &ModelConfig<'_>, num_layers: i128) -> Result<Vec<bool>, PythonError> {
    let moe_layer_freq = model.moe_layer_freq.if_present();
    match moe_layer_freq.unwrap_or(PyValue::Int(1)) {
        every @ (PyValue::Bool(_) | PyValue::Int(_)) => {
            let every = every.index()?;
            if every <= 0 {
                return Err(Exception::ValueError.with("moe_layer_freq must be positive".to_owned()));
            }
            let every = usize::try_from(every).unwrap_or(usize::MAX);
            let layers = 0..layer_count(num_layers)?;
            Ok(layers.map(|layer| layer % every == 0).collect())
        }
        PyValue::List(layers) => {
            if i128::try_from(layers.len()) != Ok(num_layers) {
                return Err(Exception::ValueError.with(format!(
                    "Invalid moe_layer_freq length: expected {num_layers}, got {}",
                    layers.len()
                )));
            }
            let truth = |layer| PyValue::from(layer).truth();
            Ok(layers.iter().map(truth).collect())
        }
        other => Err(Exception::ValueError.with(format!("Unsupported moe_layer_freq value: {}", str(other)))),
    }
}

/// The length of `[x] * times`: 0 for a negative number.
fn repetitions(times: PyValue<'_>) -> Result<usize, PythonError> {
    (PyValue::List(&[]) * times).value()?;
    layer_count(times.index()?)
}

/// A number of layers to lay out: 0 for a negative number.
pub(super) fn layer_count(layers: i128) -> Result<usize, PythonError> {
    match usize::try_from(layers.max(0)) {
        Ok(layers) if layers <= MOST_LAYERS => Ok(layers),
        _ => Err(Exception::MemoryError.with("")),
    }
}

/// `_get_layer_counts`: dense layers, mixture-of-experts layers and all, MTP layers included.
#[derive(Clone, Copy)]
pub(super) struct LayerCounts {
    pub(super) dense: i32,
    pub(super) moe: i32,
    pub(super) total: i32,
}

impl LayerCounts {
    pub(super) fn of(moe_layers: &[bool]) -> Self {
        // There are at most 2 · 2²⁰ layers.
        let number = |of: &[bool]| i32::try_from(of.len()).unwrap_or(i32::MAX);
        let moe = moe_layers.iter().filter(|is_moe| **is_moe).count();
        let moe = i32::try_from(moe).unwrap_or(i32::MAX);
        let total = number(moe_layers);
        Self {
            dense: total - moe,
            moe,
            total,
        }
    }
}
