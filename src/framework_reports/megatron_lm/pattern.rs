//! Which layers Megatron-LM's estimator takes for mixture-of-experts layers.

use super::super::python::{Namespace, Object, Py, raise, repr, str};
use crate::value::Value;

/// The list with an entry per layer, 1 where the layer has experts, which only its sum, its last
/// entry and its length are taken from.
pub(super) enum LayerPattern<'a> {
    /// No experts at all.
    Dense { layers: i128 },
    /// Experts in the first layer and in every `every`-th after it.
    Periodic { every: i128, layers: i128 },
    /// The caller's own list, with anything in it.
    Listed(&'a [Value]),
    /// A frequency that is neither a number nor a list leaves the list unset.
    Unset,
}

impl<'a> LayerPattern<'a> {
    pub(super) fn read(args: Namespace<'a>) -> Self {
        if args.is_none("num_experts") {
            let layers = args.get("num_layers");
            let _ = Py::from(Object::List) * layers;
            return Self::Dense {
                layers: layers.index(),
            };
        }
        match args.raw("moe_layer_freq") {
            freq @ Value::List(listed) => {
                let layers = args.raw("num_layers");
                let length = i128::try_from(listed.len()).unwrap_or(i128::MAX);
                if !Py::from(layers).equals(length) {
                    raise(
                        "AssertionError",
                        &[
                            "Invalid length of moe_layer_pattern: ",
                            &length.to_string(),
                            ", expected ",
                            &str(layers),
                            ", current moe layer pattern: ",
                            &repr(freq),
                        ],
                    );
                }
                Self::Listed(listed)
            }
            every @ (Value::Bool(_) | Value::Int(_)) => {
                let layers = args.get("num_layers").index();
                let every = Py::from(every).index();
                if layers > 0 {
                    is_multiple_of(0, every);
                }
                Self::Periodic { every, layers }
            }
            _ => Self::Unset,
        }
    }

    /// `sum(pattern)`.
    pub(super) fn sum(&self) -> Py {
        match self {
            Self::Dense { .. } => 0.into(),
            Self::Periodic { every, layers } => {
                let (every, layers) = (every.unsigned_abs().max(1), layers.max(&0).unsigned_abs());
                let sum = layers.div_ceil(every);
                i128::try_from(sum).unwrap_or(i128::MAX).into()
            }
            Self::Listed(listed) => listed
                .iter()
                .fold(0.into(), |sum, layer| sum + Py::from(layer)),
            Self::Unset => unset(),
        }
    }

    /// `pattern[-1]`.
    pub(super) fn last(&self) -> Py {
        match self {
            Self::Dense { layers } if *layers > 0 => 0.into(),
            Self::Periodic { every, layers } if *layers > 0 => {
                i32::from(is_multiple_of(layers - 1, *every)).into()
            }
            Self::Listed([.., last]) => last.into(),
            Self::Dense { .. } | Self::Periodic { .. } | Self::Listed([]) => {
                raise("IndexError", &["list index out of range"]);
                0.into()
            }
            Self::Unset => unset(),
        }
    }
}

/// The pattern where no branch has set it.
fn unset() -> Py {
    raise(
        "UnboundLocalError",
        &[
            "cannot access local variable 'moe_layer_pattern' where it is not associated with a value",
        ],
    );
    0.into()
}

/// `layer % every == 0`.
fn is_multiple_of(layer: i128, every: i128) -> bool {
    if every == 0 {
        raise("ZeroDivisionError", &["integer modulo by zero"]);
    }
    layer.unsigned_abs().is_multiple_of(every.unsigned_abs())
}
