//! Percent-encoding: which characters a link shows as they are, and how the others are written and read.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode_byte, utf8_percent_encode};

/// What is escaped in a value: everything that Markdown, tables, shells, mail and chat programs give a meaning of
/// their own.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b',')
    .remove(b'@');

/// What is escaped in a name that stands in front of `.`, `:`, `,` or after `@`.
const NAME: &AsciiSet = &VALUE.add(b'.').add(b':').add(b',').add(b'@');

/// What is escaped in an item of a list, which `,` and `:` separate.
const ITEM: &AsciiSet = &VALUE.add(b':').add(b',');

/// Appends an item of a list, percent-encoded with the characters that separate it from what follows.
pub(super) fn encode_item(out: &mut String, text: &str) {
    out.extend(utf8_percent_encode(text, ITEM));
}

/// Appends `text`, percent-encoded.
pub(super) fn encode(out: &mut String, text: &str) {
    out.extend(utf8_percent_encode(text, VALUE));
}

/// Appends a name, percent-encoded with the characters that separate it from what follows.
pub(super) fn encode_name(out: &mut String, text: &str) {
    out.extend(utf8_percent_encode(text, NAME));
}

/// Makes the last character of a link's last token one that programs which look for links do not leave out.
pub(super) fn close(token: &mut String) {
    if let Some(last) = token.pop() {
        // Only unescaped characters end a link otherwise, and those are ASCII.
        match u8::try_from(last) {
            Ok(byte) if !byte.is_ascii_alphanumeric() => token.push_str(percent_encode_byte(byte)),
            _ => token.push(last),
        }
    }
}

/// Reads percent-encoded text. What is not a valid escape stays as it is.
#[must_use]
pub fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
