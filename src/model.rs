//! A model as a list of parts, each with its parameters under Megatron's own names.

pub mod attention;
pub mod embedding;
pub mod kernels;
pub(crate) mod linear;
pub mod loss;
pub mod mla;
pub mod mlp;
pub mod moe;
pub mod mtp;
pub mod norm;
pub mod shared_expert;
pub mod sizes;
pub mod tape;
pub mod tensor;

use crate::config::job::Module;
use crate::parallel::stages::Chunk;
use sizes::Sizes;
use tape::{Family, Tape, TensorId};
use tensor::{Factor, ParamTensor, factor};

/// A part that a chunk of the pipeline holds some number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PartKind {
    /// Word embedding of the first stage, with learned positions.
    Embedding,
    /// A decoder layer with a dense MLP.
    DenseLayer,
    /// A decoder layer with routed experts.
    MoeLayer,
    /// The norm after the last decoder layer.
    FinalNorm,
    /// The output layer with a weight of its own.
    OutputLayer,
    /// The word embedding that an MTP stage holds besides the first stage's.
    MtpEmbedding,
    /// One MTP depth.
    MtpLayer,
}

impl PartKind {
    /// How many kinds there are.
    pub const COUNT: usize = 7;
    /// All kinds in the order in which data passes them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Embedding,
        Self::DenseLayer,
        Self::MoeLayer,
        Self::FinalNorm,
        Self::OutputLayer,
        Self::MtpEmbedding,
        Self::MtpLayer,
    ];

    /// Whether its tensors are listed under the MTP block.
    #[must_use]
    pub const fn mtp(self) -> bool {
        matches!(self, Self::MtpLayer)
    }
}

/// How many of each part a chunk holds, indexed by [`PartKind`].
pub type PartCounts = [u64; PartKind::COUNT];

/// The parts of one module's model.
#[derive(Clone, Debug)]
pub struct Architecture {
    parts: [Vec<ParamTensor>; PartKind::COUNT],
}

impl Architecture {
    /// The parts of this module's model.
    #[must_use]
    pub fn new(m: &Module) -> Self {
        Self {
            parts: PartKind::ALL.map(|kind| parameters(m, kind)),
        }
    }

    /// The parameters of one part.
    #[must_use]
    pub fn parameters(&self, kind: PartKind) -> &[ParamTensor] {
        #[allow(clippy::indexing_slicing, reason = "one entry for every kind")]
        &self.parts[kind as usize]
    }
}

/// The parts that one chunk holds.
#[must_use]
pub fn chunk_parts(m: &Module, chunk: &Chunk) -> PartCounts {
    let moe = chunk
        .layers
        .clone()
        .filter(|layer| m.is_moe_layer(u64::from(*layer)))
        .count();
    let moe = u64::try_from(moe).unwrap_or(u64::MAX);
    let layers = u64::from(chunk.num_layers());
    // A tied output layer needs a weight of its own unless the embedding is on the same chunk.
    let own_output_weight =
        chunk.output && (m.args.untie_embeddings_and_output_weights || !chunk.embedding);
    PartKind::ALL.map(|kind| match kind {
        PartKind::Embedding => u64::from(chunk.embedding),
        PartKind::DenseLayer => layers - moe,
        PartKind::MoeLayer => moe,
        PartKind::FinalNorm => u64::from(chunk.final_layernorm),
        PartKind::OutputLayer => u64::from(own_output_weight),
        PartKind::MtpEmbedding => u64::from(chunk.word_embedding_copy_for_mtp()),
        PartKind::MtpLayer => u64::from(chunk.mtp),
    })
}

/// The parts of the whole model, counted once.
#[must_use]
pub fn whole_model_parts(m: &Module) -> PartCounts {
    let layers = m.args.num_layers;
    let moe = (0..layers).filter(|layer| m.is_moe_layer(*layer)).count();
    let moe = u64::try_from(moe).unwrap_or(u64::MAX);
    PartKind::ALL.map(|kind| match kind {
        PartKind::Embedding | PartKind::FinalNorm => 1,
        PartKind::DenseLayer => layers - moe,
        PartKind::MoeLayer => moe,
        PartKind::OutputLayer => u64::from(m.args.untie_embeddings_and_output_weights),
        PartKind::MtpEmbedding => 0,
        PartKind::MtpLayer => m.mtp_num_layers,
    })
}

