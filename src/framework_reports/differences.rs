//! Why the frameworks' reports differ from the estimate of a job: only what applies to it, and what it
//! comes to where that can be said.
//!
//! What a report gets wrong is found by reading both programs; how much of it is on the fullest stage
//! is counted here. The effects explain and are not made to add up: what a report misses on one stage
//! it may have counted on another.

mod difference;
mod fullest_stage;
mod reasons;

use crate::config::job::Module;
use crate::memory::ModuleEstimate;
pub use difference::{Difference, Effect, Framework};
use fullest_stage::FullestStage;

/// Every known reason that applies to a module, largest effect first.
#[must_use]
pub fn differences(m: &Module, estimate: &ModuleEstimate) -> Vec<Difference> {
    let Some(fullest) = FullestStage::of(m, estimate) else {
        return Vec::new();
    };
    let mut found: Vec<Difference> = if m.args().hybrid_layer_pattern.is_some() {
        reasons::of_hybrid(&fullest)
    } else {
        let found = reasons::ALL.iter().filter_map(|reason| reason(&fullest));
        found.collect()
    };
    found.sort_by_key(|difference| core::cmp::Reverse(difference.effect.size()));
    found
}
