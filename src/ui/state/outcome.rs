//! A checked job with its estimate.

use crate::config::job::{Config, Module};
use crate::memory::{Estimate, estimate};

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

    /// The module with this index.
    #[must_use]
    pub fn module(&self, index: usize) -> Option<&Module> {
        self.config.modules().get(index)
    }
}
