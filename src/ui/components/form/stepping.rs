//! Stepping a number through its legal values, by keys or by the buttons beside it.

use crate::state::State;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use megatron_memory::config::field::{Field, Group, Kind};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::config::suggest::step::{Step, step};
use megatron_memory::value::Value;

/// The step that a key takes in a field; `None` where it is the browser's.
pub(super) fn step_of_key(event: &KeyboardEvent, field: &Field) -> Option<Step> {
    if !matches!(field.kind, Kind::Int { .. }) || event.ctrl_key() || event.alt_key() || event.meta_key() {
        return None;
    }
    // In other numbers, Home and End are better used to move within the text.
    let has_ends = field.group == Group::Parallelism;
    match (event.key().as_str(), event.shift_key()) {
        ("ArrowUp", true) => Some(Step::Double),
        ("ArrowDown", true) => Some(Step::Halve),
        ("ArrowUp", false) => Some(Step::Up),
        ("ArrowDown", false) => Some(Step::Down),
        ("Home", false) if has_ends => Some(Step::First),
        ("End", false) if has_ends => Some(Step::Last),
        _ => None,
    }
}

/// Why the last step of a field could not be taken. It stands below the field until the job changes.
#[derive(Clone, Copy)]
pub(super) struct StepNote(RwSignal<Option<(RawJob, String)>>);

impl StepNote {
    /// Makes the note of a field's row, and provides it as context to the field's control.
    pub(super) fn provide() -> Self {
        let note = Self(RwSignal::new(None));
        provide_context(note);
        note
    }

    /// The note, where it is still about the job on the page.
    pub(super) fn text(self) -> Option<String> {
        let state = expect_context::<State>();
        let note = self.0.read();
        let (job, text) = note.as_ref()?;
        (state.setup.read().job == *job).then(|| text.clone())
    }
}

/// Takes a step, or says that there is none to take: aloud, and in the note of the field's row.
pub(super) fn take_step(state: State, id: FieldId, to: Step, note: Option<StepNote>) {
    let module = state.form.module.get_untracked();
    let (value, derived) = untrack(|| (state.value(id), state.derived_value(id)));
    let mut job = state.setup.get_untracked().job;
    // From an empty field, the way starts at the number that it stands for.
    if let (None | Some(Value::Null), Some(derived)) = (value, derived) {
        job.put(module, id, Value::Int(derived.into()));
    }
    if let Some(there) = step(&job, module, id, to) {
        state.nudge(id, Value::Int(there.into()));
        return;
    }
    let more = match to {
        Step::Up | Step::Double | Step::Last => "larger",
        Step::Down | Step::Halve | Step::First => "smaller",
    };
    let label = id.field().label;
    let has_layout = job
        .get(module, FieldId::pipeline_model_parallel_layout)
        .is_some_and(|layout| *layout != Value::Null);
    let text = match id {
        FieldId::virtual_pipeline_model_parallel_size if has_layout => {
            String::from("Set by the pipeline layout. Edit it.")
        }
        _ => format!("Megatron takes no {more} value of {label} with the other settings as they are."),
    };
    if let Some(StepNote(note)) = note {
        note.set(Some((state.setup.get_untracked().job, text.clone())));
    }
    state.toasts.announce(text);
}
