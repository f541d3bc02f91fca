//! JSON text to plain data, with the line of every key.
//!
//! `jsonc-parser` reads the text and says where every value stands; all its extensions are off, so that the text
//! must be JSON as RFC 8259 has it, except that any Unicode white space may stand between values and that a byte
//! order mark in front is skipped. The work is linear in the size of the text, and size, depth and number of values
//! are bounded.

mod error;
mod limits;
mod lines;

pub use error::{JsonError, JsonErrorKind};
pub use limits::{MAX_BYTES, MAX_DEPTH, MAX_VALUES};

use jsonc_parser::ast::{NumberLit, ObjectProp, ObjectPropName, StringLit, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::node::{Data, Entry, Node};
use lines::Lines;

/// Strict JSON: none of the extensions that `jsonc-parser` allows by default.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads one JSON value that fills the whole text.
///
/// Whole numbers that fit 128 bits stay whole; all other numbers become floats. A key that occurs twice in
/// a map is kept twice, and the last one counts.
///
/// # Errors
///
/// The limit that the text exceeds, or the first thing that is not JSON.
pub fn parse(text: &str) -> Result<Node, JsonError> {
    read(text, &STRICT)
}

/// The same for JSON that Python wrote, which has `Infinity`, `-Infinity` and `NaN`. They become null.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_python(text: &str) -> Result<Node, JsonError> {
    let options = ParseOptions {
        allow_non_finite_numbers: true,
        ..STRICT
    };
    read(text, &options)
}

fn read(text: &str, options: &ParseOptions) -> Result<Node, JsonError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(text);
    limits::check(text).map_err(|(at, kind)| lines.error(at, kind))?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), options)
        .map_err(|error| JsonErrorKind::of_parser(text, &error))
        .map_err(|(at, kind)| lines.error(at, kind))?;
    let value = parsed.value.ok_or_else(|| {
        let nothing = JsonErrorKind::Unexpected {
            found: None,
            expected: "a value",
        };
        lines.error(text.len(), nothing)
    })?;
    Source { text, lines }.node(value)
}

/// The text that a tree of values was parsed from.
struct Source<'t> {
    text: &'t str,
    lines: Lines<'t>,
}

impl Source<'_> {
    fn node(&self, value: Value) -> Result<Node, JsonError> {
        let line = self.lines.line(value.range().start);
        let data = match value {
            Value::NullKeyword(_) => Data::Null,
            Value::BooleanLit(literal) => Data::Bool(literal.value),
            Value::NumberLit(literal) => self.number(&literal)?,
            Value::StringLit(literal) => Data::Text(self.string(literal)?),
            Value::Array(array) => {
                let items = array.elements.into_iter().map(|item| self.node(item));
                Data::List(items.collect::<Result<_, _>>()?)
            }
            Value::Object(object) => {
                let entries = object.properties.into_iter().map(|entry| self.entry(entry));
                Data::Map(entries.collect::<Result<_, _>>()?)
            }
        };
        Ok(Node { line, data })
    }

    fn entry(&self, property: ObjectProp) -> Result<Entry, JsonError> {
        let line = self.lines.line(property.range.start);
        let key = match property.name {
            ObjectPropName::String(literal) => self.string(literal)?,
            ObjectPropName::Word(word) => word.value.to_owned(),
        };
        let node = self.node(property.value)?;
        Ok(Entry { key, line, node })
    }

    /// The text of a string. The parser lets line breaks and control characters in strings pass; JSON does not.
    fn string(&self, literal: StringLit) -> Result<String, JsonError> {
        let range = literal.range;
        let written = self.text.get(range.start..range.end).unwrap_or_default();
        match written.bytes().position(|byte| byte < 0x20) {
            None => Ok(literal.value.into_owned()),
            Some(at) => Err(self.lines.error(range.start + at, JsonErrorKind::ControlCharacter)),
        }
    }

    fn number(&self, literal: &NumberLit) -> Result<Data, JsonError> {
        if let Ok(int) = literal.value.parse() {
            return Ok(Data::Int(int));
        }
        // The parser takes these words only where it is told to.
        if literal.value.ends_with(['y', 'N']) {
            return Ok(Data::Null);
        }
        match literal.value.parse::<f64>() {
            Ok(float) if float.is_finite() => Ok(Data::Float(float)),
            _ => Err(self.lines.error(literal.range.start, JsonErrorKind::NumberTooLarge)),
        }
    }
}
