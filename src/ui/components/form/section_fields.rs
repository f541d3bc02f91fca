//! The fields of a section that show.

use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::field::{Group, Level};
use megatron_memory::config::fields::FieldId;

/// The fields of a group, in the order of their declarations.
pub(super) fn fields_of(group: Group) -> impl Iterator<Item = FieldId> {
    let all = FieldId::ALL.iter().copied();
    all.filter(move |id| id.field().group == group)
}

/// The fields of a section that show.
#[derive(Clone, Copy)]
pub(super) struct SectionFields {
    group: Group,
    /// The highest level that shows.
    pub(super) level: Memo<Level>,
    /// The fields that mean something for the job, or hold something that the reader must see.
    pub(super) mattering: Memo<Vec<FieldId>>,
}

impl SectionFields {
    /// The fields of a group.
    pub(super) fn of(state: State, group: Group) -> Self {
        Self {
            group,
            level: Memo::new(move |_| state.form.disclosure.read().level(group)),
            mattering: Memo::new(move |_| state.mattering(fields_of(group))),
        }
    }

    /// The fields that show at a level. One that means nothing for the job shows only among all.
    pub(super) fn shown_at(self, level: Level) -> Vec<FieldId> {
        let mattering = self.mattering.read();
        let shows = |id: &FieldId| level == Level::All || (id.field().level <= level && mattering.contains(id));
        fields_of(self.group).filter(shows).collect()
    }

    /// The essential fields that show now.
    pub(super) fn essential(self) -> Vec<FieldId> {
        let mut shown = self.shown_at(self.level.get());
        shown.retain(|id| id.field().level == Level::Essential);
        shown
    }

    /// The other fields that show now, level by level.
    pub(super) fn further(self) -> Vec<FieldId> {
        let mut shown = self.shown_at(self.level.get());
        shown.retain(|id| id.field().level != Level::Essential);
        shown.sort_by_key(|id| id.field().level);
        shown
    }
}
