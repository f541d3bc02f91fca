//! The most bytes that model states take on any stage, whatever else a stage needs.

use super::parameters::PartTable;
use super::states::StateRules;
use crate::config::job::Module;
use crate::model::{Architecture, PartCounts};
use crate::units::Bytes;

/// The most bytes that the model states of a stage take. The stage's peak is at least as much, and the states do not
/// depend on the micro batch or on what is recomputed.
#[must_use]
pub fn largest_states(m: &Module) -> Bytes {
    let architecture = Architecture::new(m);
    states_of_stages(m, &architecture, &PartTable::local(&architecture))
}

/// The most bytes that the model states of a stage take.
pub(super) fn states_of_stages(m: &Module, architecture: &Architecture, local: &PartTable) -> Bytes {
    let rules = StateRules::new(m);
    let mut known: Vec<(PartCounts, Bytes)> = Vec::new();
    for pp_rank in 0..m.stages.pp() {
        let mut parts = PartCounts::new();
        for chunk in m.stages.rank(pp_rank) {
            let of_chunk = architecture.chunk_parts(m, chunk);
            parts.resize(of_chunk.len(), 0);
            for (sum, count) in parts.iter_mut().zip(of_chunk) {
                *sum += count;
            }
        }
        if known.iter().all(|(of, _)| *of != parts) {
            let held = rules.count(&local.total(&parts));
            let states = rules.memory(&held).into_iter().sum();
            known.push((parts, states));
        }
    }
    let states = known.into_iter().map(|(_, states)| states);
    states.max().unwrap_or_default()
}
