//! Changes of the settings. All of them can be undone.

use super::{Snapshot, State};
use crate::browser;
use crate::values::canonical;
use leptos::prelude::*;
use megatron_memory::config::field::Default;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::RawJob;
use megatron_memory::value::Value;

impl State {
    /// A keystroke: the field holds this text now, valid or not.
    pub fn type_into(&self, id: FieldId, text: &str) {
        // An emptied field that may be absent is absent; any other keeps what it shows and says what is wrong.
        let absent = text.is_empty() && matches!(id.field().default, Default::Derived(_));
        let value = if absent {
            Value::Null
        } else {
            Value::Text(text.to_owned())
        };
        self.nudge(id, value);
    }

    /// The end of typing: from now on, a valid field shows its plain value, such as 131072 for `128k`.
    pub fn finish_typing(&self, id: FieldId) {
        let module = self.form.module.get_untracked();
        let now = self.setup.read_untracked().job.get(module, id).cloned();
        if let Some(now) = now
            && let Some(plain) = canonical(id.field(), &now)
            && plain != now
        {
            self.put(id, plain);
        }
        let now = self.snapshot();
        self.history.update(|history| history.end_run(&now));
    }

    /// Sets a field in one step.
    pub fn set(&self, id: FieldId, value: Value) {
        self.record();
        self.put(id, value);
    }

    /// Sets a field in a step that soon following ones in the same field join, as when an arrow key is held down.
    pub fn nudge(&self, id: FieldId, value: Value) {
        self.toasts.withdraw_undo();
        self.take_over();
        let before = self.snapshot();
        let time = browser::now();
        self.history
            .update(|history| history.record_keystroke(id, time, before));
        self.put(id, value);
    }

    /// Puts fields back to the preset's values, or to their defaults where there is no preset.
    pub fn reset(&self, ids: impl IntoIterator<Item = FieldId>) {
        self.record();
        let module = self.form.module.get_untracked();
        let base = self.baseline.read_untracked();
        self.setup.update(|setup| {
            for id in ids {
                let settings = setup.job.place(module, id);
                match base.get(module, id) {
                    Some(value) => settings.set(id, value.clone()),
                    None => settings.unset(id),
                }
            }
        });
    }

    /// Replaces the job in one step. A job that gets its second module, or loses it, is no longer the preset's.
    pub fn edit(&self, job: RawJob) {
        self.record();
        let of_one_module = self.start.read_untracked().modules.is_empty();
        self.setup.update(|setup| {
            if of_one_module != job.modules.is_empty() {
                setup.preset = None;
            }
            setup.job = job;
        });
        self.keep_module_in_range();
    }

    /// Removes the mark of a key that is not modelled: the estimate is taken as that of the job.
    pub fn unmark(&self, key: &str) {
        self.record();
        self.setup.update(|setup| setup.job.unmark(key));
    }

    /// Lets the form edit another module.
    pub fn edit_module(&self, index: usize) {
        self.form.module.set(index);
        self.keep_module_in_range();
    }

    /// Opens the section of a field far enough to show it.
    pub fn reveal(&self, id: FieldId) {
        // The module may have been changed just now.
        let relevance = untrack(|| self.relevance.get());
        self.form
            .disclosure
            .update(|disclosure| disclosure.reveal(id, &relevance));
    }

    pub(super) fn keep_module_in_range(&self) {
        let last = self.setup.read_untracked().job.module_count() - 1;
        if self.form.module.get_untracked() > last {
            self.form.module.set(last);
        }
    }

    /// Records the settings for undo before they are changed.
    pub(super) fn record(&self) {
        self.toasts.withdraw_undo();
        self.take_over();
        let before = self.snapshot();
        self.history.update(|history| history.record(before));
    }

    /// From now on the job is the reader's, and no demonstration for a broken link.
    pub(super) fn take_over(&self) {
        if self.link.broken.read_untracked().is_some() {
            self.link.broken.set(None);
        }
        if !self.link.ignored.read_untracked().is_empty() {
            self.link.ignored.set(String::new());
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        (self.setup.get_untracked(), self.pinned.get_untracked())
    }

    fn put(&self, id: FieldId, value: Value) {
        let module = self.form.module.get_untracked();
        if self.form.edited.get_untracked() != Some(id) {
            self.form.edited.set(Some(id));
        }
        self.setup.update(|setup| setup.job.put(module, id, value));
    }
}
