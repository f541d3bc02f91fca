//! Keys and scalars: plain, quoted, and blocks after `|` and `>`.

use super::{Parser, Result};
use crate::formats::node::{Data, Node};
use crate::formats::yaml::{YamlErrorKind, YamlNoteKind, scalar};

impl Parser {
    /// Whether a key with its colon starts here; looks no further than the line.
    pub(super) fn at_key(&self) -> bool {
        let mut ahead = 0;
        match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                ahead = 1;
                loop {
                    match self.peek_at(ahead) {
                        None | Some('\n') => return false,
                        Some('\\') if quote == '"' => ahead += 1,
                        Some('\'') if quote == '\'' && self.peek_at(ahead + 1) == Some('\'') => {
                            ahead += 1;
                        }
                        Some(c) if c == quote => break,
                        Some(_) => {}
                    }
                    ahead += 1;
                }
                ahead += 1;
                while matches!(self.peek_at(ahead), Some(' ' | '\t')) {
                    ahead += 1;
                }
                self.peek_at(ahead) == Some(':') && self.ends_at(ahead + 1)
            }
            None | Some('[' | '{' | '|' | '>' | '#') => false,
            Some(_) => loop {
                match self.peek_at(ahead) {
                    None | Some('\n') => return false,
                    Some(':') if self.ends_at(ahead + 1) => return true,
                    Some(' ' | '\t') if self.peek_at(ahead + 1) == Some('#') => return false,
                    Some(_) => ahead += 1,
                }
            },
        }
    }

    /// A key up to its colon, and whether it is unquoted.
    pub(super) fn key(&mut self) -> Result<(String, bool)> {
        if matches!(self.peek(), Some('"' | '\'')) {
            let key = self.quoted()?;
            self.skip_blanks();
            return Ok((key, false));
        }
        let mut key = String::new();
        loop {
            match self.peek() {
                Some(':') if self.ends_at(1) => break,
                Some(c) if c != '\n' => {
                    key.push(c);
                    self.at += 1;
                }
                _ => return Err(self.error(YamlErrorKind::Expected("a colon"))),
            }
        }
        Ok((key.trim_end().to_owned(), true))
    }

    /// A value that is neither a block list nor a block map.
    pub(super) fn scalar_or_flow(&mut self, parent: Option<usize>) -> Result<Node> {
        let line = self.line;
        match self.peek() {
            Some('*') => {
                let node = self.alias()?;
                self.at_line_end();
                Ok(node)
            }
            Some('[' | '{') => {
                let start = self.at;
                let read = self.flow()?;
                if self.at_line_end() {
                    return Ok(read);
                }
                // `[0]*3+[1]*58`, which is common and which `PyYAML` refuses.
                if self.line != line {
                    return Err(self.error(YamlErrorKind::Expected("the end of the line")));
                }
                self.at = start;
                let text = self.plain_line();
                self.note(line, YamlNoteKind::Unquoted(text.clone()));
                Ok(Node {
                    line,
                    data: Data::Text(text),
                })
            }
            Some('"' | '\'') => {
                self.count(1)?;
                let text = self.quoted()?;
                Ok(Node {
                    line,
                    data: Data::Text(text),
                })
            }
            Some(style @ ('|' | '>')) => {
                self.count(1)?;
                let text = self.block_scalar(style == '>', parent)?;
                Ok(Node {
                    line,
                    data: Data::Text(text),
                })
            }
            _ => {
                self.count(1)?;
                let text = self.plain(parent)?;
                let (data, odd) = scalar::resolve(&text);
                if odd {
                    self.note(line, YamlNoteKind::TextForPython(text));
                }
                Ok(Node { line, data })
            }
        }
    }

    /// Unquoted text to the end of the line or the comment.
    fn plain_line(&mut self) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek().filter(|&c| c != '\n') {
            if c == '#' && text.ends_with([' ', '\t']) {
                break;
            }
            text.push(c);
            self.at += 1;
        }
        text.truncate(text.trim_end().len());
        self.skip_comment();
        text
    }

    /// Unquoted text with the lines that continue it.
    fn plain(&mut self, parent: Option<usize>) -> Result<String> {
        if self.at_key() {
            // `a: b: c`
            return Err(self.error(YamlErrorKind::Expected("quotes around text with a colon")));
        }
        let mut text = self.plain_line();
        loop {
            // Only a line end may be followed by a continuation; a comment ends the text.
            let mark = (self.at, self.line, self.line_start);
            if self.peek() != Some('\n') {
                return Ok(text);
            }
            let commented = self.at > self.line_start && {
                let line = self.chars.get(self.line_start..self.at).unwrap_or_default();
                line.windows(2)
                    .any(|pair| matches!(pair, [' ' | '\t', '#']))
            };
            let mut breaks = 0_usize;
            while self.peek() == Some('\n') {
                self.advance();
                breaks += 1;
                self.skip_blanks();
            }
            let deeper = parent.map_or(self.column() > 0 || !self.at_key(), |parent| {
                self.column() > parent
            });
            let continues = self.peek().is_some_and(|c| c != '#')
                && deeper
                && !commented
                && !self.at_document_marker();
            if !continues {
                (self.at, self.line, self.line_start) = mark;
                return Ok(text);
            }
            if self.at_key() {
                return Err(self.error(YamlErrorKind::Indentation));
            }
            if breaks > 1 {
                text.extend(core::iter::repeat_n('\n', breaks - 1));
            } else {
                text.push(' ');
            }
            text.push_str(&self.plain_line());
        }
    }

    /// Text in quotes, with line ends folded to blanks.
    pub(super) fn quoted(&mut self) -> Result<String> {
        let opened = self.error(YamlErrorKind::Unclosed("text"));
        let quote = self.advance();
        let mut text = String::new();
        loop {
            let Some(c) = self.advance() else {
                return Err(opened);
            };
            match c {
                '\'' if quote == Some('\'') => {
                    if self.peek() != Some('\'') {
                        return Ok(text);
                    }
                    self.at += 1;
                    text.push('\'');
                }
                '"' if quote == Some('"') => return Ok(text),
                '\\' if quote == Some('"') => self.escape(&mut text)?,
                '\n' => {
                    text.truncate(text.trim_end_matches([' ', '\t']).len());
                    let mut breaks = 0;
                    self.skip_blanks();
                    while self.peek() == Some('\n') {
                        self.advance();
                        self.skip_blanks();
                        breaks += 1;
                    }
                    if breaks == 0 {
                        text.push(' ');
                    }
                    text.extend(core::iter::repeat_n('\n', breaks));
                }
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<()> {
        let wrong = self.error(YamlErrorKind::Expected(
            "a known escape after the backslash",
        ));
        let digits = match self.advance() {
            Some('\n') => {
                self.skip_blanks();
                return Ok(());
            }
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(c) => {
                text.push(escaped(c).ok_or(wrong)?);
                return Ok(());
            }
            None => return Err(wrong),
        };
        let mut code = 0_u32;
        for _ in 0..digits {
            let digit = self
                .advance()
                .and_then(|c| c.to_digit(16))
                .ok_or_else(|| wrong.clone())?;
            code = code.wrapping_mul(16).wrapping_add(digit);
        }
        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(())
    }

    /// The lines after `|` or `>`.
    fn block_scalar(&mut self, folded: bool, parent: Option<usize>) -> Result<String> {
        self.at += 1;
        let mut keep = None;
        let mut indent = None;
        while let Some(c) = self.peek().filter(|c| !c.is_whitespace()) {
            match c {
                '+' | '-' => keep = Some(c == '+'),
                '1'..='9' => {
                    let digit = c.to_digit(10).and_then(|d| usize::try_from(d).ok());
                    indent = digit.map(|digit| digit + parent.unwrap_or(0));
                }
                _ => return Err(self.error(YamlErrorKind::Expected("the end of the line"))),
            }
            self.at += 1;
        }
        if !self.at_line_end() {
            return Err(self.error(YamlErrorKind::Expected("the end of the line")));
        }
        self.advance();
        let least = parent.map_or(0, |parent| parent + 1);
        let mut lines: Vec<String> = Vec::new();
        loop {
            let mark = (self.at, self.line, self.line_start);
            while self.peek() == Some(' ') && indent.is_none_or(|indent| self.column() < indent) {
                self.at += 1;
            }
            let blank = self.peek() == Some('\n');
            let column = self.column();
            let ends = self.peek().is_none()
                || !blank && (column < indent.unwrap_or(least) || self.at_document_marker());
            if ends {
                (self.at, self.line, self.line_start) = mark;
                break;
            }
            if !blank {
                indent = indent.or(Some(column));
            }
            let mut line = String::new();
            while let Some(c) = self.peek().filter(|&c| c != '\n') {
                line.push(c);
                self.at += 1;
            }
            self.advance();
            lines.push(line);
        }
        Ok(joined(&lines, folded, keep))
    }
}

/// The character that a backslash and `c` stand for.
fn escaped(c: char) -> Option<char> {
    Some(match c {
        'n' => '\n',
        't' | '\t' => '\t',
        'r' => '\r',
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'e' => '\u{1b}',
        '_' => '\u{a0}',
        'N' => '\u{85}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        ' ' | '"' | '/' | '\\' => c,
        _ => return None,
    })
}

/// The text of a block scalar. `keep`: all line ends at the end (`+`), none (`-`), or one.
fn joined(lines: &[String], folded: bool, keep: Option<bool>) -> String {
    let content = lines
        .iter()
        .rposition(|line| !line.is_empty())
        .map_or(0, |last| last + 1);
    let mut text = String::new();
    let mut pending = 0;
    for (i, line) in lines.iter().take(content).enumerate() {
        let indented = |line: &str| line.starts_with([' ', '\t']);
        if i == 0 {
            text.push_str(line);
        } else if line.is_empty() {
            pending += 1;
            continue;
        } else {
            let before = lines
                .get(..i)
                .and_then(|l| l.iter().rev().find(|l| !l.is_empty()));
            let folds = folded && !indented(line) && !before.is_some_and(|before| indented(before));
            if folds && pending == 0 {
                text.push(' ');
            } else {
                let breaks = if folds { pending } else { pending + 1 };
                text.extend(core::iter::repeat_n('\n', breaks));
            }
            text.push_str(line);
        }
        pending = 0;
    }
    let ends = match keep {
        Some(false) => 0,
        Some(true) => lines.len() - content + usize::from(content > 0),
        None => usize::from(content > 0),
    };
    text.extend(core::iter::repeat_n('\n', ends));
    text
}
