//! Expands words to text: parameters and arithmetic. Command substitutions are in [`substitution`].

mod substitution;

use super::arithmetic::{self, Failure, Names};
use super::interpreter::{Machine, Stored};
use super::syntax::{Action, Index, Kind, Word};
use super::text::{Fields, MAX_ORIGINS, Piece, Text, add_origin, is_unresolved, join, joined, literal};

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

    /// `text`, or an empty text when the limit of expanded text is reached.
    fn paid(&mut self, text: Text) -> Text {
        let bytes: usize = text.iter().map(|piece| piece.text.len() + 16).sum();
        let line = text.first().map_or(self.line, |piece| piece.line);
        if self.spend(bytes, line) { text } else { Text::new() }
    }

    fn value(&mut self, kind: &Kind, line: u32, quoted: bool) -> Value {
        match kind {
            Kind::Text(text) => Value::One(literal(text.as_str(), line)),
            Kind::Arithmetic(word) => Value::One(self.arithmetic(word, line)),
            Kind::Command(text) => Value::One(self.substitution(text, line)),
            Kind::Parameter { name, index, action } => self.parameter(name, index, action, line, quoted),
        }
    }

    fn parameter(&mut self, name: &str, index: &Index, action: &Action, line: u32, quoted: bool) -> Value {
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
            Action::Default { colon, assign, word } => {
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

    /// The text in place of a variable without a value.
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
        let keyed = match index {
            Index::At(word) => Some(joined(&self.text(word))),
            Index::None | Index::Each | Index::Joined => None,
        };
        let value = match self.stored(name, line)? {
            Stored::Scalar(text) => {
                if keyed.is_some_and(|key| key != "0") {
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

    /// The separator of an array's elements in `"${A[*]}"`.
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
                    self.not_understood(&source, line);
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
}

impl Names for Machine<'_> {
    fn number(&mut self, name: &str) -> Result<i64, Failure> {
        let text = match self.stored(name, self.line) {
            Some(Stored::Scalar(text)) => text,
            Some(Stored::Array(items)) => items.into_iter().next().unwrap_or_default(),
            None => return Err(Failure::Unknown(name.to_owned())),
        };
        self.read_origins
            .extend(text.iter().flat_map(|piece| &piece.origins).take(MAX_ORIGINS));
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
