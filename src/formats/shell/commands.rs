//! Simple commands: those that change variables, such as `export`, and those that start training.

use std::rc::Rc;

use super::condition::Verdict;
use super::interpreter::{MAX_REPORTED, Machine, Stored};
use super::syntax::{self, Statement};
use super::text::{Text, is_unresolved, joined, literal};
use super::{Command, Note, NoteKind, Word, flags, launch, parser};

impl Machine<'_> {
    pub(super) fn simple(&mut self, words: &[syntax::Word], line: u32) -> Verdict {
        let Some(first) = words.first() else {
            return Verdict::default();
        };
        if matches!(first.bare(), Some("[[" | "[" | "test")) {
            return self.condition(words);
        }
        let mut fields = Vec::new();
        for word in words {
            fields.append(&mut self.fields(word));
        }
        self.command(fields, line)
    }

    fn command(&mut self, fields: Vec<Text>, line: u32) -> Verdict {
        let Some(first) = fields.first() else {
            return Verdict::default();
        };
        let name = joined(first);
        match name.as_str() {
            "true" | ":" => return Verdict::of_test(Some(true)),
            "false" => return Verdict::of_test(Some(false)),
            "unset" => {
                for field in &fields {
                    self.variables.remove(&joined(field));
                }
            }
            "shift" => {
                if let Some(frame) = self.frames.last_mut()
                    && !frame.is_empty()
                {
                    frame.remove(0);
                }
            }
            "let" => self.not_followed("let", line),
            "set" if fields.iter().any(|field| joined(field) == "--") => self.not_followed("set --", line),
            "source" | "." => {
                let path = fields.get(1).map(|field| joined(field)).unwrap_or_default();
                self.note(Note {
                    line,
                    kind: NoteKind::Sourced(path),
                });
            }
            "printf" => self.printf(&fields, line),
            "eval" => {
                let mut script = Text::new();
                for mut field in fields.into_iter().skip(1) {
                    script.append(&mut literal(" ", line));
                    script.append(&mut field);
                }
                self.script(&script, line);
            }
            "set" | "echo" | "cd" | "mkdir" | "exit" | "return" | "wait" | "trap" | "ulimit" | "pip" | "rm" | "cp"
            | "ls" | "read" | "module" | "sleep" | "tee" | "conda" => {}
            _ => {
                if let Some(body) = self.functions.get(&name).map(Rc::clone) {
                    self.call(&body, fields);
                } else if let Some(at) = launch::nested_script(&fields) {
                    let script = fields.get(at).cloned().unwrap_or_default();
                    let before = self.commands.len();
                    self.script(&script, line);
                    let wrapper = self.words(fields.into_iter().take(at).collect());
                    launch::wrap(self.commands.get_mut(before..), &wrapper, line);
                } else {
                    self.launch(fields);
                }
            }
        }
        Verdict::default()
    }

    pub(super) fn not_followed(&mut self, construct: &'static str, line: u32) {
        let kind = NoteKind::NotFollowed(construct);
        self.note(Note { line, kind });
    }

    fn call(&mut self, body: &[Statement], fields: Vec<Text>) {
        if self.enter() {
            self.frames.push(fields.into_iter().skip(1).collect());
            self.all(body);
            self.frames.pop();
            self.leave();
        }
    }

    /// Follows a text that bash would run as a script, as of `eval` and `bash -c`.
    fn script(&mut self, script: &[super::text::Piece], line: u32) {
        if !self.enter() {
            return;
        }
        let mut text = String::new();
        let mut marks = Vec::new();
        let mut position = 0;
        for piece in script {
            marks.push((position, piece.line));
            text.push_str(&piece.text);
            position += piece.text.chars().count();
        }
        if self.spend(text.len(), line) {
            let (statements, notes) = parser::parse(&text, line, marks);
            for note in notes {
                self.note(note);
            }
            self.all(&statements);
        }
        self.leave();
    }

    /// `printf -v NAME format arguments…` with `%s` and `%d`.
    fn printf(&mut self, fields: &[Text], line: u32) {
        let [_, option, name, format, arguments @ ..] = fields else {
            return;
        };
        if joined(option) != "-v" {
            return;
        }
        let format = joined(format);
        let mut arguments = arguments.iter();
        let mut text = Text::new();
        // The format is used again while arguments are left.
        loop {
            let before = arguments.len();
            let mut parts = format.split('%');
            text.append(&mut literal(unescaped(parts.next().unwrap_or_default()), line));
            while let Some(part) = parts.next() {
                if let Some(rest) = part.strip_prefix(['s', 'd']) {
                    text.extend(arguments.next().into_iter().flatten().cloned());
                    text.append(&mut literal(unescaped(rest), line));
                } else if part.is_empty() {
                    let rest = parts.next().unwrap_or_default();
                    text.append(&mut literal(format!("%{}", unescaped(rest)), line));
                } else {
                    return;
                }
            }
            if arguments.len() == 0 || arguments.len() == before {
                break;
            }
        }
        self.assign_scalar(&joined(name), text, false, line);
    }

    fn launch(&mut self, fields: Vec<Text>) {
        // Most commands of a script start nothing; only those with flags are looked at closely.
        let dashed = |field: &Text| {
            let first = field.iter().find(|piece| !piece.text.is_empty());
            first.is_some_and(|piece| piece.text.starts_with('-'))
        };
        let flagged = fields.iter().any(dashed);
        let overrides = fields
            .iter()
            .any(|field| field.iter().any(|piece| piece.text.contains('=')));
        if !flagged && !overrides || self.commands.len() >= MAX_REPORTED {
            return;
        }
        let words = self.words(fields);
        if let Some(mut command) = launch::split(&words) {
            command.counts = self.scalars(launch::is_count);
            let bare = command.program.is_none() && command.launcher.is_empty();
            match self.commands.last_mut() {
                // Flags on lines of their own, without backslashes.
                Some(last) if bare && last.program.is_none() && last.launcher.is_empty() => {
                    last.flags.extend(command.flags);
                    last.arguments.extend(command.arguments);
                }
                _ => self.commands.push(command),
            }
        }
    }

    pub(super) fn words(&mut self, fields: Vec<Text>) -> Vec<Word> {
        fields
            .into_iter()
            .map(|field| {
                let line = field.first().map_or(self.line, |piece| piece.line);
                self.word(&field, line)
            })
            .collect()
    }

    pub(super) fn word(&mut self, text: &[super::text::Piece], line: u32) -> Word {
        let origins: Vec<u32> = text.iter().flat_map(|piece| piece.origins.iter().copied()).collect();
        Word {
            text: joined(text),
            line: text
                .iter()
                .find(|piece| !piece.text.is_empty())
                .map_or(line, |piece| piece.line),
            unresolved: is_unresolved(text),
            variables: self.names(&origins),
        }
    }

    /// The flags that a variable holds.
    pub(super) fn flags_in(&mut self, name: &str, line: u32) -> Option<Command> {
        let before = self.commands.len();
        match self.variables.get(name)?.value.clone() {
            Stored::Array(items) => {
                let holds = |item: &Text| flags::is_flag(&joined(item));
                if !items.iter().any(holds) {
                    return None;
                }
                let words = self.words(items);
                let (flags, arguments) = flags::group(&words);
                Some(Command {
                    line,
                    flags,
                    arguments,
                    ..Command::default()
                })
            }
            Stored::Scalar(text) => {
                let holds = text.iter().any(|piece| piece.text.contains("--"));
                if !holds || joined(&text).split_whitespace().count() < 2 {
                    return None;
                }
                if !text.first().is_some_and(|piece| {
                    piece
                        .text
                        .trim_start()
                        .starts_with(|c: char| c.is_alphabetic() || c == '/')
                }) {
                    let words = self.words(super::text::split(&text));
                    let (flags, arguments) = flags::group(&words);
                    return Some(Command {
                        line,
                        flags,
                        arguments,
                        ..Command::default()
                    });
                }
                self.script(&text, line);
                let found = self.commands.drain(before..);
                found.max_by_key(|command| command.flags.len())
            }
        }
    }
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}
