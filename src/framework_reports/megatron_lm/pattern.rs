//! The layers that Megatron-LM's estimator takes for mixture-of-experts layers.

use super::super::python::{OperationError, PyValue, repr, str};
use super::Arguments;
use crate::python::{Exception, PythonError};
use crate::value::Value;

/// The estimator's `moe_layer_pattern`: a list with an entry per layer, 1 where the layer has experts.
///
/// It is not laid out, because nothing but its sum and its last entry is used.
pub(super) enum LayerPattern<'a> {
    /// No layer has experts.
    Dense { layers: i128 },
    /// The first layer and every `every`-th after it have experts.
    Periodic { every: i128, layers: i128 },
    /// The caller's own list, with anything in it.
    Listed(&'a [Value]),
    /// `moe_layer_freq` is neither a number nor a list, and the local variable was never assigned.
    Unbound,
}

impl<'a> LayerPattern<'a> {
    pub(super) fn read(args: &Arguments<'a>) -> Result<Self, PythonError> {
        if args.num_experts.is_none()? {
            let layers = args.num_layers.value()?;
            // Python builds `[0] * num_layers`.
            (PyValue::List(&[]) * layers).value()?;
            return Ok(Self::Dense {
                layers: layers.index()?,
            });
        }
        match args.moe_layer_freq.value()? {
            PyValue::List(listed) => {
                let layers = args.num_layers.value()?;
                let length = PyValue::from(listed.len() as u64);
                if !layers.equals(length) {
                    return Err(Exception::AssertionError.with(format!(
                        "Invalid length of moe_layer_pattern: {}, expected {}, current moe layer pattern: {}",
                        str(length),
                        str(layers),
                        repr(PyValue::List(listed)),
                    )));
                }
                Ok(Self::Listed(listed))
            }
            every @ (PyValue::Bool(_) | PyValue::Int(_)) => {
                let layers = args.num_layers.value()?.index()?;
                let every = every.index()?;
                if layers > 0 && every == 0 {
                    return Err(Exception::ZeroDivisionError.with(""));
                }
                Ok(Self::Periodic { every, layers })
            }
            _ => Ok(Self::Unbound),
        }
    }

    /// `sum(moe_layer_pattern)`.
    pub(super) fn sum(&self) -> Result<PyValue<'a>, OperationError> {
        match self {
            Self::Dense { .. } => Ok(0.into()),
            Self::Periodic { every, layers } => {
                let layers = layers.max(&0).unsigned_abs();
                let sum = layers.div_ceil(every.unsigned_abs().max(1));
                Ok(PyValue::Int(i128::try_from(sum).unwrap_or(i128::MAX)))
            }
            Self::Listed(listed) => listed
                .iter()
                .try_fold(PyValue::from(0), |sum, layer| (sum + PyValue::from(layer)).value()),
            Self::Unbound => Err(UNBOUND),
        }
    }

    /// `moe_layer_pattern[-1]`.
    pub(super) fn last(&self) -> Result<PyValue<'a>, OperationError> {
        match self {
            Self::Dense { layers } if *layers > 0 => Ok(0.into()),
            Self::Periodic { every, layers } if *layers > 0 => {
                let is_multiple = (layers - 1).unsigned_abs().is_multiple_of(every.unsigned_abs());
                Ok(i32::from(is_multiple).into())
            }
            Self::Listed([.., last]) => Ok(last.into()),
            Self::Dense { .. } | Self::Periodic { .. } | Self::Listed([]) => Err(Exception::IndexError.into()),
            Self::Unbound => Err(UNBOUND),
        }
    }
}

const UNBOUND: OperationError = OperationError::Raised(Exception::UnboundLocalError);
