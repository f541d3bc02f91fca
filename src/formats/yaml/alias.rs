//! Anchored values and their copies.

use std::collections::BTreeMap;

use super::{MAX_DEPTH, MAX_VALUES, YamlErrorKind};
use crate::formats::node::{Data, Node};

/// The values with an anchor, by the number that the parser gives an anchor.
#[derive(Default)]
pub(super) struct Anchors(BTreeMap<usize, Anchored>);

/// A value with an anchor.
struct Anchored {
    data: Data,
    size: Size,
}

/// How much of the limits a value takes.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Its values, itself included; every 64 bytes of text count as one more.
    pub(super) values: usize,
    /// How many lists and maps are open at its deepest place.
    depth: usize,
}

impl Anchors {
    /// Keeps a copy of a value; says how large it is.
    pub(super) fn keep(&mut self, anchor: usize, data: &Data) -> Size {
        let size = Size::of(data);
        // What is larger than everything that may be read is refused by the caller.
        if size.values <= MAX_VALUES {
            let data = data.clone();
            self.0.insert(anchor, Anchored { data, size });
        }
        size
    }

    /// The size of an anchored value that stands inside `depth` lists and maps.
    pub(super) fn size(&self, anchor: usize, depth: usize) -> Result<Size, YamlErrorKind> {
        match self.0.get(&anchor) {
            // `&a [*a]`: the value is not complete yet.
            None => Err(YamlErrorKind::Syntax("a value that contains itself".to_owned())),
            Some(Anchored { size, .. }) if depth + size.depth > MAX_DEPTH => Err(YamlErrorKind::TooDeep),
            Some(Anchored { size, .. }) => Ok(*size),
        }
    }

    /// A copy of an anchored value.
    pub(super) fn copy(&self, anchor: usize) -> Data {
        let anchored = self.0.get(&anchor);
        anchored.map_or(Data::Null, |anchored| anchored.data.clone())
    }
}

impl Size {
    fn of(data: &Data) -> Self {
        let leaf = Self { values: 1, depth: 0 };
        match data {
            Data::Text(text) => leaf.with_text(text),
            Data::List(items) => items.iter().map(Self::of_node).fold(leaf, Self::with_item),
            Data::Map(entries) => entries
                .iter()
                .map(|entry| Self::of_node(&entry.node).with_text(&entry.key))
                .fold(leaf, Self::with_item),
            _ => leaf,
        }
    }

    fn of_node(node: &Node) -> Self {
        Self::of(&node.data)
    }

    fn with_text(self, text: &str) -> Self {
        Self {
            values: self.values + text.len() / 64,
            ..self
        }
    }

    fn with_item(self, item: Self) -> Self {
        Self {
            values: self.values + item.values,
            depth: self.depth.max(item.depth + 1),
        }
    }
}
