//! The columns of the table of layouts: their names, the text of their cells, and the order of rows by them.

use crate::report::amount::{Scale, Unit};
use crate::search::{Axis, Candidate, Crossing, GroupKind, Pick, Space};
use crate::units::Bytes;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// A size or choice that varies: its level in the space, and what it is.
    Axis(usize, Axis),
    /// Chunks of layers on a pipeline rank, where they follow from a layout string.
    Chunks,
    /// Peak memory of one GPU of the fullest stage.
    Peak,
    /// Memory that stays free on this GPU, from the least to the most, as its device shows it.
    Headroom,
    /// The pipeline rank of the fullest stage.
    Stage,
    /// GPUs of one model replica.
    Replica,
    /// Data-parallel size.
    Dp,
    /// Data-parallel size of the experts.
    Edp,
    /// Groups inside layers that leave the node or `NVLink` domain.
    Crossing,
    /// Micro batches of a step.
    Microbatches,
    /// The pipeline bubble: waiting time over working time.
    Bubble,
    /// Bytes that a GPU sends in one step over the network.
    Network,
    /// Bytes that a GPU sends in one step within its node or `NVLink` domain.
    Near,
    /// Matrix products that run twice.
    Recomputed,
}

/// What the layouts found so far differ in, where a column depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Varied {
    /// The chunks of a pipeline rank of the first layout; `None` before there is one.
    chunks: Option<u64>,
    /// Whether others have more or fewer.
    chunks_differ: bool,
    /// Whether groups inside layers of some leave the node or `NVLink` domain.
    some_cross: bool,
    /// Whether some recompute.
    some_recompute: bool,
}

impl Varied {
    /// Takes another layout into account.
    pub(super) fn add(&mut self, c: &Candidate) {
        self.chunks_differ |= *self.chunks.get_or_insert(c.vpp) != c.vpp;
        self.some_cross |= c.crossing != Crossing::default();
        self.some_recompute |= c.recomputed_ppm > 0;
    }
}

/// The columns of a table of what was found in a space so far.
pub(super) fn of(space: &Space, varied: Varied) -> Vec<Column> {
    let axes = space.dimensions().iter().enumerate();
    let mut columns: Vec<Column> = axes
        .map(|(level, dimension)| Column::Axis(level, dimension.axis))
        .collect();
    let vary = space.dimensions().iter().any(|d| d.axis == Axis::Virtual);
    columns.extend((varied.chunks_differ && !vary).then_some(Column::Chunks));
    columns.push(Column::Peak);
    columns.extend(space.gpu_memory().map(|_| Column::Headroom));
    columns.extend([Column::Stage, Column::Replica, Column::Dp]);
    columns.extend(space.has_experts().then_some(Column::Edp));
    columns.extend(varied.some_cross.then_some(Column::Crossing));
    columns.extend([Column::Microbatches, Column::Bubble, Column::Network, Column::Near]);
    columns.extend(varied.some_recompute.then_some(Column::Recomputed));
    columns
}

