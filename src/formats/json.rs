//! JSON text to plain data, with the line of every key.
//!
//! Strict JSON (RFC 8259), except that a byte order mark in front is skipped. The work is linear in the
//! size of the text, and size, depth and number of values are bounded.

mod error;

pub use error::{JsonError, JsonErrorKind};

use super::node::{Data, Entry, Node};

/// Longest text that [`parse`] looks at, in bytes.
pub const MAX_BYTES: usize = 5_000_000;
/// How many lists and maps may be open at once.
pub const MAX_DEPTH: usize = 64;
/// How many values one text may hold; it bounds the memory that a parsed text takes.
pub const MAX_VALUES: usize = 200_000;

/// Bare words of Python and JavaScript that people paste, and their JSON spelling.
const FOREIGN_WORDS: &[(&str, &str)] = &[
    ("NaN", "it has no spelling there, use null"),
    ("Infinity", "it has no spelling there, use null"),
    ("-Infinity", "it has no spelling there, use null"),
    ("None", "write null"),
    ("True", "write true"),
    ("False", "write false"),
    ("undefined", "write null"),
];

/// Reads one JSON value that fills the whole text.
///
/// Whole numbers that fit 128 bits stay whole; all other numbers become floats. A key that occurs twice in
/// a map is kept twice, and the last one counts.
///
/// # Errors
///
/// The first thing that is not JSON, or the limit that the text exceeds.
pub fn parse(text: &str) -> Result<Node, JsonError> {
    if text.len() > MAX_BYTES {
        let kind = JsonErrorKind::TooLong { bytes: text.len() };
        return Err(JsonError {
            line: 1,
            column: 1,
            kind,
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser {
        text,
        at: 0,
        line: 1,
        line_start: 0,
        depth: 0,
        values: 0,
    };
    parser.skip_blanks();
    let node = parser.value("a value")?;
    parser.skip_blanks();
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.unexpected("the end of the text")),
    }
}

struct Parser<'t> {
    text: &'t str,
    /// Byte offset of the next character.
    at: usize,
    line: u32,
    /// Byte offset of the first character of the line.
    line_start: usize,
    depth: usize,
    values: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.line += 1;
                    self.line_start = self.at;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                _ => return,
            }
        }
    }

    fn error(&self, kind: JsonErrorKind) -> JsonError {
        let before = self.text.get(self.line_start..self.at).unwrap_or_default();
        let column = u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX);
        JsonError {
            line: self.line,
            column,
            kind,
        }
    }

    /// The error for whatever stands here instead of `expected`.
    fn unexpected(&self, expected: &'static str) -> JsonError {
        let rest = self.rest();
        let kind = if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
            JsonErrorKind::Comment
        } else if let Some(&(word, instead)) = FOREIGN_WORDS
            .iter()
            .find(|(word, _)| rest.starts_with(word))
        {
            JsonErrorKind::ForeignWord { word, instead }
        } else {
            JsonErrorKind::Unexpected {
                found: rest.chars().next(),
                expected,
            }
        };
        self.error(kind)
    }

    fn value(&mut self, expected: &'static str) -> Result<Node, JsonError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.error(JsonErrorKind::TooManyValues));
        }
        let line = self.line;
        let data = match self.peek() {
            Some(b'{') => self.nested(Self::map)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'"') => Data::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word(expected)?,
        };
        Ok(Node { line, data })
    }

    fn word(&mut self, expected: &'static str) -> Result<Data, JsonError> {
        let rest = self.rest();
        let words = [
            ("null", Data::Null),
            ("true", Data::Bool(true)),
            ("false", Data::Bool(false)),
        ];
        for (word, data) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(data);
            }
        }
        Err(self.unexpected(expected))
    }

    /// Runs `read` one level deeper; the opening bracket is skipped here.
    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Data, JsonError>,
    ) -> Result<Data, JsonError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(JsonErrorKind::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        let data = read(self);
        self.depth -= 1;
        data
    }

    fn list(&mut self) -> Result<Data, JsonError> {
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(Data::List(items));
        }
        loop {
            items.push(self.value("a value or `]`")?);
            self.skip_blanks();
            if self.eat(b']') {
                return Ok(Data::List(items));
            }
            self.comma(b']', "`,` or `]`")?;
        }
    }

    fn map(&mut self) -> Result<Data, JsonError> {
        let mut entries = Vec::new();
        if self.eat(b'}') {
            return Ok(Data::Map(entries));
        }
        loop {
            let line = self.line;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key = self.string()?;
            self.skip_blanks();
            if !self.eat(b':') {
                return Err(self.unexpected("`:` after the key"));
            }
            self.skip_blanks();
            let node = self.value("a value")?;
            entries.push(Entry { key, line, node });
            self.skip_blanks();
            if self.eat(b'}') {
                return Ok(Data::Map(entries));
            }
            self.comma(b'}', "`,` or `}`")?;
        }
    }

    fn comma(&mut self, closing: u8, expected: &'static str) -> Result<(), JsonError> {
        if !self.eat(b',') {
            return Err(self.unexpected(expected));
        }
        self.skip_blanks();
        if self.peek() == Some(closing) {
            return Err(self.error(JsonErrorKind::TrailingComma));
        }
        Ok(())
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    /// A string whose opening quote is the next character.
    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest
                .bytes()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))
                .unwrap_or(rest.len());
            text.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.error(JsonErrorKind::ControlCharacter)),
                None => return Err(self.unexpected("the closing quote of a string")),
            }
        }
    }

    /// The character that the escape sequence at the next backslash stands for.
    fn escape(&mut self) -> Result<char, JsonError> {
        let c = match self.text.as_bytes().get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.error(JsonErrorKind::BadEscape)),
        };
        self.at += 2;
        Ok(c)
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let Some(first) = self.hex_escape(self.at) else {
            return Err(self.error(JsonErrorKind::BadEscape));
        };
        if let Some(c) = char::from_u32(first) {
            self.at += 6;
            return Ok(c);
        }
        let second = self.hex_escape(self.at + 6).unwrap_or_default();
        if (0xd800..0xdc00).contains(&first)
            && (0xdc00..0xe000).contains(&second)
            && let Some(c) = char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
        {
            self.at += 12;
            return Ok(c);
        }
        Err(self.error(JsonErrorKind::LoneSurrogate))
    }

    /// The code of a `\uXXXX` at a byte offset.
    fn hex_escape(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
        // `from_str_radix` alone would accept a sign.
        digits
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(digits, 16).ok())
            .flatten()
    }

    fn number(&mut self) -> Result<Data, JsonError> {
        let start = self.at;
        let minus = self.eat(b'-');
        if minus && self.rest().starts_with("Infinity") {
            self.at = start;
            return Err(self.unexpected("a number"));
        }
        let leading_zero = self.peek() == Some(b'0');
        let digits = self.digits("a digit")?;
        if leading_zero && digits > 1 {
            self.at -= digits - 1;
            return Err(self.unexpected("no digit after a leading zero"));
        }
        let mut whole = true;
        if self.eat(b'.') {
            whole = false;
            self.digits("a digit after the decimal point")?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            whole = false;
            let _signed = self.eat(b'+') || self.eat(b'-');
            self.digits("a digit of the exponent")?;
        }
        let literal = self.text.get(start..self.at).unwrap_or_default();
        if whole && let Ok(int) = literal.parse() {
            return Ok(Data::Int(int));
        }
        match literal.parse::<f64>() {
            Ok(float) if float.is_finite() => Ok(Data::Float(float)),
            _ => {
                self.at = start;
                Err(self.error(JsonErrorKind::NumberTooLarge))
            }
        }
    }

    /// Skips digits and says how many; at least one must be there.
    fn digits(&mut self, expected: &'static str) -> Result<usize, JsonError> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        if count == 0 {
            Err(self.unexpected(expected))
        } else {
            Ok(count)
        }
    }
}
