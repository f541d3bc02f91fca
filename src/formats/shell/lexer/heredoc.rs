//! Here-documents.

use super::Lexer;
use crate::formats::shell::NoteKind;
use crate::formats::shell::syntax::{Kind, Word};

impl Lexer {
    /// Remembers the end marker of a here-document.
    pub(in crate::formats::shell) fn heredoc(&mut self, word: &Word, is_script: bool) {
        let marker: String = word
            .parts
            .iter()
            .map(|part| match &part.kind {
                Kind::Text(text) => text.as_str(),
                _ => "",
            })
            .collect();
        if !is_script {
            let line = self.line;
            self.note(line, NoteKind::HereDocument);
        }
        self.heredocs.push((marker, is_script));
    }

    pub(super) fn skip_heredocs(&mut self) {
        for (marker, is_script) in std::mem::take(&mut self.heredocs) {
            let first = self.line;
            let mut body = String::new();
            loop {
                let start = body.len();
                let mut complete = false;
                while let Some(c) = self.advance() {
                    body.push(c);
                    if c == '\n' {
                        complete = true;
                        break;
                    }
                }
                let line = body.get(start..).unwrap_or_default();
                if line.trim() == marker || !complete {
                    body.truncate(start);
                    break;
                }
            }
            if is_script {
                self.scripts.push((body, first));
            }
        }
    }
}