impl Column {
    /// A name without spaces, for files and for the names of controls.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Axis(_, axis) => axis.field().field().name,
            Self::Chunks => Axis::Virtual.field().field().name,
            Self::Peak => "peak_bytes",
            Self::Headroom => "free_at_least_bytes",
            Self::Stage => "worst_stage",
            Self::Replica => "gpus_per_replica",
            Self::Dp => "data_parallel_size",
            Self::Edp => "expert_data_parallel_size",
            Self::Crossing => "crossing_groups",
            Self::Microbatches => "num_microbatches",
            Self::Bubble => "pipeline_bubble_ppm",
            Self::Network => "network_bytes",
            Self::Near => "near_bytes",
            Self::Recomputed => "recomputed_ppm",
        }
    }

    /// The heading.
    pub(super) fn label(self, unit: Unit) -> String {
        let name = match self {
            Self::Axis(_, axis) => axis.symbol(),
            Self::Chunks => Axis::Virtual.symbol(),
            Self::Peak => return format!("Peak {}", unit.symbol()),
            Self::Headroom => return format!("Free {}", unit.symbol()),
            Self::Stage => "Stage",
            Self::Replica => "GPUs per replica",
            Self::Dp => "DP",
            Self::Edp => "Expert DP",
            Self::Crossing => "Across nodes",
            Self::Microbatches => "Micro batches",
            Self::Bubble => "Bubble %",
            Self::Network => return format!("Network {}", unit.symbol()),
            Self::Near => return format!("In node {}", unit.symbol()),
            Self::Recomputed => "Recomputed %",
        };
        name.to_owned()
    }

    /// The number that rows are ordered by.
    pub(super) fn key(self, space: &Space, c: &Candidate) -> i128 {
        match self {
            Self::Axis(level, _) => space.digit(c.index, level).into(),
            Self::Headroom => c.gpu.map_or(0, |gpu| i128::from(gpu.0) - i128::from(c.most.0)),
            _ => self.number(c).into(),
        }
    }

    fn number(self, c: &Candidate) -> u64 {
        match self {
            Self::Chunks => c.vpp,
            Self::Peak => c.peak.0,
            Self::Stage => u64::try_from(c.worst.pp_rank).unwrap_or(u64::MAX),
            Self::Replica => c.replica,
            Self::Dp => c.dp,
            Self::Edp => c.edp,
            Self::Crossing => u64::try_from(c.crossing.kinds().count()).unwrap_or(0),
            Self::Microbatches => c.num_microbatches,
            Self::Bubble => c.bubble_ppm,
            Self::Network => c.traffic.far.0,
            Self::Near => c.traffic.near.0,
            Self::Recomputed => c.recomputed_ppm,
            Self::Axis(..) | Self::Headroom => 0,
        }
    }

    /// The text of a cell, with amounts in a unit.
    pub(super) fn text(self, space: &Space, c: &Candidate, unit: Unit) -> String {
        match self {
            Self::Axis(level, _) => space.pick(c.index, level).map_or(String::new(), Pick::label),
            Self::Peak => Scale::fine(unit).number(c.peak),
            Self::Headroom => c.gpu.map_or_else(String::new, |gpu| {
                format!("{} to {}", free(gpu, c.most, unit), free(gpu, c.least, unit))
            }),
            Self::Crossing => names(c.crossing),
            Self::Network => Scale::fine(unit).number(c.traffic.far),
            Self::Near => Scale::fine(unit).number(c.traffic.near),
            Self::Bubble | Self::Recomputed => percent(self.number(c)),
            _ => self.number(c).to_string(),
        }
    }

    /// The value of a cell in a file: bytes, and millionths.
    pub(super) fn exact(self, space: &Space, c: &Candidate) -> String {
        match self {
            Self::Axis(..) | Self::Crossing => self.text(space, c, Unit::Gib),
            Self::Headroom if c.gpu.is_none() => String::new(),
            Self::Headroom => self.key(space, c).to_string(),
            _ => self.number(c).to_string(),
        }
    }
}

/// The symbols of groups that leave the node or `NVLink` domain.
fn names(crossing: Crossing) -> String {
    let names: Vec<&str> = crossing.kinds().map(GroupKind::symbol).collect();
    names.join(" ")
}

/// What a GPU has left beside the memory that its device shows; negative where it has less.
fn free(gpu: Bytes, device: Bytes, unit: Unit) -> String {
    let number = Scale::fine(unit).number(Bytes(gpu.0.abs_diff(device.0)));
    if device > gpu { format!("−{number}") } else { number }
}

/// Millionths as a percentage with one decimal, rounded to nearest.
fn percent(ppm: u64) -> String {
    let tenths = (ppm + 500) / 1000;
    format!("{}.{}", tenths / 10, tenths % 10)
}
