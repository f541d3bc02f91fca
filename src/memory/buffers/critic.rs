//! The critic of PPO beside the trained model: a model like it that puts out one value for each token.

use super::site::Site;
use crate::config::job::Module;
use crate::memory::parameters::PartTable;
use crate::model::Architecture;
use crate::units::Bytes;

/// A critic on the GPUs of the trained model.
pub(super) struct Critic {
    module: Module,
    architecture: Architecture,
    local: PartTable,
}

impl Critic {
    /// The critic of a module; none without one. Its head has a weight of its own (`MegatronEngine` of verl).
    pub(super) fn of(m: &Module) -> Option<Self> {
        if !m.args.critic {
            return None;
        }
        let mut module = m.clone();
        module.args.num_labels = Some(1);
        module.args.untie_embeddings_and_output_weights = true;
        let architecture = Architecture::new(&module);
        Some(Self {
            local: PartTable::local(&architecture),
            architecture,
            module,
        })
    }

    /// Its weights, gradients and optimizer states on a stage, held as those of the trained model.
    pub(super) fn bytes(&self, site: &Site<'_>) -> u64 {
        let states = site.chunks.iter().map(|chunk| {
            let parts = self.architecture.chunk_parts(&self.module, chunk);
            let held = site.rules.count(&self.local.total(&parts));
            site.rules.memory(&held).into_iter().sum::<Bytes>().0
        });
        states.sum()
    }
}
