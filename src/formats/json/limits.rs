//! Bounds on what one text may hold, checked before it is parsed.

use super::JsonErrorKind;

/// Longest text that is parsed, in bytes.
pub const MAX_BYTES: usize = 5_000_000;
/// How many lists and maps may be open at once.
pub const MAX_DEPTH: usize = 64;
/// How many values one text may hold; it bounds the memory that a parsed text takes.
pub const MAX_VALUES: usize = 200_000;

/// Whether a text stays within the limits; if not, the byte offset where it exceeds one, and which.
///
/// Brackets and commas outside strings are counted: in JSON a value is the first one, follows a comma, or is the
/// first in a list or map. Empty lists and maps are counted as if they held a value.
pub(super) fn check(text: &str) -> Result<(), (usize, JsonErrorKind)> {
    if text.len() > MAX_BYTES {
        return Err((0, JsonErrorKind::TooLong { bytes: text.len() }));
    }
    let mut depth = 0_usize;
    let mut values = 1_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                values += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err((at, JsonErrorKind::TooDeep));
        }
        if values > MAX_VALUES {
            return Err((at, JsonErrorKind::TooManyValues));
        }
    }
    Ok(())
}
