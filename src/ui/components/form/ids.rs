//! The ids of controls and sections, by which the focus is moved to them.

use megatron_memory::config::field::{Field, Group};

/// The id of a field's control.
pub fn control_id(field: &Field) -> String {
    format!("field-{}", field.key)
}

/// The id of the line of a section.
pub(super) fn line_id(group: Group) -> String {
    format!("line-{}", group as usize)
}
