//! Packed sequences: several samples in one row of tokens (`qkv_format` `thd`), and budgets of tokens for a GPU in
//! place of a number of samples.

use super::draft::Draft;
use super::fields::Args;

/// The micro batches of a job whose samples are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The micro batch that is estimated: the fullest, which is the one that runs out of memory.
    pub(crate) batch: PackedBatch,
    /// The average micro batch; `None` where the average sample is not known or every micro batch is full.
    pub(crate) average: Option<PackedBatch>,
    /// Tokens of the longest sample, with its padding.
    pub(crate) longest: u64,
    /// Whether the longest samples of different micro batches have different lengths.
    pub(crate) lengths_vary: bool,
}

/// A micro batch of packed samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedBatch {
    /// Its tokens over all context-parallel ranks, padding included.
    pub tokens: u64,
    /// The samples of the micro batch.
    pub samples: u64,
    /// The tokens of the micro batch that pad samples.
    pub padding: u64,
}

impl Packing {
    /// The micro batches of a module, and how many of them each rank runs in an optimizer step. `None` where samples
    /// are not packed.
    pub(super) fn new(d: &Draft<'_>) -> Option<(Self, u64)> {
        if !is_packed(&d.args) || !d.io.is_language() {
            return None;
        }
        let a = &d.args;
        let multiple = multiple(d);
        let pad = |tokens: u64| tokens.div_ceil(multiple).saturating_mul(multiple);
        let longest = longest_sample(a);
        let mean = a.mean_sample_length.unwrap_or(longest).min(longest).max(1);
        let per_sample = pad(mean) - mean;
        let (fullest, average, count) = match a.max_seqlen_per_dp_cp_rank {
            None => {
                // `SFTDataset.__getitem__` fills every pack up.
                let samples = (a.seq_length / mean).max(1);
                let samples = samples.saturating_mul(a.micro_batch_size);
                let batch = PackedBatch {
                    tokens: a.seq_length.saturating_mul(a.micro_batch_size),
                    samples,
                    padding: per_sample.saturating_mul(samples),
                };
                (batch, batch, d.num_microbatches)
            }
            Some(budget) if a.hybrid_context_parallel => {
                // `hybrid_context_parallel_forward_backward` runs one sample at a time, over as many ranks as its
                // length needs (`BalancedCPScheduler.gpus_needed`).
                let one = |length: u64| PackedBatch {
                    tokens: pad(length.min(budget)).saturating_mul(d.cp),
                    samples: 1,
                    padding: 0,
                };
                (one(longest), one(mean), d.num_microbatches)
            }
            Some(budget) => {
                let budget = budget.saturating_mul(d.cp);
                let samples = (budget / mean).max(1);
                let padding = per_sample.saturating_mul(samples);
                let fullest = PackedBatch {
                    tokens: pad(budget.saturating_add(padding).max(longest)),
                    samples,
                    padding,
                };
                let all = (d.global_batch_size / d.dp).max(1);
                let count = whole_groups(d, all.div_ceil(samples)).min(all);
                let samples = all.div_ceil(count);
                let tokens = all.saturating_mul(mean).div_ceil(count);
                let padding = per_sample.saturating_mul(samples);
                let average = PackedBatch {
                    tokens: pad(tokens.saturating_add(padding)).min(fullest.tokens),
                    samples,
                    padding,
                };
                (fullest, average, count)
            }
        };
        let known = a.mean_sample_length.is_some();
        let packing = Self {
            batch: fullest,
            average: (known && average != fullest).then_some(average),
            longest: pad(longest),
            lengths_vary: mean < longest || !known,
        };
        Some((packing, count))
    }

    /// The micro batch that is estimated: the fullest one, or the average one after
    /// [`Config::with_average_batch`](super::job::Config::with_average_batch).
    #[must_use]
    pub fn batch(&self) -> PackedBatch {
        self.batch
    }

    /// Tokens of the longest sample, with its padding.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// The average micro batch; `None` where the average sample is not known or every micro batch is full.
    #[must_use]
    pub fn average(&self) -> Option<PackedBatch> {
        self.average
    }
}

/// Whether samples are packed: into sequences of a length, or up to a budget of tokens.
pub(super) fn is_packed(a: &Args) -> bool {
    a.sft || a.max_seqlen_per_dp_cp_rank.is_some()
}

/// Tokens of the longest sample, without its padding.
pub(super) fn longest_sample(a: &Args) -> u64 {
    let given = a.longest_sample_length.unwrap_or(a.seq_length);
    given.min(a.seq_length).max(1)
}

/// The number that the tokens of every sample are padded to a multiple of: context parallelism cuts a sample into 2 ·
/// CP parts, and sequence parallelism the tokens of a rank into TP.
fn multiple(d: &Draft<'_>) -> u64 {
    let parts = if d.cp > 1 && !d.args.hybrid_context_parallel {
        d.cp.saturating_mul(2)
    } else {
        1
    };
    let split = if d.args.sequence_parallel { d.tp } else { 1 };
    parts.saturating_mul(split).max(1)
}

/// The micro batches in whole groups of the interleaved schedule (`DpBalancedScheduler.get_groups_and_subsamples`).
fn whole_groups(d: &Draft<'_>, count: u64) -> u64 {
    if d.interleaved() && d.pp > 1 {
        let group = d.args.microbatch_group_size_per_virtual_pipeline_stage;
        let group = group.unwrap_or(d.pp).max(1);
        count.div_ceil(group).saturating_mul(group)
    } else {
        count
    }
}
