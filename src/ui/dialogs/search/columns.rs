//! How the columns of the table of layouts read.

use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::search::{Axis, Candidate, Column, Space, seconds};
use megatron_memory::units::Bytes;

/// The heading of a column.
pub(super) fn label(column: Column, unit: Unit) -> String {
    let name = match column {
        Column::Axis(_, axis) => axis.symbol(),
        Column::Chunks => Axis::Virtual.symbol(),
        Column::Peak => return format!("Peak {}", unit.symbol()),
        Column::Headroom => return format!("Free {}", unit.symbol()),
        Column::Stage => "Stage",
        Column::Replica => "GPUs per replica",
        Column::Dp => "DP",
        Column::Edp => "Expert DP",
        Column::Crossing => "Across nodes",
        Column::Microbatches => "Micro batches",
        Column::Bubble => "Bubble %",
        Column::Network => return format!("Network {}", unit.symbol()),
        Column::Near => return format!("In node {}", unit.symbol()),
        Column::Recomputed => "Recomputed %",
        Column::Time => "Step",
    };
    name.to_owned()
}

/// The text of a cell, with amounts in a unit.
pub(super) fn text(column: Column, space: &Space, c: &Candidate, unit: Unit) -> String {
    let scale = Scale::fine(unit);
    match column {
        Column::Peak => scale.number(c.peak),
        Column::Headroom => c.gpu.map_or_else(String::new, |gpu| {
            format!(
                "{} to {}",
                free(gpu.least, c.most, unit),
                free(gpu.least, c.least, unit)
            )
        }),
        Column::Network => scale.number(c.traffic.far),
        Column::Near => scale.number(c.traffic.near),
        Column::Bubble => percent(c.bubble_ppm),
        Column::Recomputed => percent(c.recomputed_ppm),
        // What leaves little memory free runs slower than predicted.
        Column::Time => c.step_nanoseconds.map_or_else(String::new, |step| {
            let more = if c.is_nearly_full() { " or more" } else { "" };
            format!("{}{more}", seconds(step))
        }),
        Column::Axis(..)
        | Column::Chunks
        | Column::Stage
        | Column::Replica
        | Column::Dp
        | Column::Edp
        | Column::Crossing
        | Column::Microbatches => column.exact(space, c),
    }
}

/// What a GPU has left beside the memory that its device shows; negative where it has less.
fn free(gpu: Bytes, device: Bytes, unit: Unit) -> String {
    let number = Scale::fine(unit).number(Bytes(gpu.0.abs_diff(device.0)));
    if device > gpu { format!("−{number}") } else { number }
}

/// Millionths as a percentage with one decimal, rounded to nearest.
pub(super) fn percent(ppm: u64) -> String {
    let tenths = (ppm + 500) / 1000;
    format!("{}.{}", tenths / 10, tenths % 10)
}
