//! Expanded text with its lines and the environment variables that occur in it.

/// A piece of expanded text. A value that spans several lines has several pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) line: u32,
    pub(super) unresolved: bool,
    /// Indices in [`Machine::externals`] of the environment variables that occur in it.
    pub(super) origins: Vec<u32>,
}

/// Expanded text.
pub(super) type Text = Vec<Piece>;

/// The most environment variables that one piece remembers.
pub(super) const MAX_ORIGINS: usize = 16;

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

pub(super) fn add_origin(piece: &mut Piece, id: u32) {
    if piece.origins.len() < MAX_ORIGINS && !piece.origins.contains(&id) {
        piece.origins.push(id);
    }
}

pub(super) fn join(items: Vec<Text>, separator: char, line: u32) -> Text {
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

/// The words of a text that is split at its blanks.
pub(super) fn split(text: &[Piece]) -> Vec<Text> {
    let mut fields = Fields::default();
    fields.split(text);
    fields.finish();
    fields.done
}

/// Fields under construction.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) done: Vec<Text>,
    open: Option<Text>,
}

impl Fields {
    pub(super) fn append(&mut self, text: &[Piece]) {
        self.open.get_or_insert_default().extend_from_slice(text);
    }

    pub(super) fn finish(&mut self) {
        self.done.extend(self.open.take());
    }

    /// Appends text that is split at its blanks.
    pub(super) fn split(&mut self, text: &[Piece]) {
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
