//! Results on their way to JavaScript, as JSON text: one crossing for the whole result, and the fastest reader that a
//! browser has at the other end.
//!
//! What JSON cannot say is said by a marked text and put right after reading: whole numbers beyond 2^53 - 1, which
//! become a `BigInt`, and floats that are not finite. Hardly any result has one.

use core::fmt::{self, Display};

use serde::ser::{self, Serialize, Serializer};
use wasm_bindgen::JsValue;

use crate::decimal::general;

/// What a marked text starts with; the next character says what it stands for.
const MARK: char = '\0';

/// The value as JavaScript's own.
pub(super) fn write(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let mut text = Text::default();
    // The only error is a kind of value that no result has.
    let _ = value.serialize(&mut text);
    let parsed = js_sys::JSON::parse(&text.out)?;
    if text.marked {
        restore(&parsed)
    } else {
        Ok(parsed)
    }
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

#[derive(Default)]
struct Text {
    out: String,
    /// Whether anything is marked.
    marked: bool,
}

impl Text {
    /// What stands between two entries of a list or an object.
    fn separate(&mut self) {
        if !self.out.ends_with(['[', '{']) {
            self.out.push(',');
        }
    }

    #[inline(never)]
    fn key(&mut self, key: &str) {
        self.separate();
        self.quoted(key);
        self.out.push(':');
    }

    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        self.escaped(text);
        self.out.push('"');
    }

    fn escaped(&mut self, text: &str) {
        if !text.bytes().any(|b| b < b' ' || b == b'"' || b == b'\\') {
            self.out.push_str(text);
            return;
        }
        for c in text.chars() {
            if c == '"' || c == '\\' {
                self.out.push('\\');
            }
            if c < ' ' {
                let code = u32::from(c);
                self.out.push_str("\\u00");
                for digit in [code / 16, code % 16] {
                    self.out
                        .push(char::from_digit(digit, 16).unwrap_or_default());
                }
            } else {
                self.out.push(c);
            }
        }
    }

    #[inline(never)]
    fn text(&mut self, text: &str) {
        if text.starts_with(MARK) {
            self.mark('t', text);
        } else {
            self.quoted(text);
        }
    }

    #[inline(never)]
    fn mark(&mut self, kind: char, text: &str) {
        self.marked = true;
        self.out.push_str("\"\\u0000");
        self.out.push(kind);
        self.escaped(text);
        self.out.push('"');
    }

    fn big(&mut self, number: &dyn Display) {
        self.mark('n', &number.to_string());
    }

    #[inline(never)]
    fn whole(&mut self, mut number: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
            at -= 1;
            if number == 0 {
                break;
            }
        }
        let digits = digits.get(at..).unwrap_or_default();
        self.out
            .extend(digits.iter().map(|digit| char::from(*digit)));
    }

    #[inline(never)]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        clippy::float_cmp,
        reason = "a float is only written as a whole number where it is one"
    )]
    fn float(&mut self, x: f64) {
        let whole = x as u64;
        if whole as f64 == x && whole < 1 << 53 && x.is_sign_positive() {
            self.whole(whole);
        } else if x.is_finite() {
            self.out += &general(x);
        } else {
            let kind = match x {
                f64::INFINITY => '+',
                f64::NEG_INFINITY => '-',
                _ => '?',
            };
            self.mark(kind, "");
        }
    }
}

/// A kind of value that no result has.
#[derive(Debug)]
struct Unknown;

impl Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not plain data")
    }
}

impl core::error::Error for Unknown {}

impl ser::Error for Unknown {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

/// A list or an object that is open.
struct Open<'a> {
    text: &'a mut Text,
    end: char,
}

impl<'a> Open<'a> {
    fn new(text: &'a mut Text, start: char, end: char) -> Self {
        text.out.push(start);
        Self { text, end }
    }

    fn close(self) {
        self.text.out.push(self.end);
    }
}

