//! The layers of each pipeline stage, where lists of numbers say them.

use crate::config::fields::FieldId;
use crate::formats::import::draft::JobDraft;
use crate::formats::import::key_value::KeyValue;
use crate::formats::report::KeyStatus;
use crate::value::Value;

/// The longest list of layers that is read.
pub(in crate::formats) const MAX_LAYERS: usize = 1_000;

/// Whole numbers separated by commas.
pub(in crate::formats) fn numbers(value: &Value) -> Vec<usize> {
    let text = value.to_string();
    let parts = text.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).take(MAX_LAYERS).collect()
}

/// Sets the layers of each pipeline stage, with the embedding on the first, and MTP layers and the output layer on the
/// last.
pub(in crate::formats) fn set_stages(draft: &mut JobDraft, item: &KeyValue, stages: &[usize]) {
    let depths = draft.number(FieldId::mtp_num_layers).unwrap_or(0);
    let depths = usize::try_from(depths).unwrap_or(0).min(MAX_LAYERS);
    let last = stages.len().saturating_sub(1);
    let texts = stages.iter().enumerate().map(|(at, count)| {
        let embedding = if at == 0 { "E" } else { "" };
        let end = if at == last {
            format!("{}L", "m".repeat(depths))
        } else {
            String::new()
        };
        format!("{embedding}{}{end}", "t".repeat(*count))
    });
    let layout = texts.collect::<Vec<_>>().join("|");
    let id = FieldId::pipeline_model_parallel_layout;
    draft.set(
        item,
        id,
        Value::Text(layout),
        KeyStatus::Derived,
        "layers of each stage",
    );
}
