//! Suggestions for a layout that does not fit the GPU.

use super::candidate::Candidate;
use super::savings::savings;
use super::space::Space;
use crate::config::gpus::{Certainty, GPUS, Gpu, GpuGeneration};
use crate::memory::savings::Choice;
use crate::verdict::Verdict;

/// Changes with which a layout fits the GPU, each by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// The way of recomputing or offloading that makes it fit with the least recomputation; `None` where none does.
    pub recompute: Option<Choice>,
    /// The smallest GPU that holds it as it is, of those that compute in bf16, are sold, and are connected to the
    /// others of their node; `None` where none does.
    pub gpu: Option<&'static Gpu>,
}

/// Finds what would make a candidate fit the GPU.
#[must_use]
pub fn suggestion(space: &Space, candidate: &Candidate) -> Suggestion {
    let savings = match candidate.gpu {
        Some(_) => savings(&space.job(candidate.index), candidate.worst),
        None => Vec::new(),
    };
    let enough = savings.iter().filter_map(|saving| {
        let saved = saving.result.as_ref().ok()?;
        (!saved.is_too_large()).then_some((saved.recomputed_ppm, saving.choice))
    });
    let holding = GPUS.iter().filter(|gpu| {
        gpu.connected
            && gpu.generation >= GpuGeneration::Ampere
            && gpu.certainty != Certainty::Announced
            && candidate.verdict_on(Some(gpu.memory_for_processes())) != Verdict::DoesNotFit
    });
    Suggestion {
        recompute: enough.min_by_key(|(again, _)| *again).map(|(_, choice)| choice),
        gpu: holding.min_by_key(|gpu| gpu.memory_mib),
    }
}