impl<'a> Serializer for &'a mut Text {
    type Ok = ();
    type Error = Unknown;
    type SerializeSeq = Open<'a>;
    type SerializeTuple = Open<'a>;
    type SerializeTupleStruct = ser::Impossible<(), Unknown>;
    type SerializeTupleVariant = ser::Impossible<(), Unknown>;
    type SerializeMap = Open<'a>;
    type SerializeStruct = Open<'a>;
    type SerializeStructVariant = ser::Impossible<(), Unknown>;

    fn serialize_bool(self, b: bool) -> Result<(), Unknown> {
        self.out.push_str(if b { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, n: i8) -> Result<(), Unknown> {
        self.serialize_f64(n.into())
    }

    fn serialize_i16(self, n: i16) -> Result<(), Unknown> {
        self.serialize_f64(n.into())
    }

    fn serialize_i32(self, n: i32) -> Result<(), Unknown> {
        self.serialize_f64(n.into())
    }

    fn serialize_i64(self, n: i64) -> Result<(), Unknown> {
        self.big(&n);
        Ok(())
    }

    fn serialize_i128(self, n: i128) -> Result<(), Unknown> {
        self.big(&n);
        Ok(())
    }

    fn serialize_u8(self, n: u8) -> Result<(), Unknown> {
        self.whole(n.into());
        Ok(())
    }

    fn serialize_u16(self, n: u16) -> Result<(), Unknown> {
        self.whole(n.into());
        Ok(())
    }

    fn serialize_u32(self, n: u32) -> Result<(), Unknown> {
        self.whole(n.into());
        Ok(())
    }

    fn serialize_u64(self, n: u64) -> Result<(), Unknown> {
        self.big(&n);
        Ok(())
    }

    fn serialize_u128(self, n: u128) -> Result<(), Unknown> {
        self.big(&n);
        Ok(())
    }

    fn serialize_f32(self, x: f32) -> Result<(), Unknown> {
        self.serialize_f64(x.into())
    }

    fn serialize_f64(self, x: f64) -> Result<(), Unknown> {
        self.float(x);
        Ok(())
    }

    fn serialize_char(self, c: char) -> Result<(), Unknown> {
        self.serialize_str(c.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Unknown> {
        self.text(text);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Unknown> {
        Err(Unknown)
    }

    fn serialize_none(self) -> Result<(), Unknown> {
        self.serialize_unit()
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Unknown> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unknown> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Unknown> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Unknown> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unknown> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unknown> {
        Err(Unknown)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'a>, Unknown> {
        Ok(Open::new(self, '[', ']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Open<'a>, Unknown> {
        Ok(Open::new(self, '[', ']'))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Unknown> {
        Err(Unknown)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unknown> {
        Err(Unknown)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'a>, Unknown> {
        Ok(Open::new(self, '{', '}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'a>, Unknown> {
        Ok(Open::new(self, '{', '}'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unknown> {
        Err(Unknown)
    }
}

impl ser::SerializeSeq for Open<'_> {
    type Ok = ();
    type Error = Unknown;

    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unknown> {
        self.text.separate();
        value.serialize(&mut *self.text)
    }

    fn end(self) -> Result<(), Unknown> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTuple for Open<'_> {
    type Ok = ();
    type Error = Unknown;

    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unknown> {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<(), Unknown> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeMap for Open<'_> {
    type Ok = ();
    type Error = Unknown;

    /// The keys of every result are texts.
    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Unknown> {
        self.text.separate();
        key.serialize(&mut *self.text)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unknown> {
        self.text.out.push(':');
        value.serialize(&mut *self.text)
    }

    fn end(self) -> Result<(), Unknown> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStruct for Open<'_> {
    type Ok = ();
    type Error = Unknown;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Unknown> {
        self.text.key(key);
        value.serialize(&mut *self.text)
    }

    fn end(self) -> Result<(), Unknown> {
        self.close();
        Ok(())
    }
}
