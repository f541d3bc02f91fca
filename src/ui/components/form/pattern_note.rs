//! The note of a field that `hybrid_layer_pattern` decides in its place.

use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::hybrid_pattern::HybridPattern;
use megatron_memory::value::Value;

/// A line below the fields that a pattern decides; nothing for other fields, and for modules without a pattern.
#[component]
pub fn PatternNote(id: FieldId) -> impl IntoView {
    let state = expect_context::<State>();
    is_decided(id).then(|| {
        let note = Memo::new(move |_| {
            let Some(Value::Text(pattern)) = state.value(FieldId::hybrid_layer_pattern) else {
                return None;
            };
            let pp = state.number(FieldId::pipeline_model_parallel_size);
            note(id, &pattern.parse().ok()?, pp.unwrap_or(1))
        });
        move || note.get().map(|note| view! { <p class="pattern-note">{note}</p> })
    })
}

/// Whether a pattern decides what the field says otherwise.
fn is_decided(id: FieldId) -> bool {
    matches!(
        id,
        FieldId::num_layers
            | FieldId::mtp_num_layers
            | FieldId::pipeline_model_parallel_size
            | FieldId::virtual_pipeline_model_parallel_size
    )
}

/// The note about a field that a pattern decides, with `pp` pipeline ranks.
fn note(id: FieldId, pattern: &HybridPattern, pp: u64) -> Option<String> {
    let segments = pattern.segments().len() as u64;
    // A number of segments that is no multiple of the ranks is a problem, which is shown as one.
    let each = segments.checked_div(pp).filter(|each| each * pp == segments);
    Some(match id {
        FieldId::num_layers => format!(
            "The layer pattern decides: {} layers, one a letter.",
            pattern.layers().count()
        ),
        FieldId::mtp_num_layers => match pattern.depths() {
            0 => String::from("The layer pattern decides: no MTP, as it has no /."),
            1 => String::from("The layer pattern decides: 1 depth, behind its /."),
            depths => format!("The layer pattern decides: {depths} depths, each behind a /."),
        },
        FieldId::pipeline_model_parallel_size if pattern.is_segmented() => {
            let each = match each {
                Some(each) if each > 1 => format!(", {each} for each rank"),
                _ => String::new(),
            };
            format!("Stages end at the | of the layer pattern: {segments} segments{each}.")
        }
        FieldId::pipeline_model_parallel_size if pp > 1 => {
            String::from("The layer pattern has no |, so stages hold equally many layers.")
        }
        FieldId::virtual_pipeline_model_parallel_size if pattern.is_segmented() => {
            format!("The layer pattern decides: {} for each rank.", each?)
        }
        FieldId::virtual_pipeline_model_parallel_size => {
            String::from("The layer pattern decides: one for each rank, as it has no |.")
        }
        _ => return None,
    })
}
