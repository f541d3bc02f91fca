//! How much of the forward pass a choice runs a second time: matrix products, and the memory traffic of modules that
//! have none.

use core::ops::AddAssign;

use super::Choice;
use crate::config::choices::{RecomputeModule, TokenLoss};
use crate::config::compress_ratios::CompressRatio;
use crate::config::job::{Module, Precision};
use crate::config::layers::{self as config, Mixer, MlpKind};
use crate::parallel::stages::Chunk;
#[allow(unused_imports, reason = "a link of the documentation")]
use crate::source::Source;

/// Operations that a GPU could do while it reads or writes a byte of its own memory: 40 % of the 989 dense bf16 TFLOP/s
/// of an H100, at its 3.35 TB/s ([`Source::H100`]). Both grow together from one generation to the next.
pub const OPERATIONS_PER_MEMORY_BYTE: u128 = 118;

/// Multiplications of one layer for one token, in matrix products only, split over no ranks: shares are what matters.
#[derive(Clone, Copy, Default)]
struct Layer {
    /// In and out of attention; of a delta net, its state too, which no module but the whole layer runs again.
    projections: u128,
    /// The up projections of MLA, which are part of the projections.
    up: u128,
    /// The input projection of a gated delta product, which is part of the projections.
    in_proj: u128,
    scores: u128,
    mlp: u128,
    shared: u128,
    /// Elements that the norms before the mixer and before the MLP read and write.
    norms: u128,
    /// Elements that hyper-connections read and write to make one stream of all before each half, and all behind it.
    streams: u128,
    /// Elements that the activation function of the routed experts reads and writes.
    expert_activation: u128,
    /// Elements that the gated norm of a delta net reads and writes.
    gated_norm: u128,
    /// Elements that the convolution after the input projection of a gated delta product reads and writes.
    convolution: u128,
}

impl Layer {
    fn all(self) -> u128 {
        self.projections + self.scores + self.mlp
    }
}

fn layer(m: &Module, of: config::Layer) -> Layer {
    let m = &m.of_layer(of.sizes);
    let norms = u128::from(of.mixer.is_some()) + u128::from(of.mlp.is_some());
    let mut out = Layer {
        norms: norms * 2 * wide(m.args.hidden_size),
        streams: norms * streams(m),
        ..Layer::default()
    };
    match of.mixer {
        None => {}
        Some(Mixer::Attention) => attention(m, &mut out),
        Some(Mixer::MambaBesideAttention) => {
            attention(m, &mut out);
            out.projections += mamba(m);
        }
        Some(Mixer::MultiLatentAttention) => latent_attention(m, &mut out),
        Some(Mixer::SparseAttention { indexer }) => sparse_attention(m, indexer, &mut out),
        Some(Mixer::CompressedAttention { ratio }) => compressed_attention(m, ratio, &mut out),
        Some(Mixer::GatedDeltaNet) => gated_delta_net(m, &mut out),
        Some(Mixer::GatedDeltaNet2) => gated_delta_net_2(m, &mut out),
        Some(Mixer::Mamba) => out.projections = mamba(m),
        Some(Mixer::GatedDeltaProduct) => gated_delta_product(m, &mut out),
        Some(Mixer::KimiDeltaAttention) => kimi_delta_attention(m, &mut out),
        Some(Mixer::KimiLatentAttention) => {
            latent_attention(m, &mut out);
            // The gate of the output is as wide as the output.
            out.projections += wide(m.args.hidden_size) * wide(m.args.num_attention_heads) * wide(m.args.v_head_dim);
        }
    }
    // Into the embeddings per layer of Gemma 4 and back.
    out.projections += 2 * wide(m.args.hidden_size) * wide(m.args.per_layer_embed_dim.unwrap_or(0));
    match of.mlp {
        None => {}
        Some(MlpKind::Dense) => {
            out.mlp = matrices(m) * wide(m.args.hidden_size) * wide(m.ffn_hidden_size);
        }
        Some(MlpKind::Moe) => experts(m, &mut out),
    }
    out
}

fn wide(n: u64) -> u128 {
    u128::from(n)
}

/// Elements of a token that hyper-connections read and write around one half of a layer: all streams in and one out before
/// it; all streams and its output in, and all streams out, behind it.
fn streams(m: &Module) -> u128 {
    if !m.args.enable_mhc_connections {
        return 0;
    }
    (3 * wide(m.args.mhc_num_residual_streams) + 2) * wide(m.args.hidden_size)
}

/// Matrices of an MLP.
fn matrices(m: &Module) -> u128 {
    if m.activation.gated() { 3 } else { 2 }
}

