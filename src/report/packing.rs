//! The fullest and the average micro batch of packed samples, in words.

use super::amount::{Scale, grouped};
use crate::config::job::Config;
use crate::memory::Estimate;

/// How full the micro batches of packed samples are, in one sentence: `The number is that of the fullest micro batch,
/// 32,768 tokens; the average one of 21,000 tokens needs 51.2 GiB.` `None` where samples are not packed, or every micro
/// batch is full.
#[must_use]
pub fn batches(config: &Config, estimate: &Estimate, scale: Scale) -> Option<String> {
    if let Some(average) = estimate.average_batch {
        return Some(format!(
            "The number is that of the fullest micro batch, {} tokens; the average one of {} tokens needs {}.",
            grouped(average.fullest),
            grouped(average.tokens),
            scale.amount(average.total)
        ));
    }
    let mut modules = config.modules().iter();
    let module = modules.find(|m| m.packing().is_some())?;
    let args = module.args();
    let unknown = args.max_seqlen_per_dp_cp_rank.is_some() && args.mean_sample_length.is_none();
    unknown.then(|| {
        format!(
            "The number is that of the fullest micro batch, {} tokens; the average sample says how full the others are.",
            grouped(module.packing().map_or(0, |packing| packing.batch().tokens))
        )
    })
}
