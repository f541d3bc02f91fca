//! Words to text: parameters, arithmetic, and the few command substitutions that are pure text.

use super::arithmetic::{self, Failure, Names};
use super::interpreter::{Machine, Stored};
use super::syntax::{Action, Index, Kind, Statement, Word};
use super::{Note, NoteKind, parser};

/// A piece of expanded text; a value that spans lines has several.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) line: u32,
    pub(super) unresolved: bool,
    /// Positions in [`Machine::externals`] of the variables that went in.
    pub(super) origins: Vec<u32>,
}

/// Expanded text.
pub(super) type Text = Vec<Piece>;

/// Most origins that one piece keeps.
const MAX_ORIGINS: usize = 16;

/// Longest command substitution that is looked into, in bytes.
const MAX_SUBSTITUTION: usize = 1_000;

pub(super) fn literal(text: impl Into<String>, line: u32) -> Text {
    vec![Piece {
        text: text.into(),
        line,
        ..Piece::default()
    }]
}

pub(super) fn joined(text: &[Piece]) -> String {
    text.iter().map(|piece| piece.text.as_str()).collect()
}

pub(super) fn is_unresolved(text: &[Piece]) -> bool {
    text.iter().any(|piece| piece.unresolved)
}

/// A parameter's value: one text, or one per element.
enum Value {
    One(Text),
    Many(Vec<Text>),
}

