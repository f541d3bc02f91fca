//! Results on their way to JavaScript, as JSON text: one crossing for the whole result, and the fastest reader that a
//! browser has at the other end.
//!
//! What JSON cannot say is said by a marked text and put right after reading: whole numbers beyond 2^53 - 1, which
//! become a `BigInt`, and floats that are not finite. Hardly any result has one.
//!
//! One writer, and no serializer: that would be generic code once for every type, several times as large and slower.

use core::str;

use wasm_bindgen::JsValue;

use crate::decimal::general;
use crate::value::Value;

/// What a marked text starts with; the next character says what it stands for.
const MARK: char = '\0';

/// The largest whole number that JavaScript's numbers hold exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// What `write` writes, as JavaScript's own.
pub(super) fn written(write: impl FnOnce(&mut Writer)) -> Result<JsValue, JsValue> {
    let mut writer = Writer {
        out: String::with_capacity(1 << 16),
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
    out: String,
    /// Whether anything is marked.
    marked: bool,
}

impl Writer {
    fn parsed(mut self) -> Result<JsValue, JsValue> {
        self.out.pop();
        let parsed = js_sys::JSON::parse(&self.out)?;
        if self.marked {
            restore(&parsed)
        } else {
            Ok(parsed)
        }
    }

    /// The key of the value that follows, plain letters.
    #[inline(never)]
    pub(super) fn key(&mut self, key: &'static str) -> &mut Self {
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
        self
    }

    /// The same for a key that may have any letters.
    pub(super) fn any_key(&mut self, key: &str) -> &mut Self {
        self.quoted(key);
        self.close(":");
        self
    }

    /// An object of the keys and values that `inside` writes.
    pub(super) fn object(&mut self, inside: impl FnOnce(&mut Self)) {
        self.open("{");
        inside(self);
        self.close("},");
    }

    /// A list of the values that `inside` writes.
    pub(super) fn list(&mut self, inside: impl FnOnce(&mut Self)) {
        self.open("[");
        inside(self);
        self.close("],");
    }

    pub(super) fn null(&mut self) {
        self.open("null,");
    }

    pub(super) fn bool(&mut self, b: bool) {
        self.open(if b { "true," } else { "false," });
    }

    #[inline(never)]
    pub(super) fn text(&mut self, text: &str) {
        if text.starts_with(MARK) {
            self.mark('t', text);
        } else {
            self.quoted(text);
        }
    }

    /// A whole number.
    #[inline(never)]
    pub(super) fn number(&mut self, number: u64) {
        if number > MAX_SAFE_INTEGER {
            self.mark('n', &number.to_string());
        } else {
            self.digits(number);
            self.out.push(',');
        }
    }

    /// A place in a list.
    pub(super) fn index(&mut self, index: usize) {
        self.number(u64::try_from(index).unwrap_or(u64::MAX));
    }

    /// A whole number, where there is one.
    #[inline(never)]
    pub(super) fn number_or_null(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.number(number),
            None => self.null(),
        }
    }

    /// A text, where there is one.
    #[inline(never)]
    pub(super) fn text_or_null(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.null(),
        }
    }

    /// A whole number of either sign.
    #[inline(never)]
    pub(super) fn signed(&mut self, number: i128) {
        let magnitude = number.unsigned_abs();
        match u64::try_from(magnitude) {
            Ok(magnitude @ ..=MAX_SAFE_INTEGER) => {
                if number < 0 {
                    self.out.push('-');
                }
                self.number(magnitude);
            }
            _ => self.mark('n', &number.to_string()),
        }
    }

    #[inline(never)]
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
                self.out.push('.');
            }
            // Every digit there is: amounts of memory are whole multiples of a small power of two.
            while rest > 0 {
                rest *= 10;
                self.digits(rest >> BITS);
                rest &= (1 << BITS) - 1;
            }
            self.out.push(',');
        } else if x.is_finite() {
            self.out += &general(x);
            self.out.push(',');
        } else {
            let kind = match x {
                f64::INFINITY => '+',
                f64::NEG_INFINITY => '-',
                _ => '?',
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

    #[inline(never)]
    fn open(&mut self, start: &str) {
        self.out.push_str(start);
    }

    /// Puts what ends a list, an object or a key in the place of the last comma.
    #[inline(never)]
    fn close(&mut self, end: &str) {
        if self.out.ends_with(',') {
            self.out.pop();
        }
        self.out.push_str(end);
    }

    #[inline(never)]
    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        self.escaped(text);
        self.out.push_str("\",");
    }

    fn mark(&mut self, kind: char, text: &str) {
        self.marked = true;
        self.out.push_str("\"\\u0000");
        self.out.push(kind);
        self.escaped(text);
        self.out.push_str("\",");
    }

    fn escaped(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest
            .bytes()
            .position(|b| b < b' ' || b == b'"' || b == b'\\')
        {
            let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, ""));
            self.out.push_str(plain);
            let mut chars = special.chars();
            let c = chars.next().unwrap_or_default();
            rest = chars.as_str();
            if c < ' ' {
                let code = u32::from(c);
                self.out.push_str("\\u00");
                for digit in [code / 16, code % 16] {
                    self.out
                        .push(char::from_digit(digit, 16).unwrap_or_default());
                }
            } else {
                self.out.push('\\');
                self.out.push(c);
            }
        }
        self.out.push_str(rest);
    }

    fn digits(&mut self, number: u64) {
        /// What the digits are worked out in: division of 64 bits is slow.
        const CHUNK: u64 = 1_000_000_000;
        let mut digits = [b'0'; 27];
        let mut used = 1;
        let mut rest = number;
        for (place, chunk) in digits.rchunks_exact_mut(9).enumerate() {
            let mut part = u32::try_from(rest % CHUNK).unwrap_or_default();
            rest /= CHUNK;
            for (index, digit) in chunk.iter_mut().rev().enumerate() {
                if part == 0 {
                    break;
                }
                *digit = b'0' + u8::try_from(part % 10).unwrap_or_default();
                part /= 10;
                used = 9 * place + index + 1;
            }
            if rest == 0 {
                break;
            }
        }
        let digits = digits.get(digits.len() - used..).unwrap_or_default();
        self.out
            .push_str(str::from_utf8(digits).unwrap_or_default());
    }
}
