//! Parses words into statements.

mod simple;

use super::lexer::{Lexer, Token};
use super::syntax::{Branch, Kind, Part, Statement, Test, Word};
use super::{Note, NoteKind};

/// How deep statements may nest; deeper text is reported and skipped.
const MAX_NESTING: u32 = 48;

pub(super) struct Parser {
    lexer: Lexer,
    peeked: Option<Token>,
    /// The position of the next token, where that was read ahead.
    start: usize,
    depth: u32,
}

/// The statements of `text`, whose first line is number `line`.
pub(super) fn parse(text: &str, line: u32, marks: Vec<(usize, u32)>) -> (Vec<Statement>, Vec<Note>) {
    let mut parser = Parser::new(text, line, marks);
    let statements = parser.all();
    (statements, parser.lexer.notes)
}

impl Parser {
    fn new(text: &str, line: u32, marks: Vec<(usize, u32)>) -> Self {
        Self {
            lexer: Lexer::new(text, line, marks),
            peeked: None,
            start: 0,
            depth: 0,
        }
    }

    fn all(&mut self) -> Vec<Statement> {
        let mut statements = self.list(&[]);
        // A stray `fi` or `)`: the rest of a paste counts all the same.
        while !matches!(self.next(), Token::End) {
            statements.append(&mut self.list(&[]));
        }
        statements
    }

    fn peek(&mut self) -> &Token {
        if self.peeked.is_none() {
            self.start = self.lexer.position();
        }
        self.peeked.get_or_insert_with(|| self.lexer.next())
    }

    fn next(&mut self) -> Token {
        self.peek();
        self.peeked.take().unwrap_or(Token::End)
    }

    fn at_operator(&mut self, operator: &str) -> bool {
        matches!(self.peek(), Token::Operator(found) if *found == operator)
    }

