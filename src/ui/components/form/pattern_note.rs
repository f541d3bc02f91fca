//! What `hybrid_layer_pattern` decides in place of another field.

use crate::config::fields::FieldId;
use crate::config::hybrid_pattern::HybridPattern;
use crate::config::job::Module;
use crate::ui::state::State;
use leptos::prelude::*;

/// A line below the fields that a pattern decides; nothing for other fields, and for modules without a pattern.
#[component]
pub fn PatternNote(id: FieldId) -> impl IntoView {
    let state = expect_context::<State>();
    is_decided(id).then(|| {
        let note = Memo::new(move |_| {
            let outcome = state.outcome.read();
            let module = outcome.as_ref()?.module(state.module.get())?;
            note(id, module, module.hybrid()?)
        });
        move || {
            note.get()
                .map(|note| view! { <p class="pattern-note">{note}</p> })
        }
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

fn note(id: FieldId, module: &Module, pattern: &HybridPattern) -> Option<String> {
    let derived = module.derived();
    let pp = module.stages.pp();
    let vpp = derived.virtual_pipeline_model_parallel_size;
    let segments = pattern.segments().len();
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
        FieldId::pipeline_model_parallel_size if pattern.is_segmented() => format!(
            "The layer pattern decides what stages hold: its | end {segments} segments, {vpp} on each of {pp} ranks."
        ),
        FieldId::pipeline_model_parallel_size if pp > 1 => {
            String::from("The layer pattern has no |, so stages hold equally many layers.")
        }
        FieldId::virtual_pipeline_model_parallel_size => format!(
            "The layer pattern decides: {vpp} of its segments on each rank; write | where one ends."
        ),
        _ => return None,
    })
}