fn parameters(m: &Module, kind: PartKind) -> Vec<ParamTensor> {
    let mut out = Vec::new();
    match kind {
        PartKind::Embedding => {
            embedding::word(m, &mut out);
            embedding::position(m, &mut out);
        }
        PartKind::DenseLayer => layer(m, false, &mut out),
        PartKind::MoeLayer if m.moe.is_some() => layer(m, true, &mut out),
        PartKind::FinalNorm => norm::final_norm(m, &mut out),
        PartKind::OutputLayer => embedding::output_layer(m, &mut out),
        PartKind::MtpEmbedding => embedding::word(m, &mut out),
        PartKind::MtpLayer if m.mtp_num_layers > 0 => {
            mtp::parameters(m, &mut out);
            // Every depth repeats the decoder's last layer, a MoE layer if that one is.
            layer(
                m,
                m.is_moe_layer(m.args.num_layers.saturating_sub(1)),
                &mut out,
            );
            norm::final_norm(m, &mut out);
        }
        PartKind::MoeLayer | PartKind::MtpLayer => {}
    }
    out
}

fn layer(m: &Module, is_moe: bool, out: &mut Vec<ParamTensor>) {
    norm::layer_norms(m, out);
    if m.args.multi_latent_attention {
        mla::parameters(m, out);
    } else {
        attention::parameters(m, out);
    }
    match &m.moe {
        Some(moe) if is_moe => {
            moe::parameters(m, moe, out);
            shared_expert::parameters(m, moe, out);
        }
        _ => mlp::parameters(m, out),
    }
}

/// The factor of the hidden size.
pub(crate) fn hidden(m: &Module) -> Factor {
    factor("h", m.args.hidden_size)
}

/// The divisor of TP-sharded tensors.
pub(crate) fn tp(m: &Module) -> Factor {
    factor("TP", m.tp)
}

/// What one transformer layer does, from the residual stream to the residual stream.
pub(crate) fn layer_ops(sizes: &Sizes<'_>, tape: &mut Tape, is_moe: bool, x: TensorId) -> TensorId {
    let attention = if sizes.m.args.multi_latent_attention {
        mla::ops::ops(sizes, tape, x)
    } else {
        attention::ops::ops(sizes, tape, x)
    };
    tape.at(Family::Residual, crate::source::BIAS_DROPOUT);
    let middle = linear::bias_dropout_add(sizes, tape, "self_attn_bda", attention, x);
    let mlp = match &sizes.m.moe {
        Some(moe) if is_moe => moe::ops::ops(sizes, tape, moe, middle),
        _ => mlp::ops::ops(sizes, tape, middle),
    };
    tape.at(Family::Residual, crate::source::BIAS_DROPOUT);
    linear::bias_dropout_add(sizes, tape, "mlp_bda", mlp, middle)
}

/// The tape of one decoder layer.
#[must_use]
pub fn layer_tape(sizes: &Sizes<'_>, is_moe: bool) -> Tape {
    let mut tape = Tape::new(Family::Residual, crate::source::BIAS_DROPOUT);
    let x = tape.tensor("layer input", sizes.residual(), sizes.width());
    tape.input = Some(x);
    tape.output = Some(layer_ops(sizes, &mut tape, is_moe, x));
    tape
}

/// The tape of the embedding.
#[must_use]
pub fn embedding_tape(sizes: &Sizes<'_>) -> Tape {
    let mut tape = Tape::new(Family::Output, crate::source::EMBEDDING);
    embedding::ops::ops(sizes, &mut tape);
    tape
}

/// The tape of what follows the decoder layers of a chunk: MTP depths, and the output layer with its loss.
#[must_use]
pub fn head_tape(sizes: &Sizes<'_>, depths: u64, output: bool) -> Tape {
    let mut tape = Tape::new(Family::Residual, crate::source::FINAL_NORM);
    let x = tape.tensor("output of the last layer", sizes.residual(), sizes.width());
    loss::ops(sizes, &mut tape, x, depths, output);
    tape
}
