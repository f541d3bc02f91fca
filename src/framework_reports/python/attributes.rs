//! Configuration objects as structs with a field for every attribute.

use super::{OperationError, PyResult};
use crate::value::Value;

/// Declares a configuration object: a struct with one public [`PyResult`] for each attribute, which is an
/// `AttributeError` where the object lacks it.
macro_rules! attributes {
    (
        $(#[$of_object:meta])*
        pub struct $object:ident { $($(#[$of_attribute:meta])* $attribute:ident,)* }
    ) => {
        $(#[$of_object])*
        #[derive(Clone, Copy, Debug)]
        pub struct $object<'a> {
            $($(#[$of_attribute])* pub $attribute: $crate::framework_reports::python::PyResult<'a>,)*
        }

        /// Reads the attributes from the entries of a map; anything but a map has none.
        impl<'a> From<&'a $crate::value::Value> for $object<'a> {
            fn from(object: &'a $crate::value::Value) -> Self {
                Self {
                    $($attribute: $crate::framework_reports::python::attribute(
                        object,
                        stringify!($attribute),
                    ),)*
                }
            }
        }
    };
}

pub(in super::super) use attributes;

/// `object.name`, where a map stands for the `types.SimpleNamespace` with its entries.
pub(in super::super) fn attribute<'a>(object: &'a Value, name: &'static str) -> PyResult<'a> {
    if let Some(value) = object.get(name) {
        return value.into();
    }
    let type_name = match object {
        Value::Map(_) => "types.SimpleNamespace",
        other => other.python_type(),
    };
    PyResult(Err(OperationError::NoAttribute { type_name, name }))
}
