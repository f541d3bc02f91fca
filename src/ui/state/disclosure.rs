//! The sections of the form that are open, and how many of their fields they show.

use megatron_memory::config::field::{Group, Level};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::relevance::Relevance;

/// One entry for each group of fields, indexed by `group as usize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disclosure {
    open: [bool; Group::ALL.len()],
    level: [Level; Group::ALL.len()],
}

impl Default for Disclosure {
    /// A first visit shows parallelism, batch and hardware, each with its essential fields.
    fn default() -> Self {
        Self {
            open: Group::ALL.map(|g| matches!(g, Group::Parallelism | Group::Batch | Group::Hardware)),
            level: [Level::Essential; Group::ALL.len()],
        }
    }
}

impl Disclosure {
    /// Whether the section is open.
    #[must_use]
    pub fn is_open(&self, group: Group) -> bool {
        self.open.get(group as usize).copied().unwrap_or_default()
    }

    /// The highest level of field that the section shows.
    #[must_use]
    pub fn level(&self, group: Group) -> Level {
        let level = self.level.get(group as usize);
        level.copied().unwrap_or(Level::All)
    }

    /// Opens a closed section and closes an open one.
    pub fn toggle(&mut self, group: Group) {
        if let Some(open) = self.open.get_mut(group as usize) {
            *open = !*open;
        }
    }

    /// Shows the fields up to this level.
    pub fn set_level(&mut self, group: Group, level: Level) {
        if let Some(slot) = self.level.get_mut(group as usize) {
            *slot = level;
        }
    }

    /// Opens the section of a field far enough to show it. A field that means nothing for the job shows only among all.
    pub fn reveal(&mut self, id: FieldId, relevance: &Relevance) {
        let presentation = id.field();
        let level = if relevance.has(id) {
            presentation.level
        } else {
            Level::All
        };
        if let Some(open) = self.open.get_mut(presentation.group as usize) {
            *open = true;
        }
        if self.level(presentation.group) < level {
            self.set_level(presentation.group, level);
        }
    }
}
