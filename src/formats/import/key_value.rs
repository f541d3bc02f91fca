//! One key of a text.

use crate::value::Value;

/// One key of a text with its value and line.
#[derive(Clone, Debug)]
pub(in crate::formats) struct KeyValue {
    /// The key as the text spells it.
    pub(in crate::formats) key: String,
    pub(in crate::formats) value: Value,
    pub(in crate::formats) line: u32,
}
