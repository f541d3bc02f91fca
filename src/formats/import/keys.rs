//! The keys of a text, and those among them that derivations read.

use super::key_value::KeyValue;
use crate::formats::dialects::meaning::KeyRole;

/// The keys of a text.
#[derive(Default)]
pub(in crate::formats) struct Keys<'a> {
    /// All keys of a tree with their paths, in the order of the text; none of a command line.
    all: &'a [KeyValue],
    /// The keys that decide fields only together with others, by their roles, in the order of the text.
    kept: Vec<(&'static str, KeyValue)>,
}

impl<'a> Keys<'a> {
    /// The keys of a tree, none of which has been read.
    pub(in crate::formats) const fn of_tree(all: &'a [KeyValue]) -> Self {
        Self { all, kept: Vec::new() }
    }

    /// Keeps a key for the derivations.
    pub(in crate::formats) fn keep(&mut self, role: KeyRole, item: &KeyValue) {
        self.kept.push((role.name, item.clone()));
    }

    /// The key with a role; of several the last, which counts.
    pub(in crate::formats) fn get(&self, role: KeyRole) -> Option<&KeyValue> {
        self.with_role(role).next_back()
    }

    /// All keys with a role.
    pub(in crate::formats) fn with_role(&self, role: KeyRole) -> impl DoubleEndedIterator<Item = &KeyValue> {
        let kept = self.kept.iter().filter(move |(name, _)| *name == role.name);
        kept.map(|(_, item)| item)
    }

    /// All keys of a tree.
    pub(in crate::formats) const fn all(&self) -> &'a [KeyValue] {
        self.all
    }

    /// The key of a tree with a path.
    pub(in crate::formats) fn at(&self, path: &str) -> Option<&'a KeyValue> {
        self.all.iter().find(|item| item.key == path)
    }

    /// The last key of a tree with a path, which counts on command lines.
    pub(in crate::formats) fn last_at(&self, path: &str) -> Option<&'a KeyValue> {
        self.all.iter().rev().find(|item| item.key == path)
    }

    /// The key of a tree with a name, whatever sections it stands in.
    pub(in crate::formats) fn named(&self, name: &str) -> Option<&'a KeyValue> {
        let mut items = self.all.iter();
        items.find(|item| item.key.rsplit('.').next() == Some(name))
    }
}
