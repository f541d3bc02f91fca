//! Flow style: `[1, 2]` and `{a: b}`.

use super::{Parser, Result};
use crate::formats::node::{Data, Entry, Node};
use crate::formats::yaml::{YamlErrorKind, YamlNoteKind, scalar};

impl Parser {
    /// A value inside brackets, or the brackets themselves.
    pub(super) fn flow(&mut self) -> Result<Node> {
        let values = self.values;
        let properties = self.properties()?;
        self.skip_flow_blanks();
        self.enter()?;
        let line = self.line;
        let node = match self.peek() {
            Some('[') => self.flow_list()?,
            Some('{') => self.flow_map()?,
            Some('*') => self.alias()?,
            Some('"' | '\'') => {
                self.count(1)?;
                let text = self.quoted()?;
                Node {
                    line,
                    data: Data::Text(text),
                }
            }
            _ => {
                self.count(1)?;
                let text = self.flow_plain();
                let (data, odd) = scalar::resolve(&text);
                if odd {
                    self.note(line, YamlNoteKind::TextForPython(text));
                }
                Node { line, data }
            }
        };
        self.depth -= 1;
        self.finish(node, properties, values)
    }

    fn skip_flow_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(c) if c.is_whitespace() => {
                    self.advance();
                }
                Some('#') => {
                    let before = self.at;
                    self.skip_comment();
                    if self.at == before {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    fn flow_list(&mut self) -> Result<Node> {
        let line = self.line;
        let opened = self.error(YamlErrorKind::Unclosed("list"));
        self.count(1)?;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_flow_blanks();
            match self.peek() {
                None => return Err(opened),
                Some(']') => {
                    self.at += 1;
                    break;
                }
                Some(',') => return Err(self.error(YamlErrorKind::Expected("a value"))),
                _ => {}
            }
            let item = self.flow()?;
            self.skip_flow_blanks();
            // `[a: 1]` is a list of one map.
            if self.peek() == Some(':') {
                return Err(self.error(YamlErrorKind::Expected("a comma")));
            }
            items.push(item);
            self.comma(']', &opened)?;
        }
        Ok(Node {
            line,
            data: Data::List(items),
        })
    }

    fn flow_map(&mut self) -> Result<Node> {
        let line = self.line;
        let opened = self.error(YamlErrorKind::Unclosed("map"));
        self.count(1)?;
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            self.skip_flow_blanks();
            let key_line = self.line;
            let key = match self.peek() {
                None => return Err(opened),
                Some('}') => {
                    self.at += 1;
                    break;
                }
                Some('"' | '\'') => self.quoted()?,
                Some('?') if self.ends_at(1) => {
                    return Err(self.error(YamlErrorKind::Expected("a plain key")));
                }
                Some(',' | '[' | ']' | '{') => {
                    return Err(self.error(YamlErrorKind::Expected("a key")));
                }
                _ => self.flow_plain(),
            };
            self.skip_flow_blanks();
            let node = if self.peek() == Some(':') {
                self.at += 1;
                self.skip_flow_blanks();
                self.flow()?
            } else {
                self.count(1)?;
                Node {
                    line: key_line,
                    data: Data::Null,
                }
            };
            entries.push(Entry {
                key,
                line: key_line,
                node,
            });
            self.comma('}', &opened)?;
        }
        Ok(Node {
            line,
            data: Data::Map(entries),
        })
    }

    fn comma(&mut self, close: char, opened: &super::YamlError) -> Result<()> {
        self.skip_flow_blanks();
        match self.peek() {
            Some(',') => {
                self.at += 1;
                Ok(())
            }
            Some(c) if c == close => Ok(()),
            None => Err(opened.clone()),
            Some(_) => Err(self.error(YamlErrorKind::Expected("a comma"))),
        }
    }

    /// Unquoted text inside brackets; it may go over lines.
    fn flow_plain(&mut self) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek() {
            let separates = self
                .peek_at(1)
                .is_none_or(|next| next.is_whitespace() || ",[]{}".contains(next));
            if ",[]{}".contains(c) || c == ':' && separates {
                break;
            }
            if c == '#' && text.ends_with(' ') {
                break;
            }
            self.advance();
            if c == '\n' {
                // A line end with the blanks around it is one blank.
                text.truncate(text.trim_end().len());
                text.push(' ');
                self.skip_blanks();
            } else {
                text.push(c);
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}
