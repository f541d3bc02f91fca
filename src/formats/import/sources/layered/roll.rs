//! What ROLL makes of its keys before its adapter of Megatron-Core sees them (`roll/configs/worker_config.py`).

use super::find;
use crate::config::fields::FieldId;
use crate::formats::import::Question;
use crate::formats::import::draft::{JobDraft, KeyValue};
use crate::formats::import::values::int;
use crate::formats::report::{KeyStatus, shown};
use crate::value::Value;

/// Reads the keys that name the model, the GPUs, and the micro batches of a step; of the first `actor_train` comes
/// before `student`. Returns whether the key is one of them.
pub(super) fn special(draft: &mut JobDraft, leaves: &[KeyValue], item: &KeyValue) -> bool {
    match item.key.as_str() {
        "pretrain" | "student_pretrain" => {
            let name = shown(&item.value);
            draft.questions.push(Question::Model { name });
            let note = "the architecture is in the model's own file";
            draft.row(item, KeyStatus::Derived, None, note);
        }
        "actor_train.device_mapping" | "student.device_mapping" => {
            let Some(gpus) = devices(&shown(&item.value)) else {
                return false;
            };
            let value = Value::Int(gpus.into());
            let note = "the devices of the workers that train";
            draft.set(item, FieldId::world_size, value, KeyStatus::Derived, note);
        }
        "actor_train.training_args.gradient_accumulation_steps"
        | "student.training_args.gradient_accumulation_steps" => {
            let id = FieldId::global_batch_size;
            draft.row(item, KeyStatus::Derived, Some(id), "micro batches of a step");
        }
        // The sequence length of RL is that of a prompt and its response.
        "sequence_length" if find(leaves, "response_length").is_some() => {
            draft.row(item, KeyStatus::Ignored, None, "prompt and response are given");
        }
        _ => return false,
    }
    true
}

/// The number of devices in an expression: `list(range(0,8))`, sums of such, or a list of numbers.
fn devices(text: &str) -> Option<u64> {
    let ranges = text.split("range(").skip(1);
    let counts = ranges.map(|range| {
        let (inside, _) = range.split_once(')')?;
        let mut ends = inside.split(',').map(|end| end.trim().parse::<u64>().ok());
        let (first, second) = (ends.next()??, ends.next());
        match second {
            Some(end) => end?.checked_sub(first),
            None => Some(first),
        }
    });
    let total = counts.sum::<Option<u64>>().filter(|total| *total > 0);
    total.or_else(|| {
        let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
        let count = inside.split(',').filter(|number| !number.trim().is_empty());
        u64::try_from(count.count()).ok()
    })
}

/// Sets the global batch, recomputes layers one at a time, and leaves MTP layers out unless the file asks for them.
pub(super) fn settle(draft: &mut JobDraft, leaves: &[KeyValue]) {
    let full = Value::Text("full".to_owned());
    if draft.settings.get(FieldId::recompute_granularity) == Some(&full) {
        for (id, value) in [
            (FieldId::recompute_method, Value::Text("uniform".to_owned())),
            (FieldId::recompute_num_layers, Value::Int(1)),
        ] {
            if !draft.has(id) {
                draft.default(id, value);
            }
        }
    }
    if !draft.has(FieldId::mtp_num_layers) {
        draft.settings.set(FieldId::mtp_num_layers, Value::Int(0));
    }
    let steps = ["actor_train", "student"].into_iter().find_map(|worker| {
        let path = format!("{worker}.training_args.gradient_accumulation_steps");
        find(leaves, &path).and_then(int)
    });
    let size = |id: FieldId| draft.number(id).unwrap_or(1).max(1);
    let parallel = size(FieldId::tensor_model_parallel_size)
        .saturating_mul(size(FieldId::pipeline_model_parallel_size))
        .saturating_mul(size(FieldId::context_parallel_size));
    let replicas = draft.number(FieldId::world_size).unwrap_or(0) / parallel;
    if let Some(steps) = steps.filter(|_| replicas > 0) {
        let batch = steps
            .saturating_mul(size(FieldId::micro_batch_size))
            .saturating_mul(replicas);
        draft.settings.set(FieldId::global_batch_size, Value::Int(batch.into()));
    }
}
