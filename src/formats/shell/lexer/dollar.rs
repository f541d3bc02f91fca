//! The expansions behind a dollar sign: parameters, arithmetic, command substitutions.

use super::{Lexer, MAX_NESTING};
use crate::formats::shell::NoteKind;
use crate::formats::shell::syntax::{Action, Index, Kind, Word};

impl Lexer {
    /// The expansion behind a dollar sign, which is still unread; `None` when it is plain text, read.
    pub(super) fn dollar(&mut self) -> Option<Kind> {
        self.advance();
        match self.peek()? {
            '(' if self.peek_at(1) == Some('(') => {
                self.advance();
                self.advance();
                Some(Kind::Arithmetic(self.arithmetic()))
            }
            '(' => {
                self.advance();
                Some(Kind::Command(self.command_text()))
            }
            '{' if self.depth < MAX_NESTING => {
                self.advance();
                self.depth += 1;
                let kind = self.braced();
                self.depth -= 1;
                Some(kind)
            }
            c if c == '_' || c.is_ascii_alphabetic() => Some(plain(self.name())),
            c if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.advance();
                let index = match c {
                    '@' => Index::Each,
                    '*' => Index::Joined,
                    _ => Index::None,
                };
                Some(Kind::Parameter {
                    name: c.to_string(),
                    index,
                    action: Action::Plain,
                })
            }
            _ => None,
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|&c| c == '_' || c.is_ascii_alphanumeric()) {
            name.push(c);
            self.advance();
        }
        name
    }

    /// The text of a command substitution up to its closing parenthesis.
    fn command_text(&mut self) -> String {
        let opened = self.line;
        let mut text = String::new();
        let mut depth = 0_u32;
        let mut quote = None;
        loop {
            let Some(c) = self.advance() else {
                self.note(opened, NoteKind::Unclosed("$("));
                return text;
            };
            match (quote, c) {
                (Some(q), c) if q == c => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (Some('\''), _) => {}
                (_, '\\') => {
                    text.push(c);
                    text.extend(self.advance());
                    continue;
                }
                (None, '(') => depth += 1,
                (None, ')') if depth == 0 => return text,
                (None, ')') => depth -= 1,
                _ => {}
            }
            text.push(c);
        }
    }

    /// The inside of `${…}` with its closing brace.
    fn braced(&mut self) -> Kind {
        let opened = self.line;
        let length = self.peek() == Some('#') && self.peek_at(1) != Some('}');
        if length || self.peek() == Some('!') {
            self.advance();
        }
        let indirect = !length && self.chars.get(self.position.wrapping_sub(1)) == Some(&'!');
        let mut name = self.name();
        if name.is_empty()
            && let Some(c) = self.peek().filter(|&c| "@*#?$!-".contains(c))
        {
            name.push(c);
            self.advance();
        }
        let mut index = match name.as_str() {
            "@" => Index::Each,
            "*" => Index::Joined,
            _ => Index::None,
        };
        if self.peek() == Some('[') {
            self.advance();
            let word = self.until(']');
            self.advance();
            index = match word.bare() {
                Some("@") => Index::Each,
                Some("*") => Index::Joined,
                _ => Index::At(word),
            };
        }
        let colon = self.peek() == Some(':') && self.peek_at(1).is_some_and(|c| matches!(c, '-' | '=' | '+' | '?'));
        if colon {
            self.advance();
        }
        let sign = self.peek();
        let action = match sign {
            Some('}') | None => Action::Plain,
            Some('-' | '=') => {
                self.advance();
                Action::Default {
                    colon,
                    assign: sign == Some('='),
                    word: self.until('}'),
                }
            }
            Some('+') => {
                self.advance();
                let word = self.until('}');
                Action::Alternative { colon, word }
            }
            Some('?') => {
                self.until('}');
                Action::Required
            }
            Some(c) => {
                let rest = self.until('}');
                match (c, rest.bare()) {
                    ('^', Some("^^")) => Action::Upper,
                    (',', Some(",,")) => Action::Lower,
                    _ => Action::Other,
                }
            }
        };
        if self.advance().is_none() {
            self.note(opened, NoteKind::Unclosed("${"));
        }
        let action = match action {
            Action::Plain if length => Action::Length,
            _ if indirect => Action::Other,
            action => action,
        };
        Kind::Parameter { name, index, action }
    }

    fn until(&mut self, close: char) -> Word {
        let mut word = Word {
            parts: Vec::new(),
            line: self.line,
        };
        self.parts(&mut word.parts, Some(close), false);
        word
    }
}

fn plain(name: String) -> Kind {
    Kind::Parameter {
        name,
        index: Index::None,
        action: Action::Plain,
    }
}
