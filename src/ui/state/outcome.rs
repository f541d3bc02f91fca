//! A checked job with its estimate, and how long it stays while its settings are edited.

use std::sync::Arc;

use leptos::prelude::*;

use crate::values::same;
use megatron_memory::config::Checked;
use megatron_memory::config::field::Aspect;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::{Config, Module};
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::state::Setup;
use megatron_memory::memory::{Estimate, estimate};
use megatron_memory::report::reserved::Replayed;
use megatron_memory::verdict::Standing;

/// A valid job and the memory that it needs.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The checked job.
    pub config: Config,
    /// Its memory.
    pub estimate: Estimate,
}

impl Outcome {
    /// Estimates a checked job.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            estimate: estimate(config),
            config: config.clone(),
        }
    }

    /// What the job needs, and whether it fits by the factors of reserved over allocated memory.
    #[must_use]
    pub fn by_factors(&self) -> Standing {
        Standing::by_factors(&self.config, &self.estimate)
    }

    /// The module with this index.
    #[must_use]
    pub fn module(&self, index: usize) -> Option<&Module> {
        self.config.modules().get(index)
    }
}

/// The outcome of the job on the page. While it cannot run, the outcome of the last settings that could: unless the
/// whole job has been replaced since, or they are of another model, whose numbers would be mistaken for those of this
/// one.
pub(super) fn of_last_valid(
    setup: RwSignal<Setup>,
    checked: Memo<Arc<Checked>>,
    replacements: RwSignal<u32>,
) -> Memo<Option<Arc<Outcome>>> {
    // The job of the last outcome, and how many replacements there had been.
    let estimated = StoredValue::new(None::<(RawJob, u32)>);
    Memo::new_owning(move |last: Option<Option<Arc<Outcome>>>| {
        let (setup, now) = (setup.read_untracked(), replacements.get_untracked());
        if let Some(config) = &checked.read().config {
            estimated.set_value(Some((setup.job.clone(), now)));
            return (Some(Arc::new(Outcome::of(config))), true);
        }
        let stays = estimated.with_value(|estimated| {
            let job = estimated.as_ref().filter(|(_, then)| *then == now);
            job.is_some_and(|(job, _)| is_of_same_model(job, &setup.job))
        });
        match last.flatten() {
            Some(last) if stays => (Some(last), false),
            last => (None, last.is_some()),
        }
    })
}

/// What a replay of PyTorch's allocator finds for the job of an outcome.
#[derive(Clone, Debug)]
pub struct OutcomeReplay {
    /// The outcome.
    pub outcome: Arc<Outcome>,
    /// What is found; `None` where the allocator is not replayed.
    pub found: Option<Replayed>,
}

/// The standing of an outcome: by the factors, and, where these leave open whether the job fits, by the replay of its
/// allocator once there is one.
pub(super) fn standing(
    outcome: Memo<Option<Arc<Outcome>>>,
    replay: RwSignal<Option<OutcomeReplay>>,
) -> Memo<Option<Standing>> {
    Memo::new(move |_| {
        let outcome = outcome.read();
        let outcome = outcome.as_ref()?;
        let by_factors = outcome.by_factors();
        let replay = replay.read();
        let replay = replay.as_ref().filter(|replay| Arc::ptr_eq(&replay.outcome, outcome));
        let found = replay.and_then(|replay| replay.found.as_ref());
        let found = found.filter(|_| by_factors.is_left_open());
        Some(found.map_or(by_factors, |found| found.standing(&outcome.config, by_factors)))
    })
}

/// Whether two jobs have the same modules, each with the same model.
fn is_of_same_model(a: &RawJob, b: &RawJob) -> bool {
    let names = |job: &RawJob| -> Vec<String> {
        let modules = job.modules.iter();
        modules.map(|module| module.name.clone()).collect()
    };
    let mut fields = FieldId::ALL.iter().copied();
    names(a) == names(b)
        && fields.all(|id| {
            let field = id.field();
            let is_same = |module| same(field, a.get(module, id), b.get(module, id));
            field.aspect != Aspect::Model || (0..a.module_count()).all(is_same)
        })
}
