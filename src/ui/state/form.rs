//! The form: which module it edits, and how much of it is open.

use leptos::prelude::*;

use super::Disclosure;
use megatron_memory::config::fields::FieldId;

/// The state of the form.
#[derive(Clone, Copy, Debug, Default)]
pub struct FormState {
    /// The index of the module that the form edits.
    pub module: RwSignal<usize>,
    /// The sections that are open, and how far.
    pub disclosure: RwSignal<Disclosure>,
    /// The field of the job that was edited last, beside which its problems are explained; none after the whole job has
    /// been replaced.
    pub edited: RwSignal<Option<FieldId>>,
}
