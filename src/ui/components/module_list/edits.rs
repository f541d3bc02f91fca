//! Edits of the list of modules.

use crate::browser;
use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::edit::module_name;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::raw::{RawJob, Settings};
use megatron_memory::config::suggest::step::now;

/// The id of the button that lets the form edit a module.
pub(super) fn edit_button_id(index: usize) -> String {
    format!("module-{index}")
}

impl State {
    /// Changes the job in one step.
    pub(super) fn edit_job(&self, change: impl FnOnce(&mut RawJob)) {
        let mut job = self.setup.get_untracked().job;
        change(&mut job);
        self.edit(job);
    }

    /// Adds a module with these settings, and edits it.
    pub(super) fn add_module(&self, settings: Settings) {
        self.add_module_by(|job| job.add_module(module_name(&settings), settings));
    }

    /// Adds a copy of a module from the list of modules to add, and edits it.
    pub(super) fn add_copy(&self, index: usize) {
        self.add_module_by(|job| job.duplicate_module(index));
    }

    /// Says what was added, and how much larger the world has become with it.
    fn add_module_by(&self, add: impl FnOnce(&mut RawJob) -> usize) {
        let mut job = self.setup.get_untracked().job;
        let gpus = |job: &RawJob| now(job, 0, FieldId::world_size).unwrap_or(0);
        let before = gpus(&job);
        let index = add(&mut job);
        let name = job.modules.get(index).map_or("", |m| m.name.as_str());
        let said = match gpus(&job) {
            now if now == before => format!("{name} is added."),
            now => format!("{name} gets GPUs of its own ({before} → {now})."),
        };
        self.edit(job);
        self.edit_module(index);
        self.toasts.offer_undo(said);
        browser::focus(edit_button_id(index));
    }

    /// Copies a module behind the others, and edits the copy.
    pub(super) fn copy_module(&self, index: usize) {
        let mut job = self.setup.get_untracked().job;
        let copy = job.duplicate_module(index);
        self.edit(job);
        self.edit_module(copy);
    }

    /// Moves a module to its neighbor's place. The form stays with the module that it edits.
    pub(super) fn move_module(&self, index: usize, to: usize) {
        let edited = self.form.module.get_untracked();
        self.edit_job(|job| job.exchange_modules(index, to));
        if edited == index {
            self.edit_module(to);
        } else if edited == to {
            self.edit_module(index);
        }
        browser::focus(edit_button_id(to));
    }

    /// Removes a module. The form stays with the module that it edits.
    pub(super) fn remove_module(&self, index: usize) {
        let setup = self.setup.get_untracked();
        let name = setup.job.modules.get(index).map_or("", |m| m.name.as_str());
        let edited = self.form.module.get_untracked();
        self.edit_job(|job| job.remove_module(index));
        if edited > index {
            self.edit_module(edited - 1);
        }
        self.toasts.offer_undo(format!("{name} is removed."));
    }
}
