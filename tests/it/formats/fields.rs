//! The fields of an imported job.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::import::Import;
use megatron_memory::value::Value;

/// Checks that fields have these values, and that the job breaks no rule.
#[track_caller]
pub(super) fn has(import: &Import, wanted: &[(FieldId, &str)]) {
    let job = &import.state.setup.job;
    for (id, value) in wanted {
        let found = job.shared.get(*id).map(|value| match value {
            Value::Text(text) => text.clone(),
            other => other.to_string(),
        });
        assert_eq!(found.as_deref(), Some(*value), "{}", id.field().name);
    }
    let problems: Vec<_> = check(job).errors().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new());
}
