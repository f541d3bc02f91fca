//! Variables: those the script sets, and those it finds.

use super::{Binding, MAX_CALLS, MAX_REPORTED, Machine, Stored};
use crate::formats::shell::syntax::{self, Assigned};
use crate::formats::shell::text::{Piece, Text, add_origin, is_unresolved, literal};
use crate::formats::shell::{Note, NoteKind, Variable};

impl Machine<'_> {
    /// Takes `bytes` from the budget for expansion; false when it is spent.
    pub(in crate::formats::shell) fn spend(&mut self, bytes: usize, line: u32) -> bool {
        if let Some(left) = self.expansion_left.checked_sub(bytes) {
            self.expansion_left = left;
            return true;
        }
        if self.expansion_left > 0 {
            self.expansion_left = 0;
            self.note(Note {
                line,
                kind: NoteKind::TooMuch,
            });
        }
        false
    }

    pub(in crate::formats::shell) fn enter(&mut self) -> bool {
        let free = self.calls < MAX_CALLS;
        self.calls += u32::from(free);
        free
    }

    pub(in crate::formats::shell) fn leave(&mut self) {
        self.calls = self.calls.saturating_sub(1);
    }

    pub(in crate::formats::shell) fn note(&mut self, note: Note) {
        if self.notes.len() < MAX_REPORTED && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn answer(&self, name: &str) -> Option<String> {
        let mut answers = self.answers.variables.iter().rev();
        answers.find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// The number of an environment variable, entered when new.
    pub(in crate::formats::shell) fn external(&mut self, name: &str, line: u32, default: Option<&str>) -> u32 {
        let id = if let Some(id) = self.external_ids.get(name) {
            *id
        } else {
            let id = u32::try_from(self.externals.len()).unwrap_or(u32::MAX);
            self.externals.push(Variable {
                name: name.to_owned(),
                lines: Vec::new(),
                default: None,
                answer: self.answer(name),
            });
            self.external_ids.insert(name.to_owned(), id);
            id
        };
        if let Some(variable) = usize::try_from(id).ok().and_then(|at| self.externals.get_mut(at)) {
            if variable.lines.last() != Some(&line) && variable.lines.len() < 32 {
                variable.lines.push(line);
            }
            if variable.default.is_none() {
                variable.default = default.map(str::to_owned);
            }
        }
        id
    }

    /// The value of a variable that the script has set, or that the environment was said to hold.
    pub(in crate::formats::shell) fn stored(&mut self, name: &str, line: u32) -> Option<Stored> {
        if let Some(binding) = self.variables.get_mut(name) {
            binding.read = true;
            let pieces = match &binding.value {
                Stored::Scalar(text) => text.len(),
                Stored::Array(items) => items.len(),
            };
            // Reading copies, so a large array that a loop reads again and again has its price.
            if !self.spend(pieces.saturating_mul(8), line) {
                return Some(Stored::Scalar(Text::new()));
            }
            return self.variables.get(name).map(|binding| binding.value.clone());
        }
        let answer = self.answer(name)?;
        let id = self.external(name, line, None);
        let mut text = literal(answer, line);
        for piece in &mut text {
            add_origin(piece, id);
        }
        Some(Stored::Scalar(text))
    }

    /// The arguments behind `$@`, `$*`, `$#` and `$1` inside a function.
    pub(in crate::formats::shell) fn positional(&self, name: &str) -> Option<Vec<Text>> {
        let frame = self.frames.last()?;
        match name {
            "@" | "*" | "#" => Some(frame.clone()),
            _ => {
                let at: usize = name.parse().ok()?;
                Some(frame.get(at.checked_sub(1)?).cloned().into_iter().collect())
            }
        }
    }

    pub(in crate::formats::shell) fn assign_scalar(&mut self, name: &str, value: Text, exported: bool, line: u32) {
        self.spend(value.len(), line);
        let value = if is_unresolved(&value) {
            self.settle(name, value, line)
        } else {
            value
        };
        self.bind(name, Stored::Scalar(value), exported, line);
    }

    fn bind(&mut self, name: &str, value: Stored, exported: bool, line: u32) {
        let before = self.variables.get(name);
        let binding = Binding {
            value,
            exported: exported || before.is_some_and(|binding| binding.exported),
            read: before.is_some_and(|binding| binding.read),
            line,
        };
        self.variables.insert(name.to_owned(), binding);
    }

    /// A value that is not known: an answer replaces it, and `NAME=$1` is asked for as `NAME`.
    fn settle(&mut self, name: &str, value: Text, line: u32) -> Text {
        if let Some(answer) = self.answer(name) {
            let id = self.external(name, line, None);
            let mut text = literal(answer, line);
            for piece in &mut text {
                add_origin(piece, id);
            }
            return text;
        }
        // `$1`, `${10}`, `$#`, `$(…)`: nothing that an answer could name.
        let opaque = |piece: &Piece| {
            let name = piece.text.trim_start_matches("${").trim_end_matches('}');
            piece.unresolved
                && (piece.text.starts_with("$(") || !name.contains(|c: char| c.is_ascii_alphabetic() || c == '_'))
        };
        match value.as_slice() {
            [piece] if opaque(piece) && piece.origins.len() <= 1 => self.unknown(name, line, None),
            _ => value,
        }
    }

    pub(in crate::formats::shell) fn assign(&mut self, assignment: &syntax::Assignment, exported: bool) {
        let line = assignment.line;
        let name = assignment.name.clone();
        if assignment.is_of_element {
            // What the array holds now is not known, so that reading it asks for it.
            self.variables.remove(&name);
            return self.not_followed("NAME[…]=", line);
        }
        match &assignment.value {
            Assigned::Scalar(word) => {
                let mut value = self.text(word);
                if assignment.append {
                    let before = self.variables.remove(&name);
                    match before.map(|binding| binding.value) {
                        Some(Stored::Array(mut items)) => {
                            // `A+=x` extends the first element.
                            match items.first_mut() {
                                Some(first) => first.append(&mut value),
                                None => items.push(value),
                            }
                            return self.bind(&name, Stored::Array(items), exported, line);
                        }
                        Some(Stored::Scalar(mut text)) => {
                            text.append(&mut value);
                            value = text;
                        }
                        None => {}
                    }
                }
                if value.is_empty() {
                    value = literal("", line);
                }
                self.assign_scalar(&name, value, exported, line);
            }
            Assigned::Array(words) => {
                let mut items = Vec::new();
                for word in words {
                    items.append(&mut self.fields(word));
                }
                if assignment.append {
                    // Taken out rather than copied: a long script appends many times.
                    let before = self.variables.remove(&name).map(|binding| binding.value);
                    let mut all = match before {
                        Some(Stored::Array(items)) => items,
                        Some(Stored::Scalar(text)) => vec![text],
                        None => Vec::new(),
                    };
                    all.append(&mut items);
                    items = all;
                }
                self.bind(&name, Stored::Array(items), exported, line);
            }
        }
    }
}
