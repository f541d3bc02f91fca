//! Which layers Megatron-Bridge's estimator takes for mixture-of-experts layers.

use super::super::python::{count, raise, str};
use super::{Namespace, Py, positive_or, truth};
use crate::value::Value;

/// `_has_moe`.
pub(super) fn has_moe(model: Namespace<'_>) -> bool {
    model
        .get_some("num_moe_experts")
        .is_some_and(|experts| Py::from(experts).exceeds(0))
}

/// `_get_moe_layer_pattern`: for every layer, then every MTP layer, whether it has experts.
pub(super) fn moe_layers(model: Namespace<'_>) -> Vec<bool> {
    let num_layers = positive_or(model, "num_layers", 1).saturating_int();
    let mut pattern = if has_moe(model) {
        layers_with_experts(model, num_layers)
    } else {
        vec![false; Py::from(num_layers).repetitions()]
    };
    let mtp_num_layers = model
        .get_some("mtp_num_layers")
        .filter(|value| truth(value));
    if let Some(mtp_num_layers) = mtp_num_layers.map(Py::from)
        && mtp_num_layers.exceeds(0)
    {
        let more = mtp_num_layers.repetitions();
        if let Some(last) = pattern.last().copied() {
            pattern.resize(pattern.len() + more, last);
        } else {
            raise("IndexError", &["list index out of range"]);
        }
    }
    pattern
}

/// The layers of a model with experts; none after an exception.
fn layers_with_experts(model: Namespace<'_>, num_layers: i128) -> Vec<bool> {
    const EVERY: Value = Value::Int(1);
    let unusable = |message: &[&str]| {
        raise("ValueError", message);
        Vec::new()
    };
    match model.0.get("moe_layer_freq").unwrap_or(&EVERY) {
        every @ (Value::Bool(_) | Value::Int(_)) => {
            let every = Py::from(every).index();
            if every <= 0 {
                return unusable(&["moe_layer_freq must be positive"]);
            }
            let every = usize::try_from(every).unwrap_or(usize::MAX);
            (0..count(num_layers))
                .map(|layer| layer % every == 0)
                .collect()
        }
        Value::List(layers) => {
            let length = i128::try_from(layers.len()).unwrap_or(i128::MAX);
            if length != num_layers {
                return unusable(&[
                    "Invalid moe_layer_freq length: expected ",
                    &num_layers.to_string(),
                    ", got ",
                    &length.to_string(),
                ]);
            }
            layers.iter().map(truth).collect()
        }
        other => unusable(&["Unsupported moe_layer_freq value: ", &str(other)]),
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
    pub(super) fn count(model: Namespace<'_>) -> Self {
        let pattern = moe_layers(model);
        let moe = pattern.iter().filter(|is_moe| **is_moe).count();
        let number = |n: usize| Py::from(i128::try_from(n).unwrap_or(i128::MAX));
        Self {
            dense: number(pattern.len() - moe),
            moe: number(moe),
            total: number(pattern.len()),
        }
    }
}
