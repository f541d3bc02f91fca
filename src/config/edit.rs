//! Editing the list of modules: splitting a plain job, adding, removing, ordering, and laying out.

use super::canonical::meaning;
use super::choices::FrontEnd;
use super::field::{Group, Scope};
use super::fields::FieldId;
use super::problem::{Change, Repair};
use super::rank_ranges::mimo_input;
use super::raw::{RawJob, RawModule, Settings};
use crate::parallel::mimo::spec::{build_layout, write_component_spec};
use crate::parallel::mimo::{Field, LANGUAGE_MODULE, ModuleParallelism};
use crate::python::PythonError;
use crate::value::Value;

/// Whether a field is a module's own: it says what the module is and how its ranks share it, not how the job is
/// trained.
fn of_one_module(id: FieldId) -> bool {
    let field = id.field();
    let groups = [
        Group::Model,
        Group::Attention,
        Group::Moe,
        Group::Encoder,
        Group::Parallelism,
        Group::MemorySavers,
    ];
    field.scope == Scope::Module && (groups.contains(&field.group) || id == FieldId::seq_length)
}

impl RawJob {
    /// Carries out a repair.
    pub fn repair(&mut self, repair: &Repair) {
        self.change_ranks(&repair.changes);
    }

    /// Carries out changes to the ranks of modules, in order; those to modules that are not there do nothing.
    pub fn change_ranks(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Set { module, field, value } => self.set_parallelism(*module, *field, Value::Int(*value)),
                Change::Rename { module, name } => {
                    if let Some(module) = self.modules.get_mut(*module) {
                        module.name.clone_from(name);
                    }
                }
                Change::WorldSize(ranks) => {
                    self.shared.set(FieldId::world_size, Value::Int(*ranks));
                }
            }
        }
    }

    fn set_parallelism(&mut self, module: usize, field: Field, value: Value) {
        let Some(module) = self.modules.get_mut(module) else {
            return;
        };
        match FieldId::by_name(field.name()) {
            Some(id) => module.settings.set(id, value),
            None => module.rank_offset = Some(value),
        }
    }

    /// TP, PP and CP of a module together.
    fn copy_of_model(&self, module: usize) -> u64 {
        let sizes = [
            FieldId::tensor_model_parallel_size,
            FieldId::pipeline_model_parallel_size,
            FieldId::context_parallel_size,
        ];
        let product = sizes.into_iter().fold(1, |all: u64, id| {
            all.saturating_mul(self.number(module, id).unwrap_or(1))
        });
        product.max(1)
    }

    /// Makes the plain job's model the first of a list of modules, on the same ranks.
    fn split(&mut self) {
        if !self.modules.is_empty() {
            return;
        }
        let copy = self.copy_of_model(0);
        let ranks = self.number(0, FieldId::world_size).unwrap_or(copy);
        let mut module = RawModule {
            name: LANGUAGE_MODULE.to_owned(),
            rank_offset: Some(Value::Int(0)),
            settings: Settings::default(),
        };
        for id in FieldId::ALL.iter().copied().filter(|id| of_one_module(*id)) {
            if let Some(value) = self.shared.get(id) {
                module.settings.set(id, value.clone());
                self.shared.unset(id);
            }
        }
        // Megatron-LM's ETP is TP where none is given, MegatronMIMO's is 1.
        let etp = FieldId::expert_tensor_parallel_size;
        let tp = module.settings.get(FieldId::tensor_model_parallel_size);
        if let (None, Some(tp)) = (module.settings.get(etp), tp.cloned())
            && module.settings.get(FieldId::num_experts).is_some()
        {
            module.settings.set(etp, tp);
        }
        let dp = FieldId::data_parallel_size;
        module.settings.set(dp, Value::Int((ranks / copy).max(1).into()));
        self.modules.push(module);
    }

    /// A name that no module has: `wish`, or with a number behind it.
    fn free_name(&self, wish: &str) -> String {
        let taken = |name: &str| self.modules.iter().any(|module| module.name == name);
        let numbered = (2..=self.modules.len() + 2).map(|number| format!("{wish}_{number}"));
        core::iter::once(wish.to_owned())
            .chain(numbered)
            .find(|name| !taken(name))
            .unwrap_or_else(|| wish.to_owned())
    }

    /// Adds a module behind the others, with as many replicas as the language model, and lays all out. Gives its
    /// place in the list.
    pub fn add_module(&mut self, name: &str, settings: Settings) -> usize {
        self.split();
        let language = self.modules.iter().position(|m| m.name == LANGUAGE_MODULE);
        let dp = self
            .number(language.unwrap_or(0), FieldId::data_parallel_size)
            .unwrap_or(1);
        let mut module = RawModule {
            name: self.free_name(name),
            rank_offset: None,
            settings,
        };
        if module.settings.get(FieldId::data_parallel_size).is_none() {
            let value = Value::Int(dp.into());
            module.settings.set(FieldId::data_parallel_size, value);
        }
        self.leave_experts_out_of_graphs(&mut module.settings);
        self.modules.push(module);
        self.lay_out();
        self.modules.len() - 1
    }

    /// For a module without experts: CUDA graphs of what the job captures, but for parts of MoE layers.
    fn leave_experts_out_of_graphs(&self, settings: &mut Settings) {
        let id = FieldId::cuda_graph_modules;
        let said = settings.get(id).is_some();
        let captured = meaning(id, self.shared.get(id)).to_value(id);
        let Value::List(names) = captured else {
            return;
        };
        if said {
            return;
        }
        let of_experts = |name: &Value| matches!(name, Value::Text(name) if name.starts_with("moe"));
        let others: Vec<Value> = names.iter().filter(|name| !of_experts(name)).cloned().collect();
        let without = settings.get(FieldId::num_experts) == Some(&Value::Null);
        if without && others.len() < names.len() {
            settings.set(id, Value::List(others));
        }
    }

    /// Adds an encoder like a module, behind the others. Gives its place in the list.
    pub fn duplicate_module(&mut self, index: usize) -> usize {
        self.split();
        let Some(like) = self.modules.get(index).cloned() else {
            return index;
        };
        self.add_module(&like.name, like.settings)
    }

    /// Removes a module and closes the gap. The last one left is a plain job again.
    pub fn remove_module(&mut self, index: usize) {
        if index >= self.modules.len() || self.modules.len() < 2 {
            return;
        }
        self.modules.remove(index);
        self.lay_out();
        if self.modules.len() == 1
            && let Some(last) = self.modules.pop()
        {
            self.shared.overlay(&last.settings);
            self.shared.unset(FieldId::data_parallel_size);
            self.shared.unset(FieldId::colocate_modules);
        }
    }

    /// Exchanges a module with another in the list, where there are both; their ranks stay what they are.
    pub fn exchange_modules(&mut self, index: usize, other: usize) {
        if index.max(other) < self.modules.len() {
            self.modules.swap(index, other);
        }
    }

    /// Gives a module another name.
    pub fn rename_module(&mut self, index: usize, name: &str) {
        if let Some(module) = self.modules.get_mut(index) {
            name.trim().clone_into(&mut module.name);
        }
    }

    /// Places the modules one after another in the order of the list and makes the world as large as they are;
    /// modules without DP share the ranks that the others leave, where that comes out even. On shared ranks every
    /// module gets all of them, or those of the language model's first stage where that has several.
    pub fn lay_out(&mut self) {
        if self.colocates() {
            let world = self.number(0, FieldId::world_size).unwrap_or(1);
            let stages = |job: &Self, index| {
                let stages = job.number(index, FieldId::pipeline_model_parallel_size);
                stages.unwrap_or(1).max(1)
            };
            let mut modules = self.modules.iter();
            let language = modules.position(|module| module.name == LANGUAGE_MODULE);
            let language_stages = language.map_or(1, |language| stages(self, language));
            for index in 0..self.modules.len() {
                let shared = if stages(self, index) == 1 {
                    world / language_stages
                } else {
                    world
                };
                let dp = (shared / self.copy_of_model(index)).max(1);
                self.set_parallelism(index, Field::RankOffset, Value::Int(0));
                self.set_parallelism(index, Field::DataParallelSize, Value::Int(dp.into()));
            }
            return;
        }
        if let Some(repair) = mimo_input(self).lay_out() {
            self.repair(&repair);
        }
        let mut next: u64 = 0;
        for index in 0..self.modules.len() {
            let dp = self.number(index, FieldId::data_parallel_size);
            if dp.is_none() {
                self.set_parallelism(index, Field::DataParallelSize, Value::Int(1));
            }
            self.set_parallelism(index, Field::RankOffset, Value::Int(next.into()));
            let ranks = self.copy_of_model(index).saturating_mul(dp.unwrap_or(1));
            next = next.saturating_add(ranks.max(1));
        }
        let world = Value::Int(next.into());
        self.shared.set(FieldId::world_size, world);
    }

    /// The component specs of all modules, one a line; empty for a plain job, and where a size is no number.
    #[must_use]
    pub fn component_specs(&self) -> String {
        let input = mimo_input(self);
        let mut text = String::new();
        for module in &input.modules {
            let parallelism = module.as_set().or_else(|| {
                let mut module = module.clone();
                module.set(Field::RankOffset, Value::Int(0));
                module.as_set()
            });
            let spec = parallelism.and_then(|p| write_component_spec(&module.name, &p));
            if let Some(spec) = spec {
                text.push_str(&spec);
                text.push('\n');
            }
        }
        text
    }

    /// Takes over component specs, one a line or between spaces, with or without `--component` before each. Modules
    /// of a name that the job has keep what they are, others become like `unknown`; those without a spec go.
    ///
    /// # Errors
    /// The exception that MegatronMIMO raises for specs that it cannot read.
    pub fn set_component_specs(&mut self, text: &str, unknown: &Settings) -> Result<(), PythonError> {
        let specs: Vec<&str> = text.split_whitespace().filter(|word| *word != "--component").collect();
        let world = self.number(0, FieldId::world_size).map(i128::from);
        // Without a size for every module MegatronMIMO shares the world out; with one, it is left alone.
        let mut modules = build_layout(&specs, None)?;
        let shares = modules
            .iter()
            .any(|(_, parallelism)| parallelism.data_parallel_size.is_none());
        if shares {
            modules = build_layout(&specs, world)?;
        }
        self.split();
        let listed: Vec<RawModule> = core::mem::take(&mut self.modules);
        for (index, (name, parallelism)) in modules.iter().enumerate() {
            let own = listed.iter().find(|module| module.name == *name);
            self.modules.push(RawModule {
                name: name.clone(),
                rank_offset: None,
                settings: own.map_or_else(|| unknown.clone(), |own| own.settings.clone()),
            });
            self.set_all(index, parallelism);
        }
        let ends = modules
            .iter()
            .map(|(_, p)| p.rank_offset.checked_add(p.total_ranks().ok()?));
        if let Some(world) = ends.max().flatten() {
            self.shared.set(FieldId::world_size, Value::Int(world));
        }
        Ok(())
    }

    fn set_all(&mut self, module: usize, parallelism: &ModuleParallelism) {
        for field in Field::ALL {
            let value = parallelism.get(field).map_or(Value::Null, Value::Int);
            self.set_parallelism(module, field, value);
        }
    }
}

/// A short name for a module with such settings.
#[must_use]
pub fn module_name(settings: &Settings) -> &'static str {
    match settings.get(FieldId::front_end) {
        Some(Value::Text(front_end)) if front_end == FrontEnd::Audio.name() => "sounds",
        _ => "images",
    }
}
