//! Bytes that no step of a schedule has alive more of, found without a walk.

use core::cmp::Reverse;

use super::{ChunkBytes, Schedule};

impl Schedule {
    /// Bytes that the [peak](Self::peak) does not exceed, where no two passes run at once. `chunks` are the chunks of
    /// this rank in order.
    ///
    /// As many microbatches are alive as the warm-up begins and one more, of each chunk as many as are ever alive of
    /// it, most of those that keep most; beside them is the heaviest pass, and all that passes leave behind.
    #[must_use]
    pub fn at_most(&self, chunks: &[ChunkBytes]) -> u128 {
        let largest = |of: fn(&ChunkBytes) -> u64| u128::from(chunks.iter().map(of).max().unwrap_or(0));
        let passes = self.order.len();
        let behind = chunks
            .iter()
            .map(|chunk| u128::from(chunk.idle) + chunk.deferred_at_most(passes));
        self.stored_at_most(chunks)
            + largest(|chunk| chunk.forward.max(chunk.backward))
            + largest(|chunk| chunk.input_grad)
            + largest(|chunk| chunk.output)
            + behind.sum::<u128>()
    }

    /// Bytes that live microbatches keep at most.
    fn stored_at_most(&self, chunks: &[ChunkBytes]) -> u128 {
        let mut alive = (self.warm_up + 1).min(self.order.len());
        let of_chunks = (0..self.num_chunks()).zip(chunks);
        let mut of_chunks: Vec<(u64, u64)> = of_chunks
            .map(|(chunk, weight)| (weight.stored, self.order.most_live(chunk, self.warm_up)))
            .collect();
        of_chunks.sort_unstable_by_key(|(stored, _)| Reverse(*stored));
        let stored = of_chunks.into_iter().map(|(stored, live)| {
            let live = live.min(alive);
            alive -= live;
            u128::from(stored) * u128::from(live)
        });
        stored.sum()
    }
}
