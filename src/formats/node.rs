//! The result of every text reader: plain data with the line number of each value and key.

use crate::value::Value;

/// A value read from text, with the line that it starts on.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Line of the value's first character, counted from 1.
    pub line: u32,
    /// The value itself.
    pub data: Data,
}

/// The kinds of [`Node`]; the same kinds as [`Value`].
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// "Explicitly nothing", which is not the same as a missing key.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number with a fraction or an exponent, or a whole number too large for [`Data::Int`].
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in source order; a key may occur twice, and then the last one counts.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Line of the key, counted from 1.
    pub line: u32,
    /// The value.
    pub node: Node,
}

impl Data {
    /// The value without the lines of its parts.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(b) => Value::Bool(*b),
            Self::Int(i) => Value::Int(*i),
            Self::Float(x) => Value::Float(*x),
            Self::Text(text) => Value::Text(text.clone()),
            Self::List(items) => Value::List(items.iter().map(Node::to_value).collect()),
            Self::Map(entries) => Value::Map(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.node.to_value()))
                    .collect(),
            ),
        }
    }
}

impl Node {
    /// The value without the lines of its parts.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.data.to_value()
    }

    /// The entries when this is a map, and none otherwise.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The entry with `key` when this is a map; the last one wins, as in [`Value::get`].
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().rev().find(|entry| entry.key == key)
    }

    /// The value stored under `key` when this is a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }
}
