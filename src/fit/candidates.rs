//! The changes that are tried, kind by kind.

mod activations;
mod layout;
mod states;

use super::cost::{ChangeKind, Cost};
use super::offer::Change;
use crate::config::fields::FieldId;
use crate::config::job::Module;
use crate::config::raw::RawJob;
use crate::value::Value;

use layout::replica_gpus;
pub(super) use layout::shorter_samples;

/// The changes of every kind for a module of a job, cheapest first. Of changes that cost the same, the one with the
/// fewest settings comes first.
pub(super) fn candidates(job: &RawJob, m: &Module) -> Vec<Vec<Change>> {
    let mut kinds = vec![
        states::free(m),
        layout::micro_batches(m),
        activations::offload(m),
        activations::recompute(m),
        states::fsdp(m),
        states::precision(m),
        states::optimizer_offload(m),
        layout::more_gpus(job, m),
    ];
    kinds.extend(layout::layouts(job, layout::distance));
    for kind in &mut kinds {
        kind.sort_by_key(|change| (change.cost, change.settings.len()));
    }
    kinds
}

/// Changes after which a module of a job pays less than now for the memory that it has: recomputes or offloads less, or
/// takes fewer GPUs a replica. The cheapest first, kind by kind.
pub(super) fn cheaper_candidates(job: &RawJob, m: &Module, module: usize) -> Vec<Vec<Change>> {
    let mut kinds = vec![
        activations::less_recompute(m),
        activations::less_offload(m),
        states::less_optimizer_offload(m),
    ];
    let now = Cost::ReplicaGpus(replica_gpus(job, module));
    kinds.extend(layout::layouts(job, layout::replica).into_iter().map(|mut changes| {
        changes.retain(|change| change.cost < now);
        changes
    }));
    for kind in &mut kinds {
        kind.sort_by_key(|change| (change.cost, change.settings.len()));
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

/// What settings switch on beside what a change is named after, as words that follow its name.
fn with_switched_on(m: &Module, settings: &[(FieldId, Value)]) -> String {
    let a = m.args();
    let switches = [
        (
            FieldId::use_distributed_optimizer,
            a.use_distributed_optimizer,
            "the distributed optimizer",
        ),
        (
            FieldId::use_precision_aware_optimizer,
            a.use_precision_aware_optimizer,
            "the precision-aware optimizer",
        ),
        (FieldId::sequence_parallel, a.sequence_parallel, "sequence parallelism"),
    ];
    let new = switches.into_iter().filter(|(field, is_on, _)| {
        let sets = |(set, value): &(FieldId, Value)| set == field && *value == Value::Bool(true);
        !is_on && settings.iter().any(sets)
    });
    let words: Vec<&str> = new.map(|(.., words)| words).collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" with {}", words.join(" and "))
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
