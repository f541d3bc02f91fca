//! Tags such as `!!str` and what they make of a scalar.

use saphyr_parser::Tag;

use super::scalar;
use crate::formats::node::Data;

/// The prefix of YAML's own types when a tag is written out in full.
const CORE: &str = "tag:yaml.org,2002:";

/// A tag as people write it: `!!int`, `!own`.
pub(super) fn written(tag: &Tag) -> String {
    let full = format!("{}{}", tag.handle, tag.suffix);
    match full.strip_prefix(CORE) {
        Some(name) => format!("!!{name}"),
        None => full,
    }
}

/// Whether a list or a map loses nothing when it is read without this tag.
pub(super) fn is_plain_collection(tag: &str) -> bool {
    matches!(tag, "!" | "!!seq" | "!!map" | "!!python/tuple")
}

/// The value of a scalar with a tag, or nothing where the tag says nothing about it that is known here.
///
/// `!!python/name:torch.bfloat16 ''` is what `PyYAML` writes for a Python object; its name is the value.
pub(super) fn scalar(tag: &str, text: &str) -> Option<Data> {
    match tag {
        "!" | "!!str" => Some(Data::Text(text.to_owned())),
        "!!int" | "!!float" | "!!bool" | "!!null" => Some(scalar::resolve(text).0),
        _ => {
            let object = tag.strip_prefix("!!python/name:")?;
            text.is_empty().then(|| Data::Text(object.to_owned()))
        }
    }
}
