//! The ids of controls and sections, by which the focus is moved to them.

use megatron_memory::config::field::{Field, Group};

/// What the id of every field's control begins with.
const CONTROL: &str = "field-";

/// The id of a field's control.
pub fn control_id(field: &Field) -> String {
    format!("{CONTROL}{}", field.key)
}

/// Whether an id is that of a field's control.
pub fn is_control_id(id: &str) -> bool {
    id.starts_with(CONTROL)
}

/// The id of the line of a section.
pub(super) fn line_id(group: Group) -> String {
    format!("line-{}", group as usize)
}
