//! Byte offsets to lines and columns.

use super::{JsonError, JsonErrorKind};

/// Where the lines of a text begin.
pub(super) struct Lines<'t> {
    text: &'t str,
    /// Byte offset of the first character of every line.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = core::iter::once(0).chain(ends.map(|(at, _)| at + 1));
        Self {
            text,
            starts: starts.collect(),
        }
    }

    /// The line of a byte offset, counted from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        count(self.starts.partition_point(|&start| start <= at))
    }

    /// An error at a byte offset.
    pub(super) fn error(&self, at: usize, kind: JsonErrorKind) -> JsonError {
        let line = self.starts.partition_point(|&start| start <= at);
        let start = self.starts.get(line.saturating_sub(1));
        let before = start.and_then(|&start| self.text.get(start..at));
        JsonError {
            line: count(line),
            column: count(before.unwrap_or_default().chars().count() + 1),
            kind,
        }
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
