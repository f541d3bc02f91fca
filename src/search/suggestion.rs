//! What would make a layout fit that does not.

use super::{Candidate, Space};
use crate::config::gpus::{GPUS, Gpu};
use crate::memory::savings::{Choice, savings};

/// What would make a layout fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// What would have to be recomputed or offloaded, where that is enough: of all that is, what recomputes least.
    pub recompute: Option<Choice>,
    /// The smallest GPU that would hold it as it is.
    pub gpu: Option<&'static Gpu>,
}

/// What would make a candidate fit.
#[must_use]
pub fn suggestion(space: &Space, candidate: &Candidate) -> Suggestion {
    let savings = match candidate.gpu {
        Some(_) => savings(&space.job(candidate.index), candidate.worst),
        None => Vec::new(),
    };
    let enough = savings.iter().filter_map(|saving| {
        let saved = saving.result.as_ref().ok()?;
        (!saved.too_large).then_some((saved.recomputed_ppm, saving.choice))
    });
    let holding = GPUS
        .iter()
        .filter(|gpu| gpu.memory_bytes() >= candidate.least.0);
    Suggestion {
        recompute: enough
            .min_by_key(|(again, _)| *again)
            .map(|(_, choice)| choice),
        gpu: holding.min_by_key(|gpu| gpu.memory_mib),
    }
}
