//! Plain data from outside: a JSON-like tree that has not been checked yet.

use core::cell::Cell;
use core::fmt;
use std::io;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::ser::Formatter;

/// A value from a JSON file, a JavaScript object, a form field or a launch script.
///
/// Maps keep the order of their source, so that messages can follow it.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// JSON `null`, Python `None`: "explicitly nothing", which is not the same as a missing key.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// Text, including numbers as a user typed them.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// Key and value pairs in source order.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The value stored under `key` when this is a map; the last one wins, as in JSON.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Map(entries) => entries.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The name of this value's type in Python, for messages that are equal to those of a framework.
    #[must_use]
    pub fn python_type(&self) -> &'static str {
        match self {
            Self::Null => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
            Self::List(_) => "list",
            Self::Map(_) => "dict",
        }
    }
}

/// Writes the value as it is.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(b) => serializer.serialize_bool(*b),
            Self::Int(i) => match i64::try_from(*i) {
                Ok(i) => serializer.serialize_i64(i),
                Err(_) => serializer.serialize_i128(*i),
            },
            Self::Float(x) => serializer.serialize_f64(*x),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Map(entries) => serializer.collect_map(entries.iter().map(|(key, value)| (key, value))),
        }
    }
}

/// Compact JSON whose small numbers have exponents, as in `1e-5`.
struct Compact;

impl Formatter for Compact {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, x: f64) -> io::Result<()> {
        write!(writer, "{x:?}")
    }
}

/// The value as compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut json = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut json, Compact);
        self.serialize(&mut serializer).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&json))
    }
}

/// How deep lists and maps may be nested. A job has five levels at most.
pub(crate) const DEEPEST: u32 = 32;
/// How many values there may be in all. A job of a thousand modules with every field set has fewer.
pub(crate) const MOST: u32 = 1 << 18;

/// Reads any plain data.
///
/// # Errors
/// Where the data has other types than [`Value`], or exceeds a limit, as an object that contains itself does.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let left = Cell::new(MOST);
        let reader = Reader {
            depth: DEEPEST,
            left: &left,
        };
        reader.deserialize(deserializer)
    }
}

/// Reads one value within the limits that are left.
#[derive(Clone, Copy)]
struct Reader<'a> {
    depth: u32,
    left: &'a Cell<u32>,
}

impl<'a> Reader<'a> {
    /// The reader for the items of a list or map.
    fn inside<E: Error>(self) -> Result<Reader<'a>, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, ..self }),
            None => Err(E::custom(format_args!(
                "lists and objects may be nested {DEEPEST} deep"
            ))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return Err(D::Error::custom(format_args!("more than {MOST} values are too many")));
        };
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plain data")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, i: i64) -> Result<Value, E> {
        Ok(Value::Int(i.into()))
    }

    fn visit_u64<E>(self, i: u64) -> Result<Value, E> {
        Ok(Value::Int(i.into()))
    }

    fn visit_i128<E>(self, i: i128) -> Result<Value, E> {
        Ok(Value::Int(i))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        Ok(Value::Float(x))
    }

    fn visit_str<E>(self, s: &str) -> Result<Value, E> {
        Ok(Value::Text(s.to_owned()))
    }

    fn visit_string<E>(self, s: String) -> Result<Value, E> {
        Ok(Value::Text(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut entries = Vec::new();
        while let Some(key) = map.next_key()? {
            entries.push((key, map.next_value_seed(inside)?));
        }
        Ok(Value::Map(entries))
    }
}
