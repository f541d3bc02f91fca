//! Which layers Megatron-Bridge's estimator takes for mixture-of-experts layers.

use super::super::python::{Object, count, str};
use super::{Fault, Namespace, Py, PythonError, positive_or, truth};
use crate::value::Value;

/// `_has_moe`.
pub(super) fn has_moe(model: Namespace<'_>) -> Result<bool, Fault> {
    model
        .get_some("num_moe_experts")
        .map_or(Ok(false), |experts| Py::from(experts).exceeds(0))
}

/// `_get_moe_layer_pattern`: for every layer, then every MTP layer, whether it has experts.
pub(super) fn moe_layers(model: Namespace<'_>) -> Result<Vec<bool>, PythonError> {
    let num_layers = positive_or(model, "num_layers", 1)?.saturating_int()?;
    let mut pattern = if has_moe(model)? {
        layers_with_experts(model, num_layers)?
    } else {
        vec![false; Py::from(num_layers).repetitions()?]
    };
    let mtp_num_layers = model
        .get_some("mtp_num_layers")
        .filter(|value| truth(value));
    if let Some(mtp_num_layers) = mtp_num_layers.map(Py::from)
        && mtp_num_layers.exceeds(0)?
    {
        let more = mtp_num_layers.repetitions()?;
        let last = pattern.last().copied().ok_or(Fault::Index)?;
        pattern.resize(pattern.len() + more, last);
    }
    Ok(pattern)
}

fn layers_with_experts(model: Namespace<'_>, num_layers: i128) -> Result<Vec<bool>, PythonError> {
    const EVERY: Value = Value::Int(1);
    match model.0.get("moe_layer_freq").unwrap_or(&EVERY) {
        every @ (Value::Bool(_) | Value::Int(_)) => {
            let every = Py::from(every).index()?;
            if every <= 0 {
                return Err(PythonError::value("moe_layer_freq must be positive"));
            }
            count(num_layers)?;
            Ok((0..num_layers).map(|layer| layer % every == 0).collect())
        }
        Value::List(layers) => {
            if i128::try_from(layers.len()) != Ok(num_layers) {
                return Err(PythonError::value(format!(
                    "Invalid moe_layer_freq length: expected {num_layers}, got {}",
                    layers.len()
                )));
            }
            Ok(layers.iter().map(truth).collect())
        }
        other => Err(PythonError::value(format!(
            "Unsupported moe_layer_freq value: {}",
            str(other)
        ))),
    }
}

/// `_get_layer_counts`: dense layers, mixture-of-experts layers and all, MTP layers included.
#[derive(Clone, Copy)]
pub(super) struct LayerCounts {
    pub(super) dense: Py,
    pub(super) moe: Py,
    pub(super) total: Py,
}

impl LayerCounts {
    pub(super) fn count(model: Namespace<'_>) -> Result<Self, PythonError> {
        let pattern = moe_layers(model)?;
        let moe = pattern.iter().filter(|is_moe| **is_moe).count();
        let number = |n: usize| Py::from(Object::Int(i128::try_from(n).unwrap_or(i128::MAX)));
        Ok(Self {
            dense: number(pattern.len() - moe),
            moe: number(moe),
            total: number(pattern.len()),
        })
    }
}
