//! Results on their way to JavaScript, as JSON text: one crossing for the whole result, and the fastest reader that a
//! browser has at the other end.
//!
//! What JSON cannot say is said by a marked text and put right after reading: whole numbers beyond 2^53 - 1, which
//! become a `BigInt`, and floats that are not finite. Hardly any result has one.
//!
//! One writer, and no serializer: that would be generic code once for every type, several times as large and slower.

use core::fmt::{self, Write};
use core::str;

use wasm_bindgen::JsValue;

use crate::value::Value;

/// What a marked text starts with; the next character says what it stands for.
const MARK: char = '\0';

/// The largest whole number that JavaScript's numbers hold exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// What `write` writes, as JavaScript's own.
pub(super) fn written(write: impl FnOnce(&mut Writer)) -> Result<JsValue, JsValue> {
    let mut writer = Writer {
        out: Vec::with_capacity(1 << 16),
        marked: false,
    };
    write(&mut writer);
    writer.parsed()
}

/// Puts values in the place of marked texts.
fn restore(value: &JsValue) -> Result<JsValue, JsValue> {
    if value.is_object() {
        for key in js_sys::Reflect::own_keys(value)?.iter() {
            // The length of a list is a key as well, but cannot be anything else.
            let inner = js_sys::Reflect::get(value, &key)?;
            if inner.is_object() || inner.is_string() {
                js_sys::Reflect::set(value, &key, &restore(&inner)?)?;
            }
        }
        return Ok(value.clone());
    }
    let text = value.as_string().unwrap_or_default();
    let Some(marked) = text.strip_prefix(MARK) else {
        return Ok(value.clone());
    };
    let rest = marked.get(1..).unwrap_or_default();
    Ok(match marked.chars().next() {
        Some('n') => js_sys::BigInt::new(&JsValue::from_str(rest))?.into(),
        Some('+') => f64::INFINITY.into(),
        Some('-') => f64::NEG_INFINITY.into(),
        Some('t') => JsValue::from_str(rest),
        _ => f64::NAN.into(),
    })
}

/// Writes one value, which may have others inside. Every value has a comma behind it, until what it is inside of is
/// closed.
pub(super) struct Writer {
    /// ASCII but for texts, each of which is added as a whole.
    out: Vec<u8>,
    /// Whether anything is marked.
    marked: bool,
}

/// Inside of a text.
impl Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.escaped(text);
        Ok(())
    }
}

impl Writer {
    fn parsed(mut self) -> Result<JsValue, JsValue> {
        self.out.pop();
        let text = str::from_utf8(&self.out).unwrap_or_default();
        let parsed = js_sys::JSON::parse(text)?;
        if self.marked {
            restore(&parsed)
        } else {
            Ok(parsed)
        }
    }

    /// The key of the value that follows, plain letters.
    pub(super) fn key(&mut self, key: &'static str) -> &mut Self {
        self.out.push(b'"');
        self.push(key);
        self.push("\":");
        self
    }

    /// The same for a key that may have any letters.
    pub(super) fn any_key(&mut self, key: &str) -> &mut Self {
        self.quoted(key);
        self.out.pop();
        self.out.push(b':');
        self
    }

    /// An object of the keys and values that `inside` writes.
    pub(super) fn object(&mut self, inside: impl FnOnce(&mut Self)) {
        self.open(b'{');
        inside(self);
        self.close(b'}');
    }

    /// A list of the values that `inside` writes.
    pub(super) fn list(&mut self, inside: impl FnOnce(&mut Self)) {
        self.open(b'[');
        inside(self);
        self.close(b']');
    }

    pub(super) fn null(&mut self) {
        self.push("null,");
    }

    pub(super) fn bool(&mut self, b: bool) {
        self.push(if b { "true," } else { "false," });
    }

    pub(super) fn text(&mut self, text: &str) {
        if text.starts_with(MARK) {
            self.mark(b't', text);
        } else {
            self.quoted(text);
        }
    }

    /// A text that is made as it is written, and has no mark.
    pub(super) fn display(&mut self, text: &dyn fmt::Display) {
        self.out.push(b'"');
        // Writing to memory cannot fail.
        let _ = write!(self, "{text}");
        self.push("\",");
    }

    /// A whole number.
    pub(super) fn number(&mut self, number: u64) {
        if number > MAX_SAFE_INTEGER {
            self.mark(b'n', &number.to_string());
        } else {
            self.digits(number);
            self.out.push(b',');
        }
    }

    /// A place in a list.
    pub(super) fn index(&mut self, index: usize) {
        self.number(u64::try_from(index).unwrap_or(u64::MAX));
    }