    fn at_keyword(&mut self, keyword: &str) -> bool {
        matches!(self.peek(), Token::Word(word) if word.bare() == Some(keyword))
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.next();
        }
        found
    }

    fn skip_newlines(&mut self) {
        while matches!(self.peek(), Token::Newline) || self.at_operator(";") {
            self.next();
        }
    }

    /// Statements up to one of `ends`, which is left unread.
    fn list(&mut self, ends: &[&str]) -> Vec<Statement> {
        let mut statements = Vec::new();
        loop {
            while matches!(self.peek(), Token::Newline) || self.at_operator(";") || self.at_operator("&") {
                self.next();
                for (body, line) in std::mem::take(&mut self.lexer.scripts) {
                    statements.push(self.here_script(&body, line));
                }
            }
            let at_end = match self.peek() {
                Token::End => true,
                Token::Operator(found) => matches!(*found, ")" | ";;" | ";&") || ends.contains(found),
                Token::Word(word) => word
                    .bare()
                    .is_some_and(|text| ends.contains(&text) || (ends.is_empty() && is_end(text))),
                Token::Newline => false,
            };
            if at_end {
                return statements;
            }
            statements.push(self.chain());
        }
    }

    /// A here-document that a shell reads: as if it stood in the script itself.
    fn here_script(&mut self, body: &str, line: u32) -> Statement {
        let mut statements = Vec::new();
        if self.depth < MAX_NESTING {
            let mut inner = Self::new(body, line, Vec::new());
            inner.depth = self.depth + MAX_NESTING / 4;
            statements = inner.all();
            self.lexer.notes.append(&mut inner.lexer.notes);
        }
        Statement::Group(statements)
    }

    fn chain(&mut self) -> Statement {
        let line = self.lexer.line();
        self.peek();
        let start = self.start;
        let first = self.pipe();
        let end = self.start_of_next();
        let mut rest = Vec::new();
        loop {
            let and = if self.at_operator("&&") {
                true
            } else if self.at_operator("||") {
                false
            } else {
                break;
            };
            self.next();
            self.skip_newlines();
            rest.push((and, self.pipe()));
        }
        if rest.is_empty() {
            return first;
        }
        Statement::Chain {
            first: Box::new(first),
            rest,
            label: self.lexer.excerpt(start, end),
            line,
        }
    }

    fn start_of_next(&mut self) -> usize {
        self.peek();
        self.start
    }

    fn pipe(&mut self) -> Statement {
        let first = self.command();
        if !self.at_operator("|") && !self.at_operator("|&") {
            return first;
        }
        let mut statements = vec![first];
        while self.at_operator("|") || self.at_operator("|&") {
            self.next();
            self.skip_newlines();
            statements.push(self.command());
        }
        Statement::Pipe(statements)
    }

    fn command(&mut self) -> Statement {
        self.depth += 1;
        let statement = if self.depth > MAX_NESTING {
            let line = self.lexer.line();
            self.lexer.notes.push(Note {
                line,
                kind: NoteKind::NestedTooDeep,
            });
            self.lexer.finish();
            self.peeked = None;
            Statement::Group(Vec::new())
        } else {
            self.compound()
        };
        self.depth -= 1;
        statement
    }

    fn compound(&mut self) -> Statement {
        let line = self.lexer.line();
        if self.at_operator("(") {
            self.next();
            if self.lexer.peek() == Some('(') {
                self.lexer.next();
                return Statement::Arithmetic(self.lexer.arithmetic());
            }
            let body = self.list(&[]);
            if self.at_operator(")") {
                self.next();
            }
            self.redirections();
            return Statement::Group(body);
        }
        let keyword = match self.peek() {
            Token::Word(word) => word.bare().map(str::to_owned),
            Token::Operator(_) => {
                // A stray operator.
                self.next();
                return Statement::Group(Vec::new());
            }
            _ => None,
        };
        match keyword.as_deref() {
            Some("if") => self.conditional(line),
            Some("case") => self.case(line),
            Some("for") => self.for_loop(line),
            Some("select") => {
                self.for_loop(line);
                self.not_followed("select", line);
                Statement::Group(Vec::new())
            }
            Some("while" | "until") => {
                self.next();
                self.list(&["do"]);
                Statement::Loop {
                    body: self.do_block(),
                    line,
                }
            }
            Some("{") => {
                self.next();
                let body = self.list(&["}"]);
                self.eat_keyword("}");
                self.redirections();
                Statement::Group(body)
            }
            Some("!") => {
                self.next();
                Statement::Not(Box::new(self.command()))
            }
            Some("function") => {
                self.next();
                let name = match self.next() {
                    Token::Word(word) => word.bare().unwrap_or_default().to_owned(),
                    _ => String::new(),
                };
                self.function(name)
            }
            _ => self.simple(line),
        }
    }

    fn not_followed(&mut self, construct: &'static str, line: u32) {
        let kind = NoteKind::NotFollowed(construct);
        self.lexer.notes.push(Note { line, kind });
    }

    fn function(&mut self, name: String) -> Statement {
        if self.at_operator("(") {
            self.next();
            if self.at_operator(")") {
                self.next();
            }
        }
        self.skip_newlines();
        let body = match self.command() {
            Statement::Group(body) => body,
            other => vec![other],
        };
        Statement::Function { name, body }
    }

    fn conditional(&mut self, line: u32) -> Statement {
        let mut branches = Vec::new();
        let mut at = line;
        while self.eat_keyword("if") || self.eat_keyword("elif") {
            let start = self.start_of_next();
            let test = self.list(&["then"]);
            let end = self.start_of_next();
            let label = self.lexer.excerpt(start, end);
            self.eat_keyword("then");
            let body = self.list(&["elif", "else", "fi"]);
            branches.push(Branch {
                label,
                line: at,
                test: Test::Statements(test),
                body,
            });
            at = self.lexer.line();
            if !self.at_keyword("elif") {
                break;
            }
        }
        if self.eat_keyword("else") {
            branches.push(Branch {
                label: "else".to_owned(),
                line: at,
                test: Test::Always,
                body: self.list(&["fi"]),
            });
        }
        self.eat_keyword("fi");
        self.redirections();
        Statement::Choice {
            subject: None,
            branches,
            line,
        }
    }

    fn case(&mut self, line: u32) -> Statement {
        self.next();
        let subject = match self.next() {
            Token::Word(word) => Some(word),
            _ => None,
        };
        self.skip_newlines();
        self.eat_keyword("in");
        let mut branches = Vec::new();
        loop {
            self.skip_newlines();
            if self.eat_keyword("esac") {
                break;
            }
            let at = self.lexer.line();
            let start = self.start_of_next();
            let mut patterns = Vec::new();
            let mut end = start;
            loop {
                match self.next() {
                    Token::Word(word) => patterns.push(word),
                    Token::Operator(")") => break,
                    Token::End => return choice(subject, branches, line),
                    // `(` before the first pattern, `|` between them.
                    _ => {}
                }
                end = self.lexer.position();
            }
            let label = self.lexer.excerpt(start, end);
            let body = self.list(&["esac"]);
            branches.push(Branch {
                label,
                line: at,
                test: Test::Patterns(patterns),
                body,
            });
            if self.at_operator(";&") {
                let line = self.lexer.line();
                self.not_followed(";&", line);
            }
            if self.at_operator(";;") || self.at_operator(";&") || self.at_operator(")") {
                self.next();
            }
            if matches!(self.peek(), Token::End) {
                break;
            }
        }
        choice(subject, branches, line)
    }

    fn for_loop(&mut self, line: u32) -> Statement {
        self.next();
        if self.at_operator("(") {
            self.next();
            if self.lexer.peek() == Some('(') {
                self.lexer.next();
            }
            let header = self.lexer.arithmetic();
            return Statement::ForCount {
                header: split_header(header),
                body: self.do_block(),
                line,
            };
        }
        let name = match self.next() {
            Token::Word(word) => word.bare().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        let mut words = Vec::new();
        self.skip_newlines();
        if self.eat_keyword("in") {
            while let Token::Word(_) = self.peek() {
                if let Token::Word(word) = self.next() {
                    words.push(word);
                }
            }
        }
        Statement::ForEach {
            name,
            words,
            body: self.do_block(),
            line,
        }
    }

    fn do_block(&mut self) -> Vec<Statement> {
        self.skip_newlines();
        self.eat_keyword("do");
        let body = self.list(&["done"]);
        self.eat_keyword("done");
        self.redirections();
        body
    }
}

fn choice(subject: Option<Word>, branches: Vec<Branch>, line: u32) -> Statement {
    Statement::Choice {
        subject,
        branches,
        line,
    }
}

/// Whether `text` is what a shell accepts as a variable's name.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && text.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

fn is_end(text: &str) -> bool {
    matches!(text, "fi" | "then" | "else" | "elif" | "do" | "done" | "esac" | "}")
}

/// The three expressions of `for ((a; b; c))`.
fn split_header(header: Word) -> [Word; 3] {
    let mut words = [(); 3].map(|()| Word {
        parts: Vec::new(),
        line: header.line,
    });
    let mut at = 0;
    for part in header.parts {
        match part.kind {
            Kind::Text(text) => {
                for (i, piece) in text.split(';').enumerate() {
                    at = if i == 0 { at } else { at + 1 };
                    if let Some(word) = words.get_mut(at) {
                        word.parts.push(Part {
                            kind: Kind::Text(piece.to_owned()),
                            line: part.line,
                            quoted: true,
                        });
                    }
                }
            }
            kind => {
                if let Some(word) = words.get_mut(at) {
                    word.parts.push(Part { kind, ..part });
                }
            }
        }
    }
    words
}
