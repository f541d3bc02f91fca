//! The changes that are tried, kind by kind.

mod activations;
mod layout;
mod states;

use super::cost::{ChangeKind, Cost};
use super::offer::Change;
use crate::config::fields::FieldId;
use crate::config::job::Module;
use crate::config::raw::RawJob;
use crate::memory::StageRef;
use crate::value::Value;

pub(super) use layout::replica_gpus;

/// The changes of every kind for a module of a job, cheapest first, where `worst` is the fullest stage.
pub(super) fn candidates(job: &RawJob, m: &Module, worst: StageRef) -> Vec<Vec<Change>> {
    let mut kinds = vec![
        states::free(m),
        layout::micro_batches(m),
        activations::offload(m),
        activations::recompute(m, worst.pp_rank),
        states::fsdp(m),
        states::precision(m),
        states::optimizer_offload(m),
    ];
    kinds.extend(layout::layouts(job));
    for kind in &mut kinds {
        kind.sort_by_key(|change| change.cost);
    }
    kinds
}

/// Changes after which a module of a job pays less than now for the memory that it has: recomputes or offloads less, or
/// takes fewer GPUs a replica. The cheapest first, kind by kind.
pub(super) fn cheaper_candidates(job: &RawJob, m: &Module, worst: StageRef) -> Vec<Vec<Change>> {
    let mut kinds = vec![
        activations::less_recompute(m, worst.pp_rank),
        activations::less_offload(m),
        states::less_optimizer_offload(m),
    ];
    let now = Cost::ReplicaGpus(replica_gpus(job, worst.module));
    kinds.extend(layout::layouts(job).into_iter().map(|mut changes| {
        changes.retain(|change| change.cost < now);
        changes
    }));
    for kind in &mut kinds {
        kind.sort_by_key(|change| change.cost);
    }
    kinds
}

/// A change of these settings.
fn change(
    kind: ChangeKind,
    label: impl Into<String>,
    cost: Cost,
    settings: impl IntoIterator<Item = (FieldId, Value)>,
) -> Change {
    Change {
        kind,
        label: label.into(),
        cost,
        settings: settings.into_iter().collect(),
    }
}

fn on(field: FieldId) -> (FieldId, Value) {
    (field, Value::Bool(true))
}

fn named(field: FieldId, name: &str) -> (FieldId, Value) {
    (field, Value::Text(name.to_owned()))
}

/// The subsets of up to 16 items, but for the empty one.
fn subsets<T: Copy>(items: &[T]) -> Vec<Vec<T>> {
    let items = items.get(..items.len().min(16)).unwrap_or_default();
    (1_u32..1 << items.len())
        .map(|bits| {
            let chosen = items.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            chosen.map(|(_, item)| *item).collect()
        })
        .collect()
}
