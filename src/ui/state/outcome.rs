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

    /// What the job needs, and whether it fits.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing::new(&self.config, &self.estimate)
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
