//! Percent-coding: which characters a link shows as they are, and how the others come and go.

/// Whether a character may stand unescaped in a value. Everything that Markdown, tables, shells, mail and chat
/// programs give a meaning of their own is escaped.
fn plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:,@".contains(&byte)
}

/// Appends `text`, percent-encoded.
pub(super) fn encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            escape(out, byte);
        }
    }
}

/// Appends a name that stands in front of `.`, `:`, `,` or after `@`, percent-encoded with those.
pub(super) fn encode_name(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if plain(byte) && !b".:,@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            escape(out, byte);
        }
    }
}

/// Makes the last character of a link one that programs which look for links do not leave out.
pub(super) fn close(link: &mut String) {
    if let Some(last) = link.pop() {
        // Only unescaped characters end a link otherwise, and those are ASCII.
        match u8::try_from(last) {
            Ok(byte) if !byte.is_ascii_alphanumeric() => escape(link, byte),
            _ => link.push(last),
        }
    }
}

fn escape(out: &mut String, byte: u8) {
    out.push('%');
    for digit in [byte >> 4, byte & 15] {
        out.extend(char::from_digit(digit.into(), 16).map(|c| c.to_ascii_uppercase()));
    }
}

/// Reads percent-encoded text. What is not a valid escape stays as it is.
#[must_use]
pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |offset: usize| {
            let c = char::from(*bytes.get(at + offset)?);
            c.to_digit(16).and_then(|d| u8::try_from(d).ok())
        };
        let escape = if byte == b'%' {
            digit(1).zip(digit(2))
        } else {
            None
        };
        let (byte, length) = match escape {
            Some((high, low)) => (high << 4 | low, 3),
            None => (byte, 1),
        };
        out.push(byte);
        at += length;
    }
    String::from_utf8_lossy(&out).into_owned()
}
