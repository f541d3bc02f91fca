//! Command substitutions that only join known text, such as `$(seq 1 4)`.

use crate::formats::shell::interpreter::Machine;
use crate::formats::shell::parser;
use crate::formats::shell::syntax::Statement;
use crate::formats::shell::text::{Piece, Text, join, joined, literal};

/// Longest command substitution that is looked into, in bytes.
const MAX_SUBSTITUTION: usize = 1_000;

impl Machine<'_> {
    /// `$(…)`: text when it only joins known text, and otherwise left as it stands.
    pub(super) fn substitution(&mut self, command: &str, line: u32) -> Text {
        if command.len() <= MAX_SUBSTITUTION && self.spend(command.len() + 16, line) && self.enter() {
            let text = self.pure_substitution(command, line);
            self.leave();
            if let Some(text) = text {
                return text;
            }
        }
        vec![Piece {
            text: format!("$({command})"),
            line,
            unresolved: true,
            origins: Vec::new(),
        }]
    }

    fn pure_substitution(&mut self, command: &str, line: u32) -> Option<Text> {
        let (statements, _) = parser::parse(command, line, Vec::new());
        let separator = self.variables.get("IFS").cloned();
        let mut output = None;
        for statement in &statements {
            let Statement::Simple { assignments, words, .. } = statement else {
                return None;
            };
            if words.is_empty() && assignments.iter().all(|a| a.name == "IFS") {
                self.execute(statement);
                continue;
            }
            let mut fields = Vec::new();
            for word in words {
                fields.append(&mut self.fields(word));
            }
            let mut fields = fields.into_iter();
            let name = joined(&fields.next()?);
            output = match name.as_str() {
                "echo" => Some(join(fields.filter(|text| joined(text) != "-n").collect(), ' ', line)),
                "seq" => sequence(&fields.map(|text| joined(&text)).collect::<Vec<_>>(), line),
                _ => None,
            };
            if output.is_none() {
                break;
            }
        }
        match separator {
            Some(value) => self.variables.insert("IFS".to_owned(), value),
            None => self.variables.remove("IFS"),
        };
        output
    }
}

/// `seq last`, `seq first last`, `seq first step last`, of at most a thousand numbers.
fn sequence(arguments: &[String], line: u32) -> Option<Text> {
    let numbers: Vec<i64> = arguments.iter().map(|text| text.parse().ok()).collect::<Option<_>>()?;
    let (first, step, last) = match *numbers.as_slice() {
        [last] => (1, 1, last),
        [first, last] => (first, 1, last),
        [first, step, last] if step > 0 => (first, step, last),
        _ => return None,
    };
    let mut text = Text::new();
    let mut next = first;
    while next <= last {
        if text.len() > 2_000 {
            return None;
        }
        if !text.is_empty() {
            text.append(&mut literal(" ", line));
        }
        text.append(&mut literal(next.to_string(), line));
        next = next.checked_add(step)?;
    }
    Some(text)
}