fn attention(m: &Module, out: &mut Layer) {
    let a = &m.args;
    let heads = wide(a.num_attention_heads);
    let width = wide(m.kv_channels);
    let gate = if a.attention_output_gate { heads } else { 0 };
    out.projections = wide(a.hidden_size) * width * (2 * heads + gate + 2 * wide(m.num_query_groups));
    out.scores = 2 * wide(m.attention_length()) * heads * width;
}

fn latent_attention(m: &Module, out: &mut Layer) {
    let a = &m.args;
    let (hidden, heads) = (wide(a.hidden_size), wide(a.num_attention_heads));
    let query = wide(a.qk_head_dim + a.qk_pos_emb_head_dim);
    let (rank, value) = (wide(a.kv_lora_rank), wide(a.v_head_dim));
    let down = hidden * (rank + wide(a.qk_pos_emb_head_dim)) + a.q_lora_rank.map_or(0, |rank| hidden * wide(rank));
    out.up = heads * query * a.q_lora_rank.map_or(hidden, wide) + heads * (wide(a.qk_head_dim) + value) * rank;
    out.projections = down + out.up + heads * value * hidden;
    out.scores = wide(m.attention_length()) * heads * (query + value);
}

/// Absorbed multi-latent attention: queries go into the latent space of keys and values, and the output comes back.
fn sparse_attention(m: &Module, indexer: bool, out: &mut Layer) {
    let a = &m.args;
    latent_attention(m, out);
    let heads = wide(a.num_attention_heads);
    let (rank, rotary) = (wide(a.kv_lora_rank), wide(a.qk_pos_emb_head_dim));
    let length = wide(m.attention_length());
    let picked = wide(a.dsa_indexer_topk.unwrap_or(a.seq_length)).min(length);
    out.scores = picked * heads * (2 * rank + rotary);
    if indexer {
        let index_heads = wide(a.dsa_indexer_n_heads.unwrap_or(0));
        let width = wide(a.dsa_indexer_head_dim.unwrap_or(0));
        let query = a.q_lora_rank.unwrap_or(a.hidden_size);
        out.scores += index_heads * width * (wide(query) + length) + wide(a.hidden_size) * (width + index_heads);
    }
}

/// Queries of many heads over one head of keys; the output is projected in groups of heads.
fn compressed_attention(m: &Module, ratio: CompressRatio, out: &mut Layer) {
    let a = &m.args;
    let (hidden, heads, head) = (wide(a.hidden_size), wide(a.num_attention_heads), wide(a.v_head_dim));
    let rank = a.q_lora_rank.map_or(hidden, wide);
    let length = m.attention_length();
    let groups = length / ratio.tokens().max(1);
    let copies = if ratio.overlaps() { 2 } else { 1 };
    let indexes = ratio == CompressRatio::Sparse && !a.csa_dense_mode;
    let picked = match ratio {
        CompressRatio::Window => 0,
        CompressRatio::Sparse if indexes => a.dsa_indexer_topk.unwrap_or(groups).min(groups),
        CompressRatio::Sparse | CompressRatio::Heavy => groups,
    };
    out.up = rank * heads * head + hidden * head;
    let compressor = |width: u128| 2 * hidden * copies * width;
    let compressors = if ratio == CompressRatio::Window {
        0
    } else {
        compressor(head)
    };
    let output = heads * head * wide(a.o_lora_rank) + wide(a.o_groups) * wide(a.o_lora_rank) * hidden;
    out.projections = hidden * rank + out.up + compressors + output;
    out.scores = 2 * heads * head * wide(a.csa_window_size.saturating_add(picked).min(length.max(1)));
    if indexes {
        let index_heads = wide(a.dsa_indexer_n_heads.unwrap_or(0));
        let width = wide(a.dsa_indexer_head_dim.unwrap_or(0));
        out.scores += index_heads * width * (rank + wide(groups)) + hidden * index_heads + compressor(width);
    }
}

fn gated_delta_net(m: &Module, out: &mut Layer) {
    let a = &m.args;
    let value_heads = wide(a.linear_num_value_heads);
    let values = value_heads * wide(a.linear_value_head_dim);
    let keys = wide(a.linear_num_key_heads) * wide(a.linear_key_head_dim);
    // The state is read and written for every token.
    let state = 2 * values * wide(a.linear_key_head_dim);
    out.projections = wide(a.hidden_size) * (2 * keys + 3 * values + 2 * value_heads) + state;
    // The output and the gate come in, and the gated output goes out.
    out.gated_norm = 3 * values;
}

fn gated_delta_net_2(m: &Module, out: &mut Layer) {
    let a = &m.args;
    let values = wide(a.linear_num_value_heads) * wide(a.linear_value_head_dim);
    let keys = wide(a.linear_num_key_heads) * wide(a.linear_key_head_dim);
    let state = 2 * values * wide(a.linear_key_head_dim);
    out.projections = wide(a.hidden_size) * (4 * keys + 4 * values) + state;
    out.gated_norm = 3 * values;
}