    /// A whole number, where there is one.
    pub(super) fn number_or_null(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.number(number),
            None => self.null(),
        }
    }

    /// A text, where there is one.
    pub(super) fn text_or_null(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.null(),
        }
    }

    /// A whole number of either sign.
    pub(super) fn signed(&mut self, number: i128) {
        let magnitude = number.unsigned_abs();
        match u64::try_from(magnitude) {
            Ok(magnitude @ ..=MAX_SAFE_INTEGER) => {
                if number < 0 {
                    self.out.push(b'-');
                }
                self.number(magnitude);
            }
            _ => self.mark(b'n', &number.to_string()),
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        clippy::float_arithmetic,
        reason = "exact: the whole part and the rest of a float of at least 1 are floats themselves"
    )]
    pub(super) fn float(&mut self, x: f64) {
        /// Bits of a fraction below the point: a float of at least 1 has no smaller ones.
        const BITS: u32 = 52;
        if x == 0.0 && x.is_sign_positive() {
            self.number(0);
        } else if x >= 1.0 && x <= MAX_SAFE_INTEGER as f64 {
            let whole = x as u64;
            self.digits(whole);
            let mut rest = ((x - whole as f64) * (1_u64 << BITS) as f64) as u64;
            if rest > 0 {
                self.out.push(b'.');
            }
            // Every digit there is: amounts of memory are whole multiples of a small power of two.
            while rest > 0 {
                rest *= 10;
                self.chunk(u32::try_from(rest >> BITS).unwrap_or_default(), 1);
                rest &= (1 << BITS) - 1;
            }
            self.out.push(b',');
        } else if x.is_finite() {
            self.push(&format!("{x:?}"));
            self.out.push(b',');
        } else {
            let kind = match x {
                f64::INFINITY => b'+',
                f64::NEG_INFINITY => b'-',
                _ => b'?',
            };
            self.mark(kind, "");
        }
    }

    /// Plain data as it is; a negative whole number as text.
    pub(super) fn plain(&mut self, value: &Value) {
        match value {
            Value::Null => self.null(),
            Value::Bool(b) => self.bool(*b),
            Value::Int(i) => match u64::try_from(*i) {
                Ok(i) => self.number(i),
                Err(_) => self.text(&i.to_string()),
            },
            Value::Float(x) => self.float(*x),
            Value::Text(text) => self.text(text),
            Value::List(items) => self.list(|w| items.iter().for_each(|item| w.plain(item))),
            Value::Map(entries) => self.object(|w| {
                for (key, value) in entries {
                    w.any_key(key).plain(value);
                }
            }),
        }
    }

    fn open(&mut self, start: u8) {
        self.out.push(start);
    }

    /// Puts what ends a list or an object in the place of the last comma.
    fn close(&mut self, end: u8) {
        if self.out.ends_with(b",") {
            self.out.pop();
        }
        self.out.extend_from_slice(&[end, b',']);
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn quoted(&mut self, text: &str) {
        self.out.push(b'"');
        self.escaped(text);
        self.push("\",");
    }

    fn mark(&mut self, kind: u8, text: &str) {
        self.marked = true;
        self.push("\"\\u0000");
        self.out.push(kind);
        self.escaped(text);
        self.push("\",");
    }

    fn escaped(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        let special = |b: &u8| matches!(b, ..b' ' | b'"' | b'\\');
        while let Some(at) = rest.iter().position(special) {
            let Some((plain, [byte, after @ ..])) = rest.split_at_checked(at) else {
                break;
            };
            self.out.extend_from_slice(plain);
            if *byte < b' ' {
                let [tens, ones] = [byte / 16, byte % 16].map(|digit| match digit {
                    0..10 => b'0' + digit,
                    _ => b'a' + digit - 10,
                });
                self.push("\\u00");
                self.out.extend_from_slice(&[tens, ones]);
            } else {
                self.out.extend_from_slice(&[b'\\', *byte]);
            }
            rest = after;
        }
        self.out.extend_from_slice(rest);
    }

    fn digits(&mut self, number: u64) {
        /// What the digits are worked out in: division of 64 bits is slow.
        const CHUNK: u64 = 1_000_000_000;
        let above = if number < CHUNK { 0 } else { number / CHUNK };
        let chunk = u32::try_from(number - CHUNK * above).unwrap_or_default();
        if above > 0 {
            self.digits(above);
            self.chunk(chunk, 9);
        } else {
            self.chunk(chunk, 1);
        }
    }

    /// A number of nine digits at most, with zeros before it where it has fewer than `least`.
    fn chunk(&mut self, number: u32, least: usize) {
        let used = number.checked_ilog10().map_or(1, |log| log as usize + 1);
        let used = used.max(least);
        let mut digits = [b'0'; 9];
        let mut rest = number;
        for digit in digits.iter_mut().take(used).rev() {
            *digit += u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
        }
        // A copy of a size that the compiler knows is a few instructions, any other a call.
        let end = self.out.len() + used;
        self.out.extend_from_slice(&digits);
        self.out.truncate(end);
    }
}
