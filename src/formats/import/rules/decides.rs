//! The fields that a key decides, known without its value: for keys that have none.

use crate::config::fields::FieldId;
use crate::formats::dialects::destinations::field_of;
use crate::formats::dialects::framework::Framework;
use crate::formats::dialects::meaning::{Decides, KeyMeaning};

/// The fields that a key decides. Used to report a key that has no value.
pub(in crate::formats) fn decides(framework: &Framework, name: &str) -> Decides {
    let of_field = |destination: &str| match destination {
        "cuda_graph_scope_deprecated" => Decides::field(FieldId::cuda_graph_modules),
        _ => field_of(destination).map_or(Decides::Nothing, Decides::field),
    };
    let find = framework.find;
    let meaning = match find(name) {
        Some(KeyMeaning::Retired(Some(successor))) => find(successor),
        meaning => meaning,
    };
    match meaning {
        None | Some(KeyMeaning::Retired(_) | KeyMeaning::Irrelevant | KeyMeaning::NotModelled { .. }) => {
            Decides::Nothing
        }
        Some(KeyMeaning::Field(destination) | KeyMeaning::Opposite(destination)) => of_field(destination),
        Some(KeyMeaning::Role(role)) => role.decides,
    }
}
