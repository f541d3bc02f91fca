//! Laying modules out one after another.

use super::input::integer;
use super::{Field, MimoInput, ModuleInput};
use crate::parallel::problem::{Change, Repair};

/// What placing the modules says it does.
pub(super) const LABEL: &str = "Lay the modules out one after another";

/// The changes that place every module after the one before it.
pub(super) fn lay_out(input: &MimoInput) -> Option<Repair> {
    let world = integer(&input.world_size)?;
    let modules = input
        .modules
        .iter()
        .map(ModuleInput::as_set)
        .collect::<Option<Vec<_>>>()?;
    let mut free = world;
    let mut open = 0_i128;
    for parallelism in &modules {
        if parallelism.data_parallel_size.is_none() {
            open += 1;
        } else {
            free = free.checked_sub(parallelism.total_ranks().ok()?)?;
        }
    }
    let share = if open == 0 { 0 } else { even_share(free, open)? };
    let mut changes = Vec::new();
    let mut next = 0_i128;
    for (module, mut parallelism) in modules.into_iter().enumerate() {
        if parallelism.data_parallel_size.is_none() {
            let value = even_share(share, parallelism.dense_model_parallel_size().ok()?)?;
            parallelism.data_parallel_size = Some(value);
            changes.push(Change::Set {
                module,
                field: Field::DataParallelSize,
                value,
            });
        }
        if parallelism.rank_offset != next {
            changes.push(Change::Set {
                module,
                field: Field::RankOffset,
                value: next,
            });
        }
        next = next.checked_add(parallelism.total_ranks().ok().filter(|ranks| *ranks > 0)?)?;
    }
    let label = LABEL.to_owned();
    (!changes.is_empty()).then_some(Repair { label, changes })
}

/// A positive whole share of `ranks`.
fn even_share(ranks: i128, parts: i128) -> Option<i128> {
    let even = ranks > 0 && parts > 0 && ranks % parts == 0;
    even.then(|| ranks / parts)
}
