//! Single lines of a log.

use std::borrow::Cow;

/// Characters of an argument's name and the dots behind it. Names that are as long have no dots.
const WIDTH: usize = 48;

/// The argument on a line: its name and value. `None` for a line that is none.
pub(super) fn argument(line: &str) -> Option<(&str, Cow<'_, str>)> {
    // Most lines of a log have no dots in a row.
    let at = line.find(" ..").map_or_else(|| long_name(line), Some)?;
    let name = word_before(line.get(..at)?);
    let rest = line.get(at + 1..)?;
    let value = rest.trim_start_matches('.');
    let dots = rest.len() - value.len();
    let is_argument = !name.is_empty()
        && (name.len() + dots == WIDTH || (dots == 0 && name.len() >= WIDTH))
        && (value.is_empty() || value.starts_with(' '));
    is_argument.then(|| (name, without_colors(value.trim())))
}

/// Where the name of 47 or more characters ends that a line starts with: there is at most one dot behind it.
fn long_name(line: &str) -> Option<usize> {
    let start = line.len() - line.trim_start().len();
    let name = line.get(start..)?.split(' ').next()?;
    (name.len() >= WIDTH - 1 && name.bytes().all(is_of_name)).then_some(start + name.len())
}

const fn is_of_name(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// The name that a text ends with.
fn word_before(text: &str) -> &str {
    let length = text.bytes().rev().take_while(|byte| is_of_name(*byte)).count();
    text.get(text.len() - length..).unwrap_or_default()
}

/// A text without the escape sequences that color it on a terminal.
pub(super) fn without_colors(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let sequence = part.strip_prefix('[').unwrap_or(part);
        let end = sequence.find(|c: char| c.is_ascii_alphabetic());
        let after = end.and_then(|end| sequence.get(end + 1..));
        plain.push_str(after.unwrap_or_default());
    }
    Cow::Owned(plain.trim().to_owned())
}

/// The text of a line behind a mark.
pub(super) fn after<'l>(line: &'l str, mark: &str) -> Option<&'l str> {
    line.split_once(mark).map(|(_, rest)| rest)
}

/// The whole number that a text starts with, after blanks.
pub(super) fn whole(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(..digits)?.parse().ok()
}

/// The vocabulary before and after padding: ` > padded vocab (size: 50257) with 431 dummy tokens (new size: 50688)`.
pub(super) fn padded_vocabulary(line: &str) -> Option<(u64, u64)> {
    let rest = after(line, "> padded vocab (size: ")?;
    Some((whole(rest)?, whole(after(rest, "(new size: ")?)?))
}
