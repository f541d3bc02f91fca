//! How much memory PyTorch's allocator holds on a rank: an interval around what its replays end with.

use super::holes::Holes;
use super::{UnusedRange, unused};
use crate::config::field::{Decimal, Default as DefaultValue};
use crate::config::fields::{Args, FieldId};
use crate::config::job::Config;
use crate::memory::{JobMoment, RankMemory};
use crate::units::Bytes;

/// What a rank reserves at the least for each byte of the replay that reserves least: by so much do repetitions of one
/// job differ.
pub const LEAST_OF_REPLAY: Decimal = Decimal(995_000);
/// What a rank reserves at the most for each byte of the replay that reserves most. The replay gives a tensor back once
/// nothing refers to it; streams and Python do so later, at other times on every rank. Of twenty pairs of ranks of one stage,
/// in one the larger reserves more than this times what the smaller does. One in twenty is a choice, as for an interval of
/// 95 %; fewer than one in ten of the evidence's runs are outside of their intervals with it.
pub const MOST_OF_REPLAY: Decimal = Decimal(1_021_000);

/// What PyTorch's allocator reserves on a rank while the GPU has room for it (`torch.cuda.max_memory_reserved`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedRange {
    /// The least.
    pub low: Bytes,
    /// The most.
    pub high: Bytes,
    /// What the replays reserve, on the ranks of the same stages that reserve least and most.
    pub replayed: (Bytes, Bytes),
    /// What is free when the allocator takes more of the GPU's memory for the last time, on the rank that reserves most.
    pub holes: Holes,
}

impl ReservedRange {
    /// The interval for an allocated peak, of which replays leave so much unused.
    #[must_use]
    pub fn new(peak: Bytes, unused: &UnusedRange) -> Self {
        let replayed = (peak + unused.low, peak + unused.high);
        Self {
            // What is allocated is reserved.
            low: Bytes(LEAST_OF_REPLAY.scale_up(replayed.0.0)).max(peak),
            high: Bytes(MOST_OF_REPLAY.scale_up(replayed.1.0)),
            replayed,
            holes: unused.holes,
        }
    }
}

/// What a rank reserves. `None` where the allocator is not replayed, as [`unused`] says, and where the job has factors of
/// its own in place of the defaults of `reserved_over_allocated_low` and `reserved_over_allocated_high`.
///
/// `rank` has the peak of the moment.
#[must_use]
pub fn reserved(config: &Config, rank: &RankMemory, moment: JobMoment) -> Option<ReservedRange> {
    let mut modules = rank
        .stages
        .iter()
        .filter_map(|stage| config.modules().get(stage.module));
    if modules.any(|m| has_own_factors(m.args())) {
        return None;
    }
    let unused = unused(config, rank, moment)?;
    Some(ReservedRange::new(rank.total, &unused))
}

/// Whether a job has other factors than the defaults.
fn has_own_factors(a: &Args) -> bool {
    let is_default = |factor: Decimal, field: FieldId| field.field().default == DefaultValue::Decimal(factor.0);
    let low = is_default(a.reserved_over_allocated_low, FieldId::reserved_over_allocated_low);
    let high = is_default(a.reserved_over_allocated_high, FieldId::reserved_over_allocated_high);
    !(low && high)
}
