//! Block style: lists and maps by their indentation.

use super::{Parser, Result};
use crate::formats::node::{Data, Entry, Node};
use crate::formats::yaml::YamlErrorKind;

impl Parser {
    /// The value that starts at the next token, when it is indented deeper than `parent`; otherwise nothing.
    pub(super) fn block(&mut self, parent: Option<usize>) -> Result<Node> {
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
