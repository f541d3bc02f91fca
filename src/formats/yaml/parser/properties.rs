//! What stands in front of a value or in its place: anchors, tags and aliases.

use super::{Parser, Result};
use crate::formats::node::{Data, Node};
use crate::formats::yaml::{MAX_DEPTH, YamlErrorKind, YamlNoteKind, scalar};

/// What stands in front of a value.
#[derive(Default)]
pub(super) struct Properties {
    pub(super) anchor: Option<String>,
    pub(super) tag: Option<String>,
}

/// An anchored value with its size.
pub(super) struct Anchored {
    node: Node,
    values: usize,
    depth: usize,
}

impl Parser {
    /// Gives a node its tag and anchor.
    pub(super) fn finish(
        &mut self,
        mut node: Node,
        properties: Properties,
        before: usize,
    ) -> Result<Node> {
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

    pub(super) fn properties(&mut self) -> Result<Properties> {
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

    pub(super) fn alias(&mut self) -> Result<Node> {
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
