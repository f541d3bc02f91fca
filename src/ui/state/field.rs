//! The value of a single field of the edited module, and its problems.

use super::State;
use crate::values::same;
use leptos::prelude::*;
use megatron_memory::config::field::{Group, Scope};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::Module;
use megatron_memory::config::problem::Problem;
use megatron_memory::value::Value;

impl State {
    /// The raw value of a field; `None` where it is left at its default.
    pub fn value(&self, id: FieldId) -> Option<Value> {
        self.setup.read().job.get(self.form.module.get(), id).cloned()
    }

    /// The whole number that was given for a field, where it can take it.
    pub fn number(&self, id: FieldId) -> Option<u64> {
        self.setup.read().job.number(self.form.module.get(), id)
    }

    /// The value that the field is reset to; `None` for its default.
    pub fn base(&self, id: FieldId) -> Option<Value> {
        self.baseline.read().get(self.form.module.get(), id).cloned()
    }

    /// Whether any of these fields differs from what it is reset to.
    pub fn is_changed(&self, mut ids: impl Iterator<Item = FieldId>) -> bool {
        let (setup, base, module) = (self.setup.read(), self.baseline.read(), self.form.module.get());
        ids.any(|id| !same(id.field(), setup.job.get(module, id), base.get(module, id)))
    }

    /// The problems that involve a field.
    pub fn problems_of(&self, id: FieldId) -> Vec<Problem> {
        let module = self.form.module.get();
        let checked = self.checked.read();
        let problems = checked.problems.iter();
        problems
            .filter(|problem| involves(problem, id, module))
            .cloned()
            .collect()
    }

    /// The field beside which a problem is told in full: the one that was edited last where the problem involves it, or
    /// else the first of the problem's fields.
    pub fn told_at(&self, problem: &Problem) -> Option<FieldId> {
        let edited = self.form.edited.get();
        let edited = edited.filter(|id| involves(problem, *id, self.form.module.get()));
        edited.or(problem.fields.first().copied())
    }

    /// Whether an error involves a field.
    pub fn has_error(&self, id: FieldId) -> bool {
        let module = self.form.module.get();
        let checked = self.checked.read();
        checked.errors().any(|error| involves(error, id, module))
    }

    /// How many errors involve a field of this group.
    pub fn errors_in(&self, group: Group) -> usize {
        let module = self.form.module.get();
        let checked = self.checked.read();
        let in_group = |error: &&Problem| {
            let mut fields = error.fields.iter();
            fields.any(|id| id.field().group == group && is_about_module(error, *id, module))
        };
        checked.errors().filter(in_group).count()
    }

    /// Those of these fields that mean something for the job, or hold something that the reader must see.
    pub fn mattering(&self, ids: impl Iterator<Item = FieldId>) -> Vec<FieldId> {
        let (relevance, checked) = (self.relevance.read(), self.checked.read());
        let (setup, base, module) = (self.setup.read(), self.baseline.read(), self.form.module.get());
        let has_error = |id| checked.errors().any(|error| involves(error, id, module));
        let is_changed = |id: FieldId| !same(id.field(), setup.job.get(module, id), base.get(module, id));
        ids.filter(|id| relevance.has(*id) || is_changed(*id) || has_error(*id))
            .collect()
    }

    /// The number that a field stands for where it is left out.
    pub fn derived_value(&self, id: FieldId) -> Option<u64> {
        let outcome = self.outcome.read();
        derived_value(id, outcome.as_ref()?.module(self.form.module.get())?)
    }
}

fn involves(problem: &Problem, id: FieldId, module: usize) -> bool {
    problem.fields.contains(&id) && is_about_module(problem, id, module)
}

/// Whether a problem with a field is one of this module, or of the whole job.
fn is_about_module(problem: &Problem, id: FieldId, module: usize) -> bool {
    problem.module == module || id.field().scope == Scope::Job
}

fn derived_value(id: FieldId, module: &Module) -> Option<u64> {
    let derived = module.derived();
    Some(match id {
        // A pattern has a letter for each layer.
        FieldId::num_layers => module.hybrid()?.layers().count() as u64,
        FieldId::mtp_num_layers => module.hybrid()?.depths(),
        FieldId::mamba_num_heads => module.mamba_num_heads(),
        FieldId::ffn_hidden_size => derived.ffn_hidden_size,
        FieldId::kv_channels => derived.kv_channels,
        FieldId::padded_vocab_size => derived.padded_vocab_size,
        FieldId::global_batch_size => derived.global_batch_size,
        FieldId::data_parallel_size => derived.data_parallel_size,
        FieldId::expert_tensor_parallel_size => derived.expert_tensor_parallel_size,
        // With a pipeline layout, the number of chunks is the layout's.
        FieldId::virtual_pipeline_model_parallel_size if derived.virtual_pipeline_model_parallel_size > 1 => {
            derived.virtual_pipeline_model_parallel_size
        }
        FieldId::world_size => module.ranks(),
        _ => return None,
    })
}