/// Queries, keys, values, an output gate and the output, a narrow gate that becomes one of every channel, and the writing
/// strengths.
fn kimi_delta_attention(m: &Module, out: &mut Layer) {
    let a = &m.args;
    let (hidden, heads, width) = (
        wide(a.hidden_size),
        wide(a.linear_num_value_heads),
        wide(a.linear_key_head_dim),
    );
    let all = heads * width;
    let state = 2 * all * width;
    out.projections = hidden * (5 * all + width + heads) + width * all + state;
    out.gated_norm = 3 * all;
}

fn gated_delta_product(m: &Module, out: &mut Layer) {
    let a = &m.args;
    let heads = wide(m.mamba_num_heads());
    let inner = heads * wide(a.mamba_head_dim);
    let groups = wide(a.mamba_num_groups) * wide(a.mamba_state_dim);
    let steps = wide(a.gdp_num_householder);
    // The state is written in every step and read once.
    let state = (1 + steps) * inner * wide(a.mamba_state_dim);
    let projected = (1 + steps) * (inner + groups + heads);
    out.in_proj = wide(a.hidden_size) * projected;
    out.convolution = 2 * projected;
    out.projections = out.in_proj + wide(a.hidden_size) * inner + state;
}

/// Multiplications of a Mamba mixer.
fn mamba(m: &Module) -> u128 {
    let a = &m.args;
    let heads = wide(m.mamba_num_heads());
    let inner = heads * wide(a.mamba_head_dim);
    let groups = wide(a.mamba_num_groups) * wide(a.mamba_state_dim);
    // The state is read and written for every token.
    let state = 2 * inner * wide(a.mamba_state_dim);
    wide(a.hidden_size) * (3 * inner + 2 * groups + heads) + state
}

fn experts(m: &Module, out: &mut Layer) {
    let a = &m.args;
    let Some(moe) = &m.moe else { return };
    let hidden = wide(a.hidden_size);
    let inner = a.moe_latent_size.map_or(hidden, wide);
    out.shared = matrices(m) * hidden * wide(moe.shared);
    let routed = matrices(m) * inner * wide(moe.ffn_hidden_size) * wide(moe.topk);
    let latent = if a.moe_latent_size.is_some() {
        2 * hidden * inner
    } else {
        0
    };
    out.mlp = out.shared + routed + latent + hidden * wide(moe.num_experts);
    // A gated activation reads both halves of what the first matrix puts out.
    out.expert_activation = matrices(m) * wide(moe.ffn_hidden_size) * wide(moe.topk);
}

/// The multiplications of a chunk for one token, split over no ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkWork {
    /// Multiplications of the forward pass.
    pub forward: u128,
    /// Multiplications of the forward pass that run again in the backward pass.
    pub again: u128,
    /// Bytes that modules without matrix products, such as norms, read and write once more.
    pub again_bytes: u128,
}

impl ChunkWork {
    /// The work that runs again, in multiplications that take as long.
    #[must_use]
    pub const fn repeated(self) -> u128 {
        self.again + self.again_bytes * OPERATIONS_PER_MEMORY_BYTE / 2
    }
}

impl AddAssign for ChunkWork {
    fn add_assign(&mut self, other: Self) {
        self.forward += other.forward;
        self.again += other.again;
        self.again_bytes += other.again_bytes;
    }
}

/// The work that runs again with a choice of recomputation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Multiplications of one token's forward pass through the stage, split over no ranks.
    pub forward: u128,
    /// The time that it takes, in millionths of that of the matrix products of the stage's forward pass.
    pub ppm: u64,
    /// As floating-point operations of one GPU in one iteration.
    pub flops: u64,
}

