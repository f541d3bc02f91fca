//! Characters to nodes: documents and block style.

mod flow;
mod text;

use std::collections::BTreeMap;

use super::{
    MAX_DEPTH, MAX_VALUES, Yaml, YamlError, YamlErrorKind, YamlNote, YamlNoteKind, scalar,
};
use crate::formats::node::{Data, Entry, Node};

/// Most remarks that are kept.
const MAX_NOTES: usize = 500;

/// What stands in front of a value.
#[derive(Default)]
struct Properties {
    anchor: Option<String>,
    tag: Option<String>,
}

/// An anchored value with its size.
struct Anchored {
    node: Node,
    values: usize,
    depth: usize,
}

pub(super) struct Parser {
    chars: Vec<char>,
    at: usize,
    line: u32,
    line_start: usize,
    depth: usize,
    values: usize,
    anchors: BTreeMap<String, Anchored>,
    notes: Vec<YamlNote>,
}

type Result<T> = core::result::Result<T, YamlError>;

pub(super) fn document(text: &str) -> Result<Yaml> {
    let mut parser = Parser::new(text, 1);
    parser.prologue()?;
    let root = parser.block(None)?;
    parser.skip_blank_lines()?;
    if parser.peek().is_some() {
        if !parser.at_document_marker() {
            return Err(parser.error(YamlErrorKind::Indentation));
        }
        parser.note_more_documents();
    }
    Ok(Yaml {
        root,
        notes: parser.notes,
    })
}

pub(super) fn value(text: &str, line: u32) -> Result<Node> {
    let mut parser = Parser::new(text, line);
    parser.skip_blank_lines()?;
    let start = (parser.at, parser.line);
    if matches!(parser.peek(), Some('[' | '{' | '"' | '\'')) {
        let node = parser.flow();
        parser.skip_blank_lines()?;
        if parser.peek().is_none() {
            return node;
        }
        // `[0]*3+[1]*58`
        node?;
        (parser.at, parser.line) = start;
    }
    let rest: String = parser.chars.iter().skip(parser.at).collect();
    Ok(Node {
        line: parser.line,
        data: scalar::resolve(rest.trim()).0,
    })
}

impl Parser {
    fn new(text: &str, line: u32) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            chars: text.chars().filter(|&c| c != '\r').collect(),
            at: 0,
            line,
            line_start: 0,
            depth: 0,
            values: 0,
            anchors: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    fn error(&self, kind: YamlErrorKind) -> YamlError {
        YamlError {
            line: self.line,
            kind,
        }
    }

