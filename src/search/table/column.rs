//! The columns of a table of layouts: what each says of a layout, and how rows are sorted by it.

use crate::search::axis::{Axis, Pick};
use crate::search::candidate::Candidate;
use crate::search::placement::{Crossing, GroupKind};
use crate::search::space::Space;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
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
    /// The predicted time of a step.
    Time,
}

/// In what the layouts of a table differ, where a column is left out unless they do.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says of one column whether it is shown"
)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Differences {
    /// The chunks of a pipeline rank of the first layout; `None` before there is one.
    chunks: Option<u32>,
    /// Whether others have more or fewer.
    chunks_differ: bool,
    /// Whether groups inside layers of some leave the node or `NVLink` domain.
    some_cross: bool,
    /// Whether some recompute.
    some_recompute: bool,
    /// Whether the time of some is predicted.
    some_timed: bool,
}

impl Differences {
    /// Takes another layout into account.
    pub(super) fn add(&mut self, c: &Candidate) {
        self.chunks_differ |= *self.chunks.get_or_insert(c.vpp) != c.vpp;
        self.some_cross |= c.crossing != Crossing::default();
        self.some_recompute |= c.recomputed_ppm > 0;
        self.some_timed |= c.step_nanoseconds.is_some();
    }

    /// The columns of the table.
    pub(super) fn columns(self, space: &Space) -> Vec<Column> {
        let axes = space.dimensions().iter().enumerate();
        let mut columns: Vec<Column> = axes
            .map(|(level, dimension)| Column::Axis(level, dimension.axis))
            .collect();
        let vary = space.dimensions().iter().any(|d| d.axis == Axis::Virtual);
        columns.extend((self.chunks_differ && !vary).then_some(Column::Chunks));
        columns.push(Column::Peak);
        columns.extend(space.gpu_memory().map(|_| Column::Headroom));
        columns.extend(self.some_timed.then_some(Column::Time));
        columns.extend([Column::Stage, Column::Replica, Column::Dp]);
        columns.extend(space.has_experts().then_some(Column::Edp));
        columns.extend(self.some_cross.then_some(Column::Crossing));
        columns.extend([Column::Microbatches, Column::Bubble, Column::Network, Column::Near]);
        columns.extend(self.some_recompute.then_some(Column::Recomputed));
        columns
    }
}

impl Column {
    /// A name without spaces, for files and for the names of controls.
    #[must_use]
    pub fn id(self) -> &'static str {
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
            Self::Time => "step_nanoseconds",
        }
    }

    /// The number that rows are sorted by: bytes, millionths, or the place of a value on its axis.
    #[must_use]
    pub fn key(self, space: &Space, c: &Candidate) -> i128 {
        match self {
            Self::Axis(level, _) => space.digit(c.index, level).into(),
            Self::Chunks => c.vpp.into(),
            Self::Peak => c.peak.0.into(),
            Self::Headroom => c.gpu.map_or(0, |gpu| i128::from(gpu.least.0) - i128::from(c.most.0)),
            Self::Stage => i128::try_from(c.worst.pp_rank).unwrap_or(i128::MAX),
            Self::Replica => c.replica.into(),
            Self::Dp => c.dp.into(),
            Self::Edp => c.edp.into(),
            Self::Crossing => i128::try_from(c.crossing.kinds().count()).unwrap_or(i128::MAX),
            Self::Microbatches => c.num_microbatches.into(),
            Self::Bubble => c.bubble_ppm.into(),
            Self::Network => c.traffic.far.0.into(),
            Self::Near => c.traffic.near.0.into(),
            Self::Recomputed => c.recomputed_ppm.into(),
            Self::Time => c.step_nanoseconds.map_or(i128::MAX, i128::from),
        }
    }

    /// The value in a file: words for what has no number, and otherwise the number that rows are sorted by.
    #[must_use]
    pub fn exact(self, space: &Space, c: &Candidate) -> String {
        match self {
            Self::Axis(level, _) => space.pick(c.index, level).map_or(String::new(), Pick::label),
            Self::Crossing => crossing_groups(c),
            Self::Headroom if c.gpu.is_none() => String::new(),
            Self::Time if c.step_nanoseconds.is_none() => String::new(),
            _ => self.key(space, c).to_string(),
        }
    }
}

/// The symbols of the groups of a layout that leave the node or `NVLink` domain, such as `CP EP`.
#[must_use]
pub fn crossing_groups(c: &Candidate) -> String {
    let names: Vec<&str> = c.crossing.kinds().map(GroupKind::symbol).collect();
    names.join(" ")
}
