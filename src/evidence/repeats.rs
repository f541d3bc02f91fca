//! Recordings of one job that was run twice: from its start, and again from a checkpoint. How far they differ is how
//! exact a recording can be met at all.
//!
//! The recordings are Megatron-LM's golden values with and without `_2nd` in their names, each at the last iteration
//! that both have. `src/evidence/repeats.json` is a list of them.

use serde::Deserialize;

use super::compare::Error;
use super::record::{ReadError, read_records};
use super::summary::quantile;
use crate::units::Bytes;

/// The two recordings of one job.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// The folder of the test and the platform.
    pub id: String,
    /// `torch.cuda.memory_allocated` of the first and of the resumed run.
    pub steady: [Bytes; 2],
    /// `torch.cuda.max_memory_allocated` of the first and of the resumed run.
    pub peak: [Bytes; 2],
}

/// How far the second recordings are from the first, in millionths of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The median.
    pub median_ppm: u64,
    /// The 90th percentile.
    pub p90_ppm: u64,
    /// The largest difference.
    pub worst_ppm: u64,
}

/// Reads a list of repeated recordings.
///
/// # Errors
///
/// When the text is not JSON, or a field is missing or has a wrong value.
pub fn read_repeats(text: &str) -> Result<Vec<Repeat>, ReadError> {
    read_records(text, |_| Ok(()))
}

/// How far pairs of recordings differ; `None` where there are none.
#[must_use]
pub fn spread(repeats: &[Repeat], of: fn(&Repeat) -> [Bytes; 2]) -> Option<Spread> {
    let differences = repeats.iter().filter_map(|repeat| {
        let [first, second] = of(repeat);
        Some(Error::new(second, first)?.ppm.unsigned_abs())
    });
    let mut differences: Vec<u64> = differences.collect();
    differences.sort_unstable();
    Some(Spread {
        median_ppm: quantile(&differences, 50)?,
        p90_ppm: quantile(&differences, 90)?,
        worst_ppm: *differences.last()?,
    })
}
