//! Splits a script into words and operators.

mod dollar;
mod heredoc;

use super::syntax::{Kind, Part, Word};
use super::{Note, NoteKind};

/// How deep `${a:-${b:-…}}` and `$(( $(( … )) ))` may nest before the rest is plain text.
const MAX_NESTING: u32 = 24;

#[derive(Clone, Debug)]
pub(super) enum Token {
    Word(Word),
    Operator(&'static str),
    Newline,
    End,
}

/// A reader over the characters of a script.
pub(super) struct Lexer {
    chars: Vec<char>,
    position: usize,
    line: u32,
    /// Positions at which the line number changes, for a text that was put together from several lines.
    marks: Vec<(usize, u32)>,
    next_mark: usize,
    /// Here-documents whose bodies start after the current line: end marker, and whether a shell
    /// reads them.
    heredocs: Vec<(String, bool)>,
    /// Bodies of here-documents that a shell reads, with their first line.
    pub(super) scripts: Vec<(String, u32)>,
    depth: u32,
    pub(super) notes: Vec<Note>,
}

impl Lexer {
    pub(super) fn new(text: &str, line: u32, marks: Vec<(usize, u32)>) -> Self {
        Self {
            chars: text.chars().filter(|&c| c != '\r').collect(),
            position: 0,
            line,
            marks,
            next_mark: 0,
            heredocs: Vec::new(),
            scripts: Vec::new(),
            depth: 0,
            notes: Vec::new(),
        }
    }

    pub(super) fn line(&self) -> u32 {
        self.line
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// The text between two positions, trimmed and cut to a length that fits a message.
    pub(super) fn excerpt(&self, from: usize, to: usize) -> String {
        let text: String = self
            .chars
            .get(from..to.max(from))
            .unwrap_or_default()
            .iter()
            .take(200)
            .collect();
        text.trim()
            .trim_end_matches(';')
            .trim_end()
            .trim_end_matches("then")
            .trim_end()
            .trim_end_matches(';')
            .trim_end()
            .to_owned()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    /// Whether `()` comes next, as in a function's definition.
    pub(super) fn at_empty_parentheses(&self) -> bool {
        self.peek() == Some('(') && self.peek_at(1) == Some(')')
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.position.checked_add(ahead)?).copied()
    }

    fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.position += 1;
        if c == '\n' {
            self.line = self.line.saturating_add(1);
        }
        while let Some(&(from, line)) = self.marks.get(self.next_mark) {
            if from > self.position {
                break;
            }
            self.line = line;
            self.next_mark += 1;
        }
        Some(c)
    }

    /// Skips the rest of the text, so that a caller that gives up does not loop.
    pub(super) fn finish(&mut self) {
        self.position = self.chars.len();
    }

