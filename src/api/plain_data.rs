//! Plain data, converted from and to JavaScript: numbers, texts, lists and objects, as a job may hold them under any
//! key.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::Exact;
use megatron_memory::value::Value;

/// Plain data that serializes to JavaScript.
#[derive(Clone, Debug)]
pub(super) struct PlainData(pub(super) Value);

impl Serialize for PlainData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Borrowed(&self.0).serialize(serializer)
    }
}

/// A borrowed part of plain data.
struct Borrowed<'v>(&'v Value);

impl Serialize for Borrowed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(b) => serializer.serialize_bool(*b),
            Value::Int(number) => Exact::from(*number).serialize(serializer),
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items.iter().map(Borrowed)),
            Value::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| (&**key, Borrowed(value)));
                serialize_entries(entries, serializer)
            }
        }
    }
}

/// Serializes an object whose keys come from a caller. The key `__proto__` is left out, since setting it would change
/// the object's prototype.
pub(super) fn serialize_entries<'k, T: Serialize, S: Serializer>(
    entries: impl Iterator<Item = (&'k str, T)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (key, value) in entries.filter(|(key, _)| *key != "__proto__") {
        map.serialize_entry(key, &value)?;
    }
    map.end()
}

/// Whole numbers under names that are constants of the program, such as bytes by bucket.
///
/// They serialize as a struct, since the serializer keeps the JavaScript string of every field name and makes a new one
/// for every key of a map. A result has hundreds of keys, and making their strings would take most of the time.
#[derive(Clone, Debug)]
pub(super) struct ByName(pub(super) Vec<(&'static str, Exact)>);

impl Serialize for ByName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ByName", self.0.len())?;
        for (name, number) in &self.0 {
            fields.serialize_field(name, number)?;
        }
        fields.end()
    }
}

/// A text that is a constant of the program. It serializes as a variant, since the serializer keeps the JavaScript string
/// of the name of every variant and makes a new one for every other text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constant(pub(super) &'static str);

impl Serialize for Constant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit_variant("Constant", 0, self.0)
    }
}

/// The entries of a JavaScript object, in their order.
#[derive(Clone, Debug)]
pub(super) struct Entries<T>(pub(super) Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntriesVisitor(PhantomData))
    }
}

struct EntriesVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

/// The float as a whole number; `None` where it has a fraction or does not fit 128 bits.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the cast is kept only where it loses nothing"
)]
pub(super) fn whole_number(number: f64) -> Option<i128> {
    // The largest float below 2^127 is a whole number; a larger one saturates to 2^127 - 1, which no float equals.
    let whole = number as i128;
    (whole as f64 == number && whole != i128::MAX).then_some(whole)
}