    fn note(&mut self, line: u32, kind: YamlNoteKind) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(YamlNote { line, kind });
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at.checked_add(ahead)?).copied()
    }

    fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.line_start = self.at;
        }
        Some(c)
    }

    fn column(&self) -> usize {
        self.at - self.line_start
    }

    /// Whether the character `ahead` ends a token: blank, line end or text end.
    fn ends_at(&self, ahead: usize) -> bool {
        self.peek_at(ahead).is_none_or(char::is_whitespace)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) {
        let after_blank = self.at == self.line_start
            || self
                .chars
                .get(self.at - 1)
                .is_some_and(|c| c.is_whitespace());
        if self.peek() == Some('#') && after_blank {
            while self.peek().is_some_and(|c| c != '\n') {
                self.at += 1;
            }
        }
    }

    /// Moves to the next character that is neither blank nor part of a comment.
    fn skip_blank_lines(&mut self) -> Result<()> {
        loop {
            let fresh = self.at == self.line_start;
            let start = self.at;
            self.skip_blanks();
            let tabbed = fresh
                && self
                    .chars
                    .get(start..self.at)
                    .is_some_and(|s| s.contains(&'\t'));
            self.skip_comment();
            if self.peek() != Some('\n') {
                return if tabbed && self.peek().is_some() {
                    Err(self.error(YamlErrorKind::Tab))
                } else {
                    Ok(())
                };
            }
            self.advance();
        }
    }

    /// Whether nothing but blanks and a comment is left on the line.
    fn at_line_end(&mut self) -> bool {
        self.skip_blanks();
        self.skip_comment();
        self.peek().is_none_or(|c| c == '\n')
    }

    fn at_document_marker(&self) -> bool {
        let marker = |c: char| (0..3).all(|i| self.peek_at(i) == Some(c));
        self.column() == 0 && (marker('-') || marker('.')) && self.ends_at(3)
    }

    /// Directives and the first `---`.
    fn prologue(&mut self) -> Result<()> {
        loop {
            self.skip_blank_lines()?;
            if self.column() == 0 && self.peek() == Some('%') {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else {
                break;
            }
        }
        if self.at_document_marker() && self.peek() == Some('-') {
            self.at += 3;
        }
        Ok(())
    }

    fn note_more_documents(&mut self) {
        let line = self.line;
        self.at += 3;
        if self.skip_blank_lines().is_ok() && self.peek().is_some() {
            self.note(line, YamlNoteKind::MoreDocuments);
        }
    }

    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(YamlErrorKind::TooDeep));
        }
        Ok(())
    }

    fn count(&mut self, values: usize) -> Result<()> {
        self.values = self.values.saturating_add(values);
        if self.values > MAX_VALUES {
            return Err(self.error(YamlErrorKind::TooMany));
        }
        Ok(())
    }

    /// The value that starts at the next token, when it is indented deeper than `parent`; otherwise nothing.
    fn block(&mut self, parent: Option<usize>) -> Result<Node> {
        let line = self.line;
        self.skip_blank_lines()?;
        let outside = parent.is_some_and(|parent| self.column() <= parent);
        if self.peek().is_none() || outside || self.at_document_marker() {
            self.count(1)?;
            return Ok(Node {
                line,
                data: Data::Null,
            });
        }
        self.block_here(parent, true)
    }

    /// The value that starts at this character. `maps`: whether `key: value` may stand here.
    fn block_here(&mut self, parent: Option<usize>, maps: bool) -> Result<Node> {
        let values = self.values;
        let first_line = self.line;
        let mut maps = maps;
        let column = self.column();
        let properties = self.properties()?;
        let has_properties = properties.anchor.is_some() || properties.tag.is_some();
        if has_properties && self.at_line_end() {
            self.skip_blank_lines()?;
            maps = true;
        }
        self.enter()?;
        let at_key = maps && self.at_key();
        let outside = self.line != first_line
            && parent.is_some_and(|parent| self.column() <= parent)
            && !(self.at_dash() && Some(self.column()) == parent);
        let node = if outside || self.peek().is_none() {
            self.count(1)?;
            Node {
                line: first_line,
                data: Data::Null,
            }
        } else if self.at_dash() {
            self.sequence(self.column())?
        } else if self.peek() == Some('?') && self.ends_at(1) {
            return Err(self.error(YamlErrorKind::Expected("a plain key")));
        } else if at_key {
            // `&a key: value` anchors the key; the map still starts at the anchor's column.
            let column = if self.line == first_line {
                column
            } else {
                self.column()
            };
            self.map(column)?
        } else {
            self.scalar_or_flow(parent)?
        };
        self.depth -= 1;
        self.finish(node, properties, values)
    }

    fn at_dash(&self) -> bool {
        self.peek() == Some('-') && self.ends_at(1)
    }

    /// Gives a node its tag and anchor.
    fn finish(&mut self, mut node: Node, properties: Properties, before: usize) -> Result<Node> {
        if let Some(tag) = properties.tag {
            self.apply_tag(&mut node, &tag);
        }
        if let Some(anchor) = properties.anchor {
            let values = self.values - before;
            // The copy that is kept counts too.
            self.count(values)?;
            let depth = depth_of(&node);
            self.anchors.insert(
                anchor,
                Anchored {
                    node: node.clone(),
                    values,
                    depth,
                },
            );
        }
        Ok(node)
    }

    fn apply_tag(&mut self, node: &mut Node, tag: &str) {
        let name = tag.strip_prefix("!!").unwrap_or(tag);
        match name {
            "str" => {
                let text = match &node.data {
                    Data::Text(_) | Data::List(_) | Data::Map(_) => return,
                    Data::Null => String::new(),
                    _ => node.to_value().to_string(),
                };
                node.data = Data::Text(text);
            }
            "int" | "float" | "bool" | "null" | "seq" | "map" => {
                if let Data::Text(text) = &node.data {
                    node.data = scalar::resolve(text).0;
                }
            }
            _ => {
                let empty = matches!(&node.data, Data::Null)
                    || matches!(&node.data, Data::Text(text) if text.is_empty());
                // `!!python/name:torch.bfloat16 ''`: the name is the value.
                if empty && let Some((_, object)) = name.split_once("python/name:") {
                    node.data = Data::Text(object.to_owned());
                } else if name != "python/tuple" {
                    self.note(node.line, YamlNoteKind::Tag(tag.to_owned()));
                }
            }
        }
    }

    fn properties(&mut self) -> Result<Properties> {
        let mut properties = Properties::default();
        loop {
            match self.peek() {
                Some('&') => {
                    self.at += 1;
                    properties.anchor = Some(self.word());
                }
                Some('!') => properties.tag = Some(self.word()),
                _ => return Ok(properties),
            }
            self.skip_blanks();
            // An alias cannot have properties; nothing else needs a check here.
            if self.peek() == Some('*') {
                return Err(self.error(YamlErrorKind::Expected("a value")));
            }
        }
    }

    /// Characters up to a blank or a flow indicator.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self
            .peek()
            .filter(|c| !c.is_whitespace() && !",[]{}".contains(*c))
        {
            word.push(c);
            self.at += 1;
        }
        word
    }

    fn alias(&mut self) -> Result<Node> {
        let line = self.line;
        self.at += 1;
        let name = self.word();
        let Some(anchored) = self.anchors.get(&name) else {
            return Err(self.error(YamlErrorKind::UnknownAlias(name)));
        };
        let (values, depth) = (anchored.values, anchored.depth);
        if self.depth + depth > MAX_DEPTH {
            return Err(self.error(YamlErrorKind::TooDeep));
        }
        self.count(values)?;
        // Counted before it is copied, so that nothing can grow first.
        let data = self
            .anchors
            .get(&name)
            .map(|anchored| anchored.node.data.clone());
        Ok(Node {
            line,
            data: data.unwrap_or(Data::Null),
        })
    }

    fn sequence(&mut self, indent: usize) -> Result<Node> {
        let line = self.line;
        self.count(1)?;
        let mut items = Vec::new();
        while self.at_dash() && self.column() == indent && !self.at_document_marker() {
            self.at += 1;
            let item = if self.at_line_end() {
                self.block(Some(indent))?
            } else {
                self.block_here(Some(indent), true)?
            };
            items.push(item);
            self.end_of_item(indent)?;
        }
        Ok(Node {
            line,
            data: Data::List(items),
        })
    }

    /// After a value: the next token must start a line that is not indented deeper.
    fn end_of_item(&mut self, indent: usize) -> Result<()> {
        if !self.at_line_end() && self.at != self.line_start && !self.starts_line() {
            return Err(self.error(YamlErrorKind::Expected("the end of the line")));
        }
        self.skip_blank_lines()?;
        if self.peek().is_some() && self.column() > indent {
            return Err(self.error(YamlErrorKind::Indentation));
        }
        Ok(())
    }

    /// Whether only blanks stand before this character on its line.
    fn starts_line(&self) -> bool {
        self.chars
            .get(self.line_start..self.at)
            .is_some_and(|before| before.iter().all(|c| c.is_whitespace()))
    }

    fn map(&mut self, indent: usize) -> Result<Node> {
        let line = self.line;
        self.count(1)?;
        let mut entries = Vec::new();
        let mut merged: Vec<Entry> = Vec::new();
        loop {
            let key_line = self.line;
            let (key, plain) = self.key()?;
            self.at += 1;
            let node = if self.at_line_end() {
                self.value_below(indent)?
            } else {
                self.block_here(Some(indent), false)?
            };
            if plain && key == "<<" {
                merge(&mut merged, node);
            } else {
                entries.push(Entry {
                    key,
                    line: key_line,
                    node,
                });
            }
            self.end_of_item(indent)?;
            let next =
                self.peek().is_some() && self.column() == indent && !self.at_document_marker();
            if !next {
                break;
            }
            // A dash in a key's column belongs to the list around this map.
            if self.at_dash() {
                break;
            }
            if !self.at_key() {
                return Err(self.error(YamlErrorKind::Expected("a key and a colon")));
            }
        }
        if !merged.is_empty() {
            let own: std::collections::BTreeSet<&str> =
                entries.iter().map(|entry| entry.key.as_str()).collect();
            merged.retain(|entry| !own.contains(entry.key.as_str()));
            merged.append(&mut entries);
            entries = merged;
        }
        Ok(Node {
            line,
            data: Data::Map(entries),
        })
    }

    /// The value on the lines after `key:`; a list may start in the key's own column.
    fn value_below(&mut self, indent: usize) -> Result<Node> {
        let line = self.line;
        self.skip_blank_lines()?;
        if self.at_dash() && self.column() == indent && !self.at_document_marker() {
            self.enter()?;
            let node = self.sequence(indent)?;
            self.depth -= 1;
            return Ok(node);
        }
        let below = self.block(Some(indent))?;
        Ok(match below.data {
            Data::Null if below.line != self.line => Node { line, ..below },
            _ => below,
        })
    }
}

/// Puts the entries of a merged map, or of a list of them, behind those merged before.
fn merge(merged: &mut Vec<Entry>, node: Node) {
    match node.data {
        // Entries found first win, and in a node the last one does.
        Data::Map(mut entries) => {
            entries.append(merged);
            *merged = entries;
        }
        Data::List(items) => {
            for item in items {
                merge(merged, item);
            }
        }
        _ => {}
    }
}

fn depth_of(node: &Node) -> usize {
    1 + match &node.data {
        Data::List(items) => items.iter().map(depth_of).max().unwrap_or(0),
        Data::Map(entries) => entries
            .iter()
            .map(|entry| depth_of(&entry.node))
            .max()
            .unwrap_or(0),
        _ => 0,
    }
}
