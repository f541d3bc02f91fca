//! What the chunks of a pipeline consist of: each kind of chunk once, and each kind of rank.

use crate::config::choices::{RecomputeGranularity, RecomputeMethod};
use crate::config::job::Module;
use crate::parallel::stages::Chunk;

/// The blocks of a chunk, whichever layers of the model these are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChunkContents {
    /// For each distinct layer of the module, how many such layers run once forwards, and how many run again as a whole
    /// for the backward pass.
    pub(super) layers: Vec<[u32; 2]>,
    pub(super) embedding: bool,
    pub(super) output: bool,
    /// MTP depths.
    pub(super) mtp: u32,
}

impl ChunkContents {
    /// The blocks of a chunk of a module with so many `distinct` layers, whose layers have these `places` among them.
    /// The first `whole` layers of each chunk run again.
    fn of(chunk: &Chunk, places: &[usize], distinct: usize, whole: u64) -> Self {
        let mut layers = vec![[0, 0]; distinct];
        let range = chunk.layers.start as usize..chunk.layers.end as usize;
        for (index, place) in (0..).zip(places.get(range).unwrap_or_default()) {
            if let Some([once, again]) = layers.get_mut(*place) {
                *(if index < whole { again } else { once }) += 1;
            }
        }
        Self {
            layers,
            embedding: chunk.embedding,
            output: chunk.output,
            mtp: chunk.mtp,
        }
    }
}

/// The first layers of each chunk of a module that run again as a whole.
pub(super) fn recomputed_layers(m: &Module) -> u64 {
    let a = m.args();
    match a.recompute_method {
        _ if a.recompute_granularity != Some(RecomputeGranularity::Full) => 0,
        Some(RecomputeMethod::Block) => a.recompute_num_layers.unwrap_or(1),
        Some(RecomputeMethod::Uniform) | None => u64::MAX,
    }
}

/// Pipeline ranks whose chunks are of the same kinds.
#[derive(Clone, Copy, Debug)]
pub(super) struct LikeRanks {
    /// The first of them.
    pub(super) first: usize,
    /// How many there are.
    pub(super) count: u64,
}

/// The chunks of a pipeline, each kind of chunk once.
#[derive(Clone, Debug)]
pub(super) struct PipelineContents {
    /// The kinds of chunks.
    pub(super) chunks: Vec<ChunkContents>,
    /// For each pipeline rank, the kinds of its chunks, by their places in `chunks`.
    pub(super) ranks: Vec<Vec<usize>>,
    /// The kinds of ranks, in the order of the first of each.
    pub(super) kinds: Vec<LikeRanks>,
}

impl PipelineContents {
    /// The pipeline of a module with so many `distinct` layers, whose layers have these `places` among them.
    pub(super) fn new(m: &Module, places: &[usize], distinct: usize) -> Self {
        let whole = recomputed_layers(m);
        let mut chunks: Vec<ChunkContents> = Vec::new();
        let mut ranks: Vec<Vec<usize>> = Vec::new();
        let mut kinds: Vec<LikeRanks> = Vec::new();
        for pp_rank in 0..m.stages().pp() {
            let of_rank = m.stages().rank(pp_rank).iter().map(|chunk| {
                let contents = ChunkContents::of(chunk, places, distinct, whole);
                let known = chunks.iter().position(|known| *known == contents);
                known.unwrap_or_else(|| {
                    chunks.push(contents);
                    chunks.len() - 1
                })
            });
            let rank: Vec<usize> = of_rank.collect();
            let known = kinds.iter_mut().find(|kind| ranks.get(kind.first) == Some(&rank));
            match known {
                Some(kind) => kind.count += 1,
                None => kinds.push(LikeRanks {
                    first: ranks.len(),
                    count: 1,
                }),
            }
            ranks.push(rank);
        }
        Self { chunks, ranks, kinds }
    }
}
