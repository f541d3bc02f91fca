//! Simple commands: words, assignments, redirections.

use super::{Parser, is_name};
use crate::formats::shell::lexer::Token;
use crate::formats::shell::syntax::{Assigned, Assignment, Kind, Part, Statement, Word};

/// Words that declare the assignments after them.
const DECLARATIONS: [&str; 5] = ["export", "declare", "local", "readonly", "typeset"];

impl Parser {
    pub(super) fn redirections(&mut self) {
        while let Token::Operator(operator) = self.peek() {
            if !operator.contains(['<', '>']) {
                return;
            }
            self.redirection(false);
        }
    }

    /// A redirection operator and its target.
    fn redirection(&mut self, is_script: bool) {
        let Token::Operator(operator) = self.next() else {
            return;
        };
        if self.lexer.peek() == Some('(') {
            self.lexer.next();
            self.lexer.parenthesized();
            return;
        }
        if let Token::Word(word) = self.peek() {
            let word = word.clone();
            self.next();
            if matches!(operator, "<<" | "<<-") {
                self.lexer.heredoc(&word, is_script);
            }
        }
    }

    pub(super) fn simple(&mut self, line: u32) -> Statement {
        let mut assignments = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        let mut exported = false;
        let mut in_test = false;
        let mut line = line;
        loop {
            match self.peek() {
                Token::Word(_) => {
                    let Token::Word(word) = self.next() else {
                        continue;
                    };
                    if words.is_empty() && assignments.is_empty() {
                        line = word.line;
                    }
                    in_test = in_test || (words.is_empty() && word.bare() == Some("[["));
                    let declares = words
                        .first()
                        .and_then(Word::bare)
                        .is_some_and(|name| DECLARATIONS.contains(&name));
                    exported = exported || (declares && words.first().and_then(Word::bare) == Some("export"));
                    if (words.is_empty() || declares)
                        && let Some(assignment) = self.assignment(&word)
                    {
                        assignments.push(assignment);
                        continue;
                    }
                    // `name()` starts a function.
                    if words.is_empty()
                        && assignments.is_empty()
                        && self.lexer.at_empty_parentheses()
                        && let Some(name) = word.bare().filter(|name| !name.contains('='))
                    {
                        let name = name.to_owned();
                        return self.function(name);
                    }
                    let mut word = word;
                    self.attach_parentheses(&mut word);
                    let closes = in_test && word.bare() == Some("]]");
                    words.push(word);
                    in_test = in_test && !closes;
                }
                Token::Operator(operator) if in_test => {
                    let text = (*operator).to_owned();
                    self.next();
                    words.push(operator_word(&text, line));
                }
                Token::Newline if in_test => {
                    self.next();
                }
                Token::Operator("(") if !words.is_empty() => {
                    self.next();
                    words.push(self.lexer.parenthesized());
                }
                Token::Operator(operator) if operator.contains(['<', '>']) => {
                    let runs = |word: &Word| matches!(word.bare(), Some("sbatch" | "bash" | "sh" | "srun"));
                    self.redirection(words.iter().any(runs));
                }
                _ => break,
            }
        }
        Statement::Simple {
            assignments,
            words,
            exported,
            line,
        }
    }

    /// `--flag=([0]*3)`: an unquoted parenthesis right after a word belongs to it.
    fn attach_parentheses(&mut self, word: &mut Word) {
        if self.lexer.peek() == Some('(') {
            self.lexer.next();
            word.parts.append(&mut self.lexer.parenthesized().parts);
        }
    }

    /// `NAME=value`, `NAME+=value`, `NAME[key]=value`, `NAME=( … )` from a word that was just read.
    fn assignment(&mut self, word: &Word) -> Option<Assignment> {
        let Some(Part {
            kind: Kind::Text(text),
            quoted: false,
            ..
        }) = word.parts.first()
        else {
            return None;
        };
        let (left, right) = text.split_once('=')?;
        let (left, append) = match left.strip_suffix('+') {
            Some(left) => (left, true),
            None => (left, false),
        };
        let (name, is_of_element) = match left.split_once('[') {
            Some((name, key)) if key.ends_with(']') => (name, true),
            Some(_) => return None,
            None => (left, false),
        };
        if !is_name(name) {
            return None;
        }
        let is_array = right.is_empty() && word.parts.len() == 1 && self.lexer.peek() == Some('(');
        let value = if is_array {
            self.next();
            Assigned::Array(self.array())
        } else {
            let mut value = word.clone();
            if let Some(Part {
                kind: Kind::Text(text), ..
            }) = value.parts.first_mut()
            {
                right.clone_into(text);
            }
            Assigned::Scalar(value)
        };
        Some(Assignment {
            name: name.to_owned(),
            is_of_element,
            append,
            value,
            line: word.line,
        })
    }

    /// The words of `( … )` after the opening parenthesis.
    fn array(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            match self.next() {
                Token::Word(mut word) => {
                    self.attach_parentheses(&mut word);
                    words.push(word);
                }
                Token::Operator("(") => words.push(self.lexer.parenthesized()),
                Token::Operator(")") | Token::End => return words,
                Token::Operator(_) | Token::Newline => {}
            }
        }
    }
}

fn operator_word(text: &str, line: u32) -> Word {
    Word {
        parts: vec![Part {
            kind: Kind::Text(text.to_owned()),
            line,
            quoted: false,
        }],
        line,
    }
}
