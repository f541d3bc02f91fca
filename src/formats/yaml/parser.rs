//! Characters to nodes: documents, and where the reader is.

mod block;
mod flow;
mod properties;
mod text;

use std::collections::BTreeMap;

use super::{
    MAX_DEPTH, MAX_VALUES, Yaml, YamlError, YamlErrorKind, YamlNote, YamlNoteKind, scalar,
};
use crate::formats::node::Node;
use properties::Anchored;

/// Most remarks that are kept.
const MAX_NOTES: usize = 500;

pub(super) struct Parser {
    chars: Vec<char>,
    at: usize,
    line: u32,
    line_start: usize,
    depth: usize,
    values: usize,
    anchors: BTreeMap<String, Anchored>,
    notes: Vec<YamlNote>,
}

type Result<T> = core::result::Result<T, YamlError>;

pub(super) fn document(text: &str) -> Result<Yaml> {
    let mut parser = Parser::new(text, 1);
    parser.prologue()?;
    let root = parser.block(None)?;
    parser.skip_blank_lines()?;
    if parser.peek().is_some() {
        if !parser.at_document_marker() {
            return Err(parser.error(YamlErrorKind::Indentation));
        }
        parser.note_more_documents();
    }
    Ok(Yaml {
        root,
        notes: parser.notes,
    })
}

pub(super) fn value(text: &str, line: u32) -> Result<Node> {
    let mut parser = Parser::new(text, line);
    parser.skip_blank_lines()?;
    let start = (parser.at, parser.line);
    if matches!(parser.peek(), Some('[' | '{' | '"' | '\'')) {
        let node = parser.flow();
        parser.skip_blank_lines()?;
        if parser.peek().is_none() {
            return node;
        }
        // `[0]*3+[1]*58`
        node?;
        (parser.at, parser.line) = start;
    }
    let rest: String = parser.chars.iter().skip(parser.at).collect();
    Ok(Node {
        line: parser.line,
        data: scalar::resolve(rest.trim()).0,
    })
}

impl Parser {
    fn new(text: &str, line: u32) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            chars: text.chars().filter(|&c| c != '\r').collect(),
            at: 0,
            line,
            line_start: 0,
            depth: 0,
            values: 0,
            anchors: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    fn error(&self, kind: YamlErrorKind) -> YamlError {
        YamlError {
            line: self.line,
            kind,
        }
    }

    fn note(&mut self, line: u32, kind: YamlNoteKind) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(YamlNote { line, kind });
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at.checked_add(ahead)?).copied()
    }

    fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.line_start = self.at;
        }
        Some(c)
    }

    fn column(&self) -> usize {
        self.at - self.line_start
    }

    /// Whether the character `ahead` ends a token: blank, line end or text end.
    fn ends_at(&self, ahead: usize) -> bool {
        self.peek_at(ahead).is_none_or(char::is_whitespace)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) {
        let after_blank = self.at == self.line_start
            || self
                .chars
                .get(self.at - 1)
                .is_some_and(|c| c.is_whitespace());
        if self.peek() == Some('#') && after_blank {
            while self.peek().is_some_and(|c| c != '\n') {
                self.at += 1;
            }
        }
    }

    /// Moves to the next character that is neither blank nor part of a comment.
    fn skip_blank_lines(&mut self) -> Result<()> {
        loop {
            let fresh = self.at == self.line_start;
            let start = self.at;
            self.skip_blanks();
            let tabbed = fresh
                && self
                    .chars
                    .get(start..self.at)
                    .is_some_and(|s| s.contains(&'\t'));
            self.skip_comment();
            if self.peek() != Some('\n') {
                return if tabbed && self.peek().is_some() {
                    Err(self.error(YamlErrorKind::Tab))
                } else {
                    Ok(())
                };
            }
            self.advance();
        }
    }

    /// Whether nothing but blanks and a comment is left on the line.
    fn at_line_end(&mut self) -> bool {
        self.skip_blanks();
        self.skip_comment();
        self.peek().is_none_or(|c| c == '\n')
    }

    fn at_document_marker(&self) -> bool {
        let marker = |c: char| (0..3).all(|i| self.peek_at(i) == Some(c));
        self.column() == 0 && (marker('-') || marker('.')) && self.ends_at(3)
    }

    /// Directives and the first `---`.
    fn prologue(&mut self) -> Result<()> {
        loop {
            self.skip_blank_lines()?;
            if self.column() == 0 && self.peek() == Some('%') {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else {
                break;
            }
        }
        if self.at_document_marker() && self.peek() == Some('-') {
            self.at += 3;
        }
        Ok(())
    }

    fn note_more_documents(&mut self) {
        let line = self.line;
        self.at += 3;
        if self.skip_blank_lines().is_ok() && self.peek().is_some() {
            self.note(line, YamlNoteKind::MoreDocuments);
        }
    }

    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(YamlErrorKind::TooDeep));
        }
        Ok(())
    }

    fn count(&mut self, values: usize) -> Result<()> {
        self.values = self.values.saturating_add(values);
        if self.values > MAX_VALUES {
            return Err(self.error(YamlErrorKind::TooMany));
        }
        Ok(())
    }
}