impl Machine<'_> {
    /// The fields that a word becomes, as in a command's arguments.
    pub(super) fn fields(&mut self, word: &Word) -> Vec<Text> {
        let mut fields = Fields::default();
        for part in &word.parts {
            match &part.kind {
                Kind::Text(text) => {
                    let text = self.paid(literal(text.as_str(), part.line));
                    if !text.is_empty() {
                        fields.append(&text);
                    }
                }
                kind => {
                    let value = self.value(kind, part.line, part.quoted);
                    match value {
                        Value::One(text) if part.quoted => fields.append(&text),
                        Value::One(text) => fields.split(&text),
                        Value::Many(items) => {
                            for (i, item) in items.iter().enumerate() {
                                if i > 0 {
                                    fields.finish();
                                }
                                if part.quoted {
                                    fields.append(item);
                                } else {
                                    fields.split(item);
                                }
                            }
                        }
                    }
                }
            }
        }
        fields.finish();
        fields.done
    }

    /// The text that a word becomes where it is not split, as in an assignment.
    pub(super) fn text(&mut self, word: &Word) -> Text {
        let mut text = Text::new();
        for part in &word.parts {
            match &part.kind {
                Kind::Text(literal_text) => {
                    if !literal_text.is_empty() {
                        text.append(&mut self.paid(literal(literal_text.as_str(), part.line)));
                    }
                }
                kind => match self.value(kind, part.line, part.quoted) {
                    Value::One(mut value) => text.append(&mut value),
                    Value::Many(items) => text.append(&mut join(items, ' ', part.line)),
                },
            }
        }
        text
    }

    /// `text`, or nothing when the budget for expansion is spent.
    fn paid(&mut self, text: Text) -> Text {
        let bytes: usize = text.iter().map(|piece| piece.text.len() + 16).sum();
        let line = text.first().map_or(self.line, |piece| piece.line);
        if self.spend(bytes, line) {
            text
        } else {
            Text::new()
        }
    }

    fn value(&mut self, kind: &Kind, line: u32, quoted: bool) -> Value {
        match kind {
            Kind::Text(text) => Value::One(literal(text.as_str(), line)),
            Kind::Arithmetic(word) => Value::One(self.arithmetic(word, line)),
            Kind::Command(text) => Value::One(self.substitution(text, line)),
            Kind::Parameter {
                name,
                index,
                action,
            } => self.parameter(name, index, action, line, quoted),
        }
    }

    fn parameter(
        &mut self,
        name: &str,
        index: &Index,
        action: &Action,
        line: u32,
        quoted: bool,
    ) -> Value {
        let found = self.look_up(name, index, line);
        let is_set = found.is_some();
        let is_empty = match &found {
            None => true,
            Some(Value::One(text)) => text.iter().all(|piece| piece.text.is_empty()),
            Some(Value::Many(items)) => items.is_empty(),
        };
        match action {
            Action::Plain | Action::Required => {
                match found {
                    Some(value) => value,
                    // The script's own arguments: none are known, and most often there are none.
                    None if matches!(name, "@" | "*") => Value::Many(Vec::new()),
                    None => Value::One(self.unknown(name, line, None)),
                }
            }
            Action::Length => {
                let length = match found {
                    None => return Value::One(self.unknown(name, line, None)),
                    Some(Value::Many(items)) => items.len(),
                    Some(Value::One(text)) => joined(&text).chars().count(),
                };
                Value::One(literal(length.to_string(), line))
            }
            Action::Default {
                colon,
                assign,
                word,
            } => {
                if is_set && !(*colon && is_empty) {
                    return found.unwrap_or(Value::One(Text::new()));
                }
                let mut text = self.text(word);
                if !is_set {
                    let default = joined(&text);
                    let id = self.external(name, line, Some(&default));
                    if text.is_empty() {
                        text = literal("", line);
                    }
                    for piece in &mut text {
                        add_origin(piece, id);
                        piece.line = line;
                    }
                }
                if *assign {
                    self.assign_scalar(name, text.clone(), false, line);
                }
                Value::One(text)
            }
            Action::Alternative { colon, word } => {
                if !is_set {
                    self.external(name, line, Some(""));
                }
                if !is_set || (*colon && is_empty) {
                    return Value::Many(Vec::new());
                }
                if quoted {
                    Value::One(self.text(word))
                } else {
                    Value::Many(self.fields(word))
                }
            }
            Action::Upper | Action::Lower => match found {
                Some(Value::One(mut text)) => {
                    for piece in text.iter_mut().filter(|piece| !piece.unresolved) {
                        piece.text = if matches!(action, Action::Upper) {
                            piece.text.to_uppercase()
                        } else {
                            piece.text.to_lowercase()
                        };
                    }
                    Value::One(text)
                }
                Some(value) => value,
                None => Value::One(self.unknown(name, line, None)),
            },
            Action::Other => Value::One(vec![Piece {
                text: format!("${{{name}…}}"),
                line,
                unresolved: true,
                origins: match found {
                    Some(Value::One(text)) => text
                        .into_iter()
                        .flat_map(|piece| piece.origins)
                        .take(MAX_ORIGINS)
                        .collect(),
                    _ => Vec::new(),
                },
            }]),
        }
    }

    /// What stands for a variable without a value.
    pub(super) fn unknown(&mut self, name: &str, line: u32, default: Option<&str>) -> Text {
        let id = self.external(name, line, default);
        vec![Piece {
            text: format!("${{{name}}}"),
            line,
            unresolved: true,
            origins: vec![id],
        }]
    }

    fn look_up(&mut self, name: &str, index: &Index, line: u32) -> Option<Value> {
        if let Some(arguments) = self.positional(name) {
            return Some(match name {
                "@" => Value::Many(arguments),
                "*" => Value::One(join(arguments, ' ', line)),
                "#" => Value::One(literal(arguments.len().to_string(), line)),
                _ => Value::One(arguments.into_iter().next()?),
            });
        }
        let keyed = if let Index::At(word) = index {
            let key = joined(&self.text(word));
            Some(key)
        } else {
            None
        };
        let lookup = match &keyed {
            Some(key) if self.has(&format!("{name}[{key}]")) => format!("{name}[{key}]"),
            _ => name.to_owned(),
        };
        let value = match self.stored(&lookup, line)? {
            Stored::Scalar(text) => {
                let keyed_array = keyed
                    .as_deref()
                    .is_some_and(|key| lookup == name && key != "0");
                if keyed_array {
                    return None;
                }
                match index {
                    Index::Each => Value::Many(vec![text]),
                    _ => Value::One(text),
                }
            }
            Stored::Array(items) => match (index, keyed) {
                (Index::Each, _) => Value::Many(items),
                (Index::Joined, _) => {
                    let separator = self.separator();
                    Value::One(join(items, separator, line))
                }
                (_, Some(key)) => {
                    let at = arithmetic::evaluate(&key, self).ok()?;
                    let length = i64::try_from(items.len()).ok()?;
                    let at = if at < 0 { at.checked_add(length)? } else { at };
                    Value::One(items.into_iter().nth(usize::try_from(at).ok()?)?)
                }
                (_, None) => Value::One(items.into_iter().next()?),
            },
        };
        Some(self.pay_for(value))
    }

    fn pay_for(&mut self, value: Value) -> Value {
        match value {
            Value::One(text) => Value::One(self.paid(text)),
            Value::Many(items) => Value::Many(
                items
                    .into_iter()
                    .map(|text| self.paid(text))
                    .filter(|text| !text.is_empty())
                    .collect(),
            ),
        }
    }

    /// What joins an array's elements in `"${A[*]}"`.
    fn separator(&mut self) -> char {
        match self.stored("IFS", 0) {
            Some(Stored::Scalar(text)) => joined(&text).chars().next().unwrap_or(' '),
            _ => ' ',
        }
    }

    fn arithmetic(&mut self, word: &Word, line: u32) -> Text {
        let operands = self.text(word);
        let mut origins = Vec::new();
        for origin in operands.iter().flat_map(|piece| &piece.origins) {
            if !origins.contains(origin) && origins.len() < MAX_ORIGINS {
                origins.push(*origin);
            }
        }
        let source = joined(&operands);
        self.read_origins.clear();
        let result = arithmetic::evaluate(&source, self);
        for origin in std::mem::take(&mut self.read_origins) {
            if !origins.contains(&origin) && origins.len() < MAX_ORIGINS {
                origins.push(origin);
            }
        }
        let (text, unresolved) = match result {
            Ok(value) => (value.to_string(), false),
            Err(failure) => {
                if let Failure::Unknown(name) = failure {
                    let id = self.external(&name, line, None);
                    if !origins.contains(&id) {
                        origins.push(id);
                    }
                } else if !is_unresolved(&operands) {
                    let shown = source.chars().take(80).collect();
                    self.note(Note {
                        line,
                        kind: NoteKind::Arithmetic(shown),
                    });
                }
                (format!("$(({source}))"), true)
            }
        };
        self.paid(vec![Piece {
            text,
            line,
            unresolved,
            origins,
        }])
    }

    /// `$(…)`: text when it only joins known text, and otherwise left as it stands.
    fn substitution(&mut self, command: &str, line: u32) -> Text {
        if command.len() <= MAX_SUBSTITUTION && self.spend(command.len() + 16, line) && self.enter()
        {
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
            let Statement::Simple {
                assignments, words, ..
            } = statement
            else {
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
                "echo" => Some(join(
                    fields.filter(|text| joined(text) != "-n").collect(),
                    ' ',
                    line,
                )),
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

impl Names for Machine<'_> {
    fn number(&mut self, name: &str) -> Result<i64, Failure> {
        let text = match self.stored(name, self.line) {
            Some(Stored::Scalar(text)) => text,
            Some(Stored::Array(items)) => items.into_iter().next().unwrap_or_default(),
            None => return Err(Failure::Unknown(name.to_owned())),
        };
        self.read_origins.extend(
            text.iter()
                .flat_map(|piece| &piece.origins)
                .take(MAX_ORIGINS),
        );
        let value = joined(&text);
        let value = value.trim();
        if is_unresolved(&text) {
            return Err(Failure::Unknown(name.to_owned()));
        }
        if let Ok(number) = value.parse() {
            return Ok(number);
        }
        if !self.enter() || !self.spend(value.len(), self.line) {
            return Err(Failure::Malformed);
        }
        let number = arithmetic::evaluate(value, self);
        self.leave();
        number
    }

    fn store(&mut self, name: &str, value: i64) {
        let line = self.line;
        self.assign_scalar(name, literal(value.to_string(), line), false, line);
    }
}

pub(super) fn add_origin(piece: &mut Piece, id: u32) {
    if piece.origins.len() < MAX_ORIGINS && !piece.origins.contains(&id) {
        piece.origins.push(id);
    }
}

fn join(items: Vec<Text>, separator: char, line: u32) -> Text {
    let mut text = Text::new();
    for (i, mut item) in items.into_iter().enumerate() {
        if i > 0 {
            let line = item.first().map_or(line, |piece| piece.line);
            text.append(&mut literal(separator, line));
        }
        text.append(&mut item);
    }
    text
}

/// `seq last`, `seq first last`, `seq first step last`, of at most a thousand numbers.
fn sequence(arguments: &[String], line: u32) -> Option<Text> {
    let numbers: Vec<i64> = arguments
        .iter()
        .map(|text| text.parse().ok())
        .collect::<Option<_>>()?;
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

/// The words of a text that is split at its blanks.
pub(super) fn split(text: &[Piece]) -> Vec<Text> {
    let mut fields = Fields::default();
    fields.split(text);
    fields.finish();
    fields.done
}

/// Fields under construction.
#[derive(Default)]
struct Fields {
    done: Vec<Text>,
    open: Option<Text>,
}

impl Fields {
    fn append(&mut self, text: &[Piece]) {
        self.open.get_or_insert_default().extend_from_slice(text);
    }

    fn finish(&mut self) {
        self.done.extend(self.open.take());
    }

    /// Appends text that is split at its blanks.
    fn split(&mut self, text: &[Piece]) {
        for piece in text {
            if piece.unresolved {
                self.append(std::slice::from_ref(piece));
                continue;
            }
            if piece.text.starts_with(char::is_whitespace) {
                self.finish();
            }
            for (i, field) in piece.text.split_whitespace().enumerate() {
                if i > 0 {
                    self.finish();
                }
                self.append(&[Piece {
                    text: field.to_owned(),
                    ..piece.clone()
                }]);
            }
            if piece.text.ends_with(char::is_whitespace) {
                self.finish();
            }
        }
    }
}
