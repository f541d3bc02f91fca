//! Tables of rotary embeddings. Each chunk of a model has an embedding of its own, and with multi-latent attention each
//! of its layers; every embedding keeps what it made of a length.

use super::{List, Site};
use crate::config::choices::{PositionEmbedding, RopeType};
use crate::config::mixer::Mixer;
use crate::model::kernels::rotary;
use crate::model::tensor::{Factor, Shape, factor};
use crate::source::Source;

/// The tables that `lru_cache(maxsize=32)` of `RotaryEmbedding.forward` and of `YarnRotaryEmbedding.forward` keeps, one
/// for each length and embedding.
const CACHED_TABLES: u64 = 32;
/// Positions that `YarnRotaryEmbedding` makes cosines and sines of when it is built
/// (`original_max_position_embeddings`).
const YARN_POSITIONS: u64 = 4096;

/// Adds the tables of a stage.
pub(super) fn add(site: &Site<'_>, out: &mut List) {
    let m = site.sizes.m;
    if m.args.multi_latent_attention {
        let embeddings = latent_embeddings(site);
        let yarn = m.args.rope_type.unwrap_or(RopeType::Yarn) == RopeType::Yarn;
        let width = factor("d_rope", m.args.qk_pos_emb_head_dim);
        tables(site, (embeddings, width), yarn, out);
    } else if rotary(m) {
        let yarn = m.args.position_embedding_type == PositionEmbedding::Yarn;
        let width = factor("d", m.kv_channels);
        tables(site, (site.chunks.len() as u64, width), yarn, out);
    }
}

/// The tables of so many embeddings of so many channels.
fn tables(site: &Site<'_>, (embeddings, width): (u64, Factor), yarn: bool, out: &mut List) {
    let m = site.sizes.m;
    let mrope = m.args.position_embedding_type == PositionEmbedding::Mrope && !m.args.multi_latent_attention;
    // Frequencies of several axes are made anew for every micro batch.
    let cached = if mrope { 1 } else { embeddings.min(CACHED_TABLES) };
    let length = match &m.packing {
        None => {
            let (cp, sequence) = (factor("CP", m.sequence_parts()), factor("s", m.args.seq_length));
            let shape = Shape::of(&[factor("embeddings", cached), sequence, width]).over(cp);
            out.tensor("rotary frequencies in fp32", shape, 4, Source::RopeTable);
            Shape::of(&[sequence, width]).over(cp)
        }
        Some(packing) => {
            // Tables of all lengths share the cache, but fused embeddings make one of the longest sample alone. Every
            // context-parallel rank has the whole of each.
            let longest = factor("longest sample", packing.longest);
            let each_length = packing.lengths_vary && !mrope && !is_fused(site);
            let cached = if each_length && embeddings > 0 {
                CACHED_TABLES
            } else {
                cached
            };
            let shape = Shape::of(&[factor("tables", cached), longest, width]);
            let what = "rotary frequencies in fp32 of the latest lengths of samples";
            out.tensor(what, shape, 4, Source::RopeTableCache);
            Shape::of(&[longest, width])
        }
    };
    if yarn {
        // What is fused reads cosines and sines of this length; else those that they were built with stay.
        let of_embedding = if is_fused(site) {
            length
        } else {
            Shape::of(&[factor("original positions", YARN_POSITIONS), width])
        };
        let both = of_embedding.times(factor("(cosines and sines)", 2));
        let shape = both.times(factor("embeddings", embeddings));
        let what = "cosines and sines of rotary embeddings with yarn";
        out.tensor(what, shape, site.sizes.width(), Source::YarnTables);
    }
}

/// Whether multi-latent attention reads cosines and sines from tables (`fused_apply_mla_rope_for_q`).
fn is_fused(site: &Site<'_>) -> bool {
    site.sizes.m.args.multi_latent_attention && site.sizes.kernels.rope_fused
}

/// The layers of a stage, MTP depths among them, that make an embedding of their own; and their indexers, which do too.
fn latent_embeddings(site: &Site<'_>) -> u64 {
    let layers = site.sizes.m.layers();
    let of_chunks = site.chunks.iter().flat_map(|chunk| chunk.layers.clone());
    let decoder = of_chunks.filter_map(|index| layers.decoder().get(index as usize));
    let has_depths = site.chunks.iter().any(|chunk| chunk.mtp > 0);
    let depths = layers.mtp().iter().filter(|_| has_depths);
    let mixers = decoder.chain(depths).filter_map(|layer| layer.mixer);
    mixers.map(Mixer::rotary_embeddings).sum()
}