/// The multiplications of a chunk for one token, and those that run again with a choice of recomputation.
#[must_use]
pub fn chunk_work(m: &Module, chunk: &Chunk, choice: Choice) -> ChunkWork {
    let mut whole = 0u128;
    let mut again = 0u128;
    let mut again_elements = 0u128;
    let columns = match m.args.token_loss {
        TokenLoss::SwiftEmbedding => 0,
        TokenLoss::SwiftReranker => 2,
        TokenLoss::Megatron
        | TokenLoss::NemoRl
        | TokenLoss::NemoRlDeferred
        | TokenLoss::VerlFused
        | TokenLoss::ChatLearn
        | TokenLoss::Slime
        | TokenLoss::Swift => m.padded_vocab_size,
    };
    let output = u128::from(m.args.hidden_size) * u128::from(m.args.num_labels.unwrap_or(columns));
    let range = chunk.layers.start as usize..chunk.layers.end as usize;
    let layers = m.layers().decoder().get(range).unwrap_or_default();
    // Most layers are like the one before.
    let mut first = 0u64;
    for run in layers.chunk_by(|one, next| one == next) {
        let Some(of) = run.first() else { continue };
        let count = u64::try_from(run.len()).unwrap_or(u64::MAX);
        let is_moe = of.mlp == Some(MlpKind::Moe);
        let layer = layer(m, *of);
        let all = layer.all();
        whole += wide(count) * all;
        if let Choice::Selective(modules) = choice {
            let part = |module, elements: u128| if modules.contains(module) { elements } else { 0 };
            let norms = modules.contains(RecomputeModule::Layernorm) || modules.contains(RecomputeModule::Mhc);
            let elements = if norms { layer.norms } else { 0 }
                + part(RecomputeModule::Mhc, layer.streams)
                + part(RecomputeModule::MoeAct, layer.expert_activation)
                + part(RecomputeModule::GdnNormOut, layer.gated_norm)
                + part(RecomputeModule::GdpQkv, layer.convolution);
            again_elements += wide(count) * elements;
        }
        again += match choice {
            Choice::Nothing | Choice::Offload(_) => 0,
            Choice::Uniform(_) => wide(count) * all,
            Choice::Block(layers) => wide(layers.saturating_sub(first).min(count)) * all,
            Choice::Selective(modules) => {
                let has = |module| modules.contains(module);
                let part = |has: bool, work: u128| if has { work } else { 0 };
                let moe = is_moe && has(RecomputeModule::Moe);
                let of_layer = part(has(RecomputeModule::CoreAttn), layer.scores)
                    + part(has(RecomputeModule::MlaUpProj), layer.up)
                    + part(has(RecomputeModule::GdpInProj), layer.in_proj)
                    + part(has(RecomputeModule::Mlp) && !is_moe, layer.mlp)
                    + part(moe, layer.mlp)
                    + part(has(RecomputeModule::SharedExperts) && is_moe && !moe, layer.shared);
                wide(count) * of_layer
            }
        };
        first += count;
    }
    // A depth of MTP projects what it embeds and what it gets, has layers of its own and predicts; with full
    // recompute in groups all but the prediction runs again.
    if chunk.mtp > 0 {
        let layers = m.layers().mtp().iter().map(|of| layer(m, *of).all());
        let depth = layers.sum::<u128>() + 2 * wide(m.args.hidden_size) * wide(m.args.hidden_size);
        whole += u128::from(chunk.mtp) * (depth + output);
        if matches!(choice, Choice::Uniform(_)) {
            again += u128::from(chunk.mtp) * depth;
        }
    }
    if chunk.output {
        whole += output;
    }
    let width = match m.precision {
        Precision::Fp32 => 4,
        Precision::Fp16 | Precision::Bf16 => 2,
    };
    ChunkWork {
        forward: whole,
        again,
        again_bytes: again_elements * width,
    }
}

/// The time that a choice recomputes, in millionths of that of the matrix products of the forward pass of all stages.
#[must_use]
pub fn recomputed_ppm(m: &Module, choice: Choice) -> u64 {
    let mut all = ChunkWork::default();
    for chunk in m.stages.chunks() {
        all += chunk_work(m, chunk, choice);
    }
    share_ppm(all)
}

/// The work that runs again, in millionths of the forward pass.
pub(crate) fn share_ppm(work: ChunkWork) -> u64 {
    let ppm = (work.repeated() * 1_000_000).checked_div(work.forward);
    u64::try_from(ppm.unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Floating-point operations of one GPU in one iteration, for so many multiplications for a token: two for every one,
/// for every token of every micro batch, split over the ranks of a model.
pub(crate) fn operations_of_step(m: &Module, multiplications: u128) -> u128 {
    let tokens = u128::from(m.args.seq_length)
        .saturating_mul(u128::from(m.args.micro_batch_size))
        .saturating_mul(u128::from(m.num_microbatches));
    let operations = multiplications.saturating_mul(2).saturating_mul(tokens);
    operations / u128::from(m.tensor_parts() * m.sequence_parts()).max(1)
}

/// The work of a stage that runs again with a choice of recomputation.
#[must_use]
pub fn recomputed(m: &Module, pp_rank: usize, choice: Choice) -> Work {
    let mut all = ChunkWork::default();
    for chunk in m.stages.rank(u32::try_from(pp_rank).unwrap_or(u32::MAX)) {
        all += chunk_work(m, chunk, choice);
    }
    Work {
        forward: all.forward,
        ppm: share_ppm(all),
        flops: u64::try_from(operations_of_step(m, all.again)).unwrap_or(u64::MAX),
    }
}
