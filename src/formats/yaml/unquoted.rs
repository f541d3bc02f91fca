//! `moe_layer_freq: [0]*3+[1]*58` without quotes, which is common and which no YAML parser takes.
//!
//! A value that starts with a list or a map and goes on behind its closing bracket is text that lacks its quotes. It
//! can only be told from other text where parsing fails, since the same characters are fine in a block of text: so
//! the line of the error gets the quotes, and the text is parsed again.

use std::borrow::Cow;

use super::{Yaml, YamlError, YamlNote, YamlNoteKind};

/// How many values of one text get quotes; every one costs one more pass over the text.
const MAX_UNQUOTED: usize = 8;

/// Reads a text with `read`, with quotes around the values that lack them.
pub(super) fn read(text: &str, read: impl Fn(&str) -> Result<Yaml, YamlError>) -> Result<Yaml, YamlError> {
    let mut text = Cow::Borrowed(text);
    let mut quoted = Vec::new();
    loop {
        let error = match read(&text) {
            Ok(mut yaml) => {
                yaml.notes.append(&mut quoted);
                return Ok(yaml);
            }
            Err(error) => error,
        };
        let Some((start, value)) = unquoted_value(&text, error.line) else {
            return Err(error);
        };
        if quoted.len() == MAX_UNQUOTED {
            return Err(error);
        }
        quoted.push(YamlNote {
            line: error.line,
            kind: YamlNoteKind::Unquoted(value.to_owned()),
        });
        let before = text.get(..start).unwrap_or_default();
        let after = text.get(start + value.len()..).unwrap_or_default();
        text = Cow::Owned(format!("{before}'{}'{after}", value.replace('\'', "''")));
    }
}

/// The value on a line of block style, where it starts with a list or a map and goes on behind its closing bracket;
/// and the byte offset of the value.
fn unquoted_value(text: &str, line: u32) -> Option<(usize, &str)> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let mut lines = text.split_inclusive('\n');
    let line_start: usize = lines.by_ref().take(index).map(str::len).sum();
    let line = lines.next()?;
    let (before, value) = line.split_at_checked(line.find(['[', '{'])?)?;
    let indicator = before.trim_end();
    if indicator == before || !indicator.ends_with([':', '-']) {
        return None;
    }
    let comment = value.find(" #").unwrap_or(value.len());
    let value = value.get(..comment)?.trim_end();
    let goes_on = closing_bracket(value)? + 1 < value.len();
    goes_on.then_some((line_start + before.len(), value))
}

/// Where the bracket that opens a value is closed; brackets in quotes do not count.
fn closing_bracket(value: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, c) in value.char_indices() {
        match (quote, c) {
            (Some(open), _) => quote = (c != open).then_some(open),
            (None, '\'' | '"') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
