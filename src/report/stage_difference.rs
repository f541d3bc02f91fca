//! Why a stage needs less, or more, than the fullest one.

use super::amount::Scale;
use super::summary::stage_name;
use crate::config::job::Config;
use crate::memory::bucket::Bucket;
use crate::memory::{Estimate, StageRef};
use crate::units::Bytes;

/// The most buckets that are named.
const MOST: usize = 3;

/// What a stage needs against the fullest one, with the buckets that make most of the difference: `19.2 GiB less than
/// stage 1: Expert activations −12.9 GiB, Attention activations −5.1 GiB`. `None` for the fullest stage itself.
#[must_use]
pub fn difference_to_fullest(config: &Config, estimate: &Estimate, stage: StageRef, scale: Scale) -> Option<String> {
    if stage == estimate.worst {
        return None;
    }
    let (this, fullest) = (estimate.stage(stage)?, estimate.worst_stage()?);
    let name = stage_name(config, estimate.worst);
    let less = fullest.total.saturating_sub(this.total);
    let more = this.total.saturating_sub(fullest.total);
    let start = if more > Bytes::ZERO {
        format!("{} more than {name}", scale.amount(more))
    } else if less > Bytes::ZERO {
        format!("{} less than {name}", scale.amount(less))
    } else {
        format!("as much as {name}")
    };
    let mut differences: Vec<(Bucket, Bytes, Bytes)> = Bucket::ALL
        .into_iter()
        .map(|bucket| (bucket, fullest.bytes(bucket), this.bytes(bucket)))
        .filter(|(_, old, new)| old != new)
        .collect();
    differences.sort_by_key(|(_, old, new)| core::cmp::Reverse(old.0.abs_diff(new.0)));
    let named = differences.into_iter().take(MOST);
    let named: Vec<String> = named
        .map(|(bucket, old, new)| {
            let sign = if new < old { '−' } else { '+' };
            format!(
                "{} {sign}{}",
                bucket.label(),
                scale.amount(Bytes(old.0.abs_diff(new.0)))
            )
        })
        .collect();
    Some(if named.is_empty() {
        start
    } else {
        format!("{start}: {}", named.join(", "))
    })
}
