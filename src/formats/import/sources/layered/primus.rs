//! Models that a file of Primus only names: their arguments stand in files of Primus (`primus/configs/models/megatron`).

use super::find;
use crate::formats::dialects::layered;
use crate::formats::import::draft::KeyValue;
use crate::formats::report::shown;
use crate::formats::yaml;

/// Adds the arguments of a model that Primus describes by itself, where the text has no others.
pub(super) fn add_model(leaves: &mut Vec<KeyValue>, name: &str) {
    let Some(model) = find(leaves, name) else {
        return;
    };
    let line = model.line;
    for (argument, value) in layered::own_model(&shown(&model.value))
        .into_iter()
        .flatten()
    {
        let key = format!("modules.pre_trainer.overrides.{argument}");
        if find(leaves, &key).is_none() {
            leaves.push(KeyValue {
                key,
                value: yaml::plain_scalar(value).to_value(),
                line,
            });
        }
    }
}
