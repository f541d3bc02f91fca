//! Micro batches that stay on the GPU until the next iteration ([`SoftwareFact::MicroBatchesStay`]): their attention
//! masks, and the tokens, labels, positions and loss masks that a stage reads.

use super::{List, Site};
use crate::config::choices::SoftwareFact;
use crate::config::job::Module;
use crate::memory::blocks::attention_mask;
use crate::model::tensor::{Shape, factor};
use crate::parallel::stages::Chunk;
use crate::source::Source;

/// Bytes of the number of a token, of a label and of a position, each in int64.
const ID: u64 = 8;
/// Bytes of an element of the loss mask, in fp32.
const LOSS_MASK: u64 = 4;

/// Whether the micro batches of a module stay.
pub(crate) fn stay(m: &Module) -> bool {
    SoftwareFact::MicroBatchesStay.holds(&m.args)
}

/// Adds what the first rank of a tensor-parallel group holds of all micro batches of an iteration.
pub(super) fn add(site: &Site<'_>, out: &mut List) {
    let m = site.sizes.m;
    if !stay(m) {
        return;
    }
    let has = |reads: fn(&Chunk) -> bool| site.chunks.iter().any(reads);
    let reads_tokens = has(|chunk| chunk.embedding || chunk.mtp > 0);
    let reads_labels = has(|chunk| chunk.output || chunk.mtp > 0);
    let of_token = [(reads_tokens, 2 * ID), (reads_labels, ID + LOSS_MASK)];
    let of_token: u64 = of_token
        .iter()
        .filter(|(reads, _)| *reads)
        .map(|(_, bytes)| bytes)
        .sum();
    if of_token == 0 {
        return;
    }
    let micro_batches = factor("micro batches", m.num_microbatches);
    if m.args.create_attention_mask_in_dataloader {
        let what = "attention masks of all micro batches of an iteration";
        out.tensor(
            what,
            attention_mask(m).times(micro_batches),
            1,
            Source::RerunDataIterator,
        );
    }
    let (sequence, samples) = (factor("s", m.args.seq_length), factor("b", m.args.micro_batch_size));
    let tokens = Shape::of(&[micro_batches, sequence, samples]).over(factor("CP", m.sequence_parts()));
    let what = "tokens, positions, labels and loss masks of all micro batches of an iteration";
    out.tensor(what, tokens, of_token, Source::RerunDataIterator);
}