    fn note(&mut self, line: u32, kind: NoteKind) {
        self.notes.push(Note { line, kind });
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => {
                    self.advance();
                }
                Some('\\') if self.at_continuation() => self.skip_continuation(),
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.advance();
                    }
                }
                _ => return,
            }
        }
    }

    /// A backslash at the end of a line. Blanks after it are allowed, although bash does not allow them.
    fn at_continuation(&self) -> bool {
        let mut ahead = 1;
        // Few blanks are looked at, so that a line of backslashes and blanks stays linear.
        while ahead < 64 {
            match self.peek_at(ahead) {
                Some('\n') => return true,
                None => return ahead == 1,
                Some(' ' | '\t') => ahead += 1,
                Some(_) => return false,
            }
        }
        false
    }

    fn skip_continuation(&mut self) {
        while let Some(c) = self.advance() {
            if c == '\n' {
                return;
            }
        }
    }

    pub(super) fn next(&mut self) -> Token {
        self.skip_blanks();
        let Some(c) = self.peek() else {
            return Token::End;
        };
        if c == '\n' {
            self.advance();
            self.skip_heredocs();
            return Token::Newline;
        }
        if let Some(operator) = self.operator() {
            return Token::Operator(operator);
        }
        let word = self.word();
        // `2>&1`: the number belongs to the redirection.
        let number = word.bare().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
        if number
            && matches!(self.peek(), Some('<' | '>'))
            && let Some(operator) = self.operator()
        {
            return Token::Operator(operator);
        }
        Token::Word(word)
    }

    fn operator(&mut self) -> Option<&'static str> {
        const OPERATORS: [&str; 20] = [
            "<<<", "<<-", "&>>", "&&", "||", ";;", ";&", "&>", "|&", "<<", ">>", ">&", "<&", ">|", ";", "&", "|", "<",
            ">", "(",
        ];
        let start = [self.peek(), self.peek_at(1), self.peek_at(2)];
        let found = OPERATORS
            .into_iter()
            .chain([")"])
            .find(|operator| operator.chars().zip(start).all(|(a, b)| Some(a) == b))?;
        for _ in found.chars() {
            self.advance();
        }
        Some(found)
    }

    /// A word that starts here; at least one character is consumed unless the text is at its end.
    fn word(&mut self) -> Word {
        let mut word = Word {
            parts: Vec::new(),
            line: self.line,
        };
        self.parts(&mut word.parts, None, false);
        if word.parts.is_empty() {
            self.advance();
        }
        word
    }

    /// A word that starts with a parenthesis, as in an unquoted `([0]*3+[1]*58)`; the opening
    /// parenthesis has been read.
    pub(super) fn parenthesized(&mut self) -> Word {
        let line = self.line;
        let mut text = String::from("(");
        let mut depth = 1_u32;
        while depth > 0 {
            match self.peek() {
                None | Some('\n') => break,
                Some('(') => depth += 1,
                Some(')') => depth -= 1,
                Some(_) => {}
            }
            text.extend(self.advance());
        }
        let mut parts = vec![text_part(text, line, false)];
        self.parts(&mut parts, None, false);
        Word { parts, line }
    }

    /// The inside of `((…))`; the opening has been read.
    pub(super) fn arithmetic(&mut self) -> Word {
        let line = self.line;
        let mut text = String::new();
        let mut depth = 0_u32;
        loop {
            match self.peek() {
                None => {
                    self.note(line, NoteKind::Unclosed("(("));
                    break;
                }
                Some('(') => depth += 1,
                Some(')') if depth == 0 => {
                    self.advance();
                    if self.peek() == Some(')') {
                        self.advance();
                    }
                    break;
                }
                Some(')') => depth -= 1,
                Some(_) => {}
            }
            text.extend(self.advance());
        }
        let mut parts = Vec::new();
        if self.depth < MAX_NESTING {
            let mut inner = Self::new(&text, line, Vec::new());
            inner.depth = self.depth + 1;
            inner.parts(&mut parts, Some('\0'), true);
            self.notes.append(&mut inner.notes);
        } else {
            parts.push(text_part(text, line, true));
        }
        Word { parts, line }
    }

    /// Reads parts up to the end of a word, or up to `close` (which is left unread) inside braces,
    /// brackets and double quotes. `quoted`: inside double quotes.
    fn parts(&mut self, parts: &mut Vec<Part>, close: Option<char>, quoted: bool) {
        let mut text = String::new();
        let mut line = self.line;
        let flush = |text: &mut String, parts: &mut Vec<Part>, line: u32, quoted: bool| {
            if !text.is_empty() {
                parts.push(text_part(std::mem::take(text), line, quoted));
            }
        };
        while let Some(c) = self.peek() {
            if Some(c) == close {
                break;
            }
            if close.is_none() && matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') {
                break;
            }
            if text.is_empty() {
                line = self.line;
            }
            match c {
                '\\' => {
                    let continued = if quoted {
                        self.peek_at(1) == Some('\n')
                    } else {
                        self.at_continuation()
                    };
                    if continued {
                        flush(&mut text, parts, line, quoted);
                        self.skip_continuation();
                    } else {
                        self.advance();
                        let next = self.advance();
                        if quoted {
                            if !matches!(next, Some('"' | '\\' | '$' | '`')) {
                                text.push('\\');
                            }
                            text.extend(next);
                        } else {
                            flush(&mut text, parts, line, false);
                            parts.push(text_part(next.into_iter().collect(), line, true));
                        }
                    }
                }
                '\'' if !quoted => {
                    flush(&mut text, parts, line, false);
                    self.single_quoted(parts, false);
                }
                '"' if close != Some('"') => {
                    flush(&mut text, parts, line, quoted);
                    self.double_quoted(parts);
                }
                '$' if !quoted && self.peek_at(1) == Some('\'') => {
                    flush(&mut text, parts, line, false);
                    self.advance();
                    self.single_quoted(parts, true);
                }
                '$' => {
                    let at = self.line;
                    match self.dollar() {
                        Some(kind) => {
                            flush(&mut text, parts, line, quoted);
                            parts.push(Part { kind, line: at, quoted });
                        }
                        None => text.push('$'),
                    }
                }
                '`' => {
                    flush(&mut text, parts, line, quoted);
                    let at = self.line;
                    self.advance();
                    let mut command = String::new();
                    while let Some(c) = self.advance().filter(|&c| c != '`') {
                        command.push(c);
                    }
                    parts.push(Part {
                        kind: Kind::Command(command),
                        line: at,
                        quoted,
                    });
                }
                _ => {
                    text.push(c);
                    self.advance();
                    if c == '\n' {
                        flush(&mut text, parts, line, quoted);
                    }
                }
            }
        }
        flush(&mut text, parts, line, quoted);
    }

    fn single_quoted(&mut self, parts: &mut Vec<Part>, escapes: bool) {
        let opened = self.line;
        self.advance();
        let mut line = self.line;
        let mut text = String::new();
        loop {
            match self.advance() {
                None => {
                    self.note(opened, NoteKind::Unclosed("'"));
                    break;
                }
                Some('\'') => break,
                Some('\\') if escapes => text.push(match self.advance() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some(other) => other,
                    None => '\\',
                }),
                Some('\n') => {
                    text.push('\n');
                    parts.push(text_part(std::mem::take(&mut text), line, true));
                    line = self.line;
                }
                Some(c) => text.push(c),
            }
        }
        // An empty pair of quotes is a word too.
        parts.push(text_part(text, line, true));
    }

    fn double_quoted(&mut self, parts: &mut Vec<Part>) {
        let opened = self.line;
        self.advance();
        parts.push(text_part(String::new(), opened, true));
        if self.depth < MAX_NESTING {
            self.depth += 1;
            self.parts(parts, Some('"'), true);
            self.depth -= 1;
        }
        if self.advance().is_none() {
            self.note(opened, NoteKind::Unclosed("\""));
        }
    }
}

fn text_part(text: String, line: u32, quoted: bool) -> Part {
    Part {
        kind: Kind::Text(text),
        line,
        quoted,
    }
}
