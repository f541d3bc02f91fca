//! Fields by Megatron-LM's argparse destinations.

use crate::config::fields::FieldId;

/// The field for one of Megatron-LM's argparse destinations.
pub(crate) fn field_of(destination: &str) -> Option<FieldId> {
    FieldId::by_destination(destination).or_else(|| FieldId::by_name(destination))
}

/// Megatron-LM's argparse destination of a field.
pub(crate) fn destination_of(id: FieldId) -> &'static str {
    id.destination()
}
