//! A model as a list of parts, each with its parameters under Megatron's own names.

pub mod attention;
pub mod embedding;
pub mod front_end;
pub mod kernels;
pub(crate) mod linear;
pub mod linear_attention;
mod list;
pub mod loss;
pub mod mla;
pub mod mlp;
pub mod moe;
pub mod mtp;
pub mod norm;
pub mod projector;
pub mod quantization;
pub mod shared_expert;
pub mod sizes;
pub mod tape;
pub mod tensor;

use crate::config::job::Module;
use crate::parallel::stages::Chunk;
use list::ParamList;
use sizes::Sizes;
use tape::{AutogradTape, Capture, Family, Point, TensorId};
use tensor::{Component, Factor, ParamTensor, factor};

/// A part that a chunk of the pipeline holds some number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PartKind {
    /// Word embedding of the first stage with learned positions, or an encoder's front end.
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
    /// A decoder layer with linear attention and a dense MLP.
    LinearDenseLayer,
    /// A decoder layer with linear attention and routed experts.
    LinearMoeLayer,
    /// The layers between an encoder and the language model.
    Projector,
    /// A layer with a dense MLP that stays in bf16 while others compute in fp8.
    Bf16DenseLayer,
    /// The same with routed experts.
    Bf16MoeLayer,
    /// The same with linear attention and a dense MLP.
    Bf16LinearDenseLayer,
    /// The same with linear attention and routed experts.
    Bf16LinearMoeLayer,
}

impl PartKind {
    /// How many kinds there are.
    pub const COUNT: usize = 14;
    /// All kinds.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Embedding,
        Self::DenseLayer,
        Self::MoeLayer,
        Self::FinalNorm,
        Self::OutputLayer,
        Self::MtpEmbedding,
        Self::MtpLayer,
        Self::LinearDenseLayer,
        Self::LinearMoeLayer,
        Self::Projector,
        Self::Bf16DenseLayer,
        Self::Bf16MoeLayer,
        Self::Bf16LinearDenseLayer,
        Self::Bf16LinearMoeLayer,
    ];

    /// Whether its tensors are listed under the MTP block.
    #[must_use]
    pub const fn mtp(self) -> bool {
        matches!(self, Self::MtpLayer)
    }

    /// For a decoder layer, which.
    #[must_use]
    pub const fn layer(self) -> Option<Layer> {
        let (linear, moe, bf16) = match self {
            Self::DenseLayer => (false, false, false),
            Self::MoeLayer => (false, true, false),
            Self::LinearDenseLayer => (true, false, false),
            Self::LinearMoeLayer => (true, true, false),
            Self::Bf16DenseLayer => (false, false, true),
            Self::Bf16MoeLayer => (false, true, true),
            Self::Bf16LinearDenseLayer => (true, false, true),
            Self::Bf16LinearMoeLayer => (true, true, true),
            _ => return None,
        };
        Some(Layer { linear, moe, bf16 })
    }

    /// Whether its linear layers compute in fp8 where the module does.
    #[must_use]
    pub const fn in_fp8(self) -> bool {
        match self.layer() {
            Some(layer) => !layer.bf16,
            None => self.mtp(),
        }
    }
}

/// What tells one decoder layer from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layer {
    /// It has linear attention.
    pub linear: bool,
    /// It has routed experts.
    pub moe: bool,
    /// It stays in bf16 while others compute in fp8.
    pub bf16: bool,
}

impl Layer {
    /// The layer of this number over the whole model.
    #[must_use]
    pub fn of(m: &Module, index: u64) -> Self {
        Self {
            linear: m.is_linear_layer(index),
            moe: m.is_moe_layer(index),
            bf16: m.is_bf16_layer(index),
        }
    }

    /// The part that it is.
    #[must_use]
    pub fn part(self) -> PartKind {
        let is = |kind: &PartKind| kind.layer() == Some(self);
        PartKind::ALL
            .into_iter()
            .find(is)
            .unwrap_or(PartKind::DenseLayer)
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
    // A tied output layer needs a weight of its own unless the embedding is on the same chunk.
    let own_output_weight = m.ends.is_language()
        && chunk.output
        && (m.args.untie_embeddings_and_output_weights || !chunk.embedding);
    let layers = chunk.layers.clone().map(u64::from);
    counts(m, layers, |kind| match kind {
        PartKind::Embedding => u64::from(chunk.embedding),
        PartKind::FinalNorm => u64::from(chunk.final_layernorm),
        PartKind::OutputLayer => u64::from(own_output_weight),
        PartKind::MtpEmbedding => u64::from(chunk.word_embedding_copy_for_mtp()),
        PartKind::MtpLayer => u64::from(chunk.mtp),
        PartKind::Projector => u64::from(chunk.output && m.ends.projector.is_some()),
        _ => 0,
    })
}

/// The parts of the whole model, counted once.
#[must_use]
pub fn whole_model_parts(m: &Module) -> PartCounts {
    counts(m, 0..m.args.num_layers, |kind| match kind {
        PartKind::Embedding | PartKind::FinalNorm => 1,
        PartKind::OutputLayer => {
            u64::from(m.ends.is_language() && m.args.untie_embeddings_and_output_weights)
        }
        PartKind::Projector => u64::from(m.ends.projector.is_some()),
        PartKind::MtpLayer => m.mtp_num_layers,
        _ => 0,
    })
}

/// The decoder layers of each kind, and so many of every other part.
fn counts(
    m: &Module,
    layers: impl Iterator<Item = u64>,
    others: impl Fn(PartKind) -> u64,
) -> PartCounts {
    let mut counts = PartKind::ALL.map(others);
    for layer in layers {
        if let Some(count) = counts.get_mut(Layer::of(m, layer).part() as usize) {
            *count += 1;
        }
    }
    counts
}

fn parameters(m: &Module, kind: PartKind) -> Vec<ParamTensor> {
    let mut parameters = ParamList::new(m);
    let out = &mut parameters;
    match kind {
        PartKind::Embedding if !m.ends.is_language() => front_end::parameters(m, out),
        PartKind::Embedding => {
            embedding::word(m, out);
            embedding::position(m, out);
        }
        PartKind::Projector => projector::parameters(m, out),
        PartKind::FinalNorm if !m.ends.is_language() => front_end::post_norm(m, out),
        PartKind::FinalNorm => norm::final_norm(m, out),
        PartKind::OutputLayer => embedding::output_layer(m, out),
        PartKind::MtpEmbedding => embedding::word(m, out),
        PartKind::MtpLayer if m.mtp_num_layers > 0 => {
            mtp::parameters(m, out);
            // Every depth repeats the decoder's last layer, a MoE layer if that one is.
            let last = m.args.num_layers.saturating_sub(1);
            layer(m, Layer::of(m, last), out);
            norm::final_norm(m, out);
        }
        _ => {
            let exists = |of: &Layer| {
                (!of.moe || m.moe.is_some())
                    && (!of.linear || m.has_linear_attention())
                    && (!of.bf16 || m.has_bf16_layers())
            };
            if let Some(of) = kind.layer().filter(exists) {
                layer(m, of, out);
            }
        }
    }
    parameters.tensors
}

fn layer(m: &Module, of: Layer, out: &mut ParamList<'_>) {
    norm::layer_norms(m, out);
    norm::layer_scaling(m, out);
    if of.linear {
        linear_attention::parameters(m, out);
    } else if m.args.multi_latent_attention {
        mla::parameters(m, out);
    } else {
        attention::parameters(m, out);
    }
    match &m.moe {
        Some(moe) if of.moe => {
            moe::parameters(m, moe, out);
            shared_expert::parameters(m, moe, out);
        }
        _ => mlp::parameters(m, out),
    }
}

/// Whether the optimizer trains a component of this module.
#[must_use]
pub fn trained(m: &Module, component: Component) -> bool {
    match component {
        Component::FixedPositions => false,
        Component::Projector => !m.args.projector_frozen,
        _ => !m.args.frozen,
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
pub(crate) fn layer_ops(
    sizes: &Sizes<'_>,
    tape: &mut AutogradTape,
    of: Layer,
    x: TensorId,
) -> TensorId {
    tape.capture = Capture::of(sizes.m, of.moe);
    tape.reaches(Point::Start);
    let attention = if of.linear {
        linear_attention::ops::ops(sizes, tape, x)
    } else if sizes.m.args.multi_latent_attention {
        mla::ops::ops(sizes, tape, x)
    } else {
        attention::ops::ops(sizes, tape, x)
    };
    tape.at(Family::Residual, crate::source::BIAS_DROPOUT);
    let middle = linear::bias_dropout_add(sizes, tape, "self_attn_bda", attention, x);
    tape.reaches(Point::Attention);
    let mlp = match &sizes.m.moe {
        Some(moe) if of.moe => moe::ops::ops(sizes, tape, moe, middle),
        _ => mlp::ops::ops(sizes, tape, middle),
    };
    tape.at(Family::Residual, crate::source::BIAS_DROPOUT);
    let output = linear::bias_dropout_add(sizes, tape, "mlp_bda", mlp, middle);
    tape.reaches(Point::Layer);
    output
}

/// The tape of one decoder layer.
#[must_use]
pub fn layer_tape(sizes: &Sizes<'_>, of: Layer) -> AutogradTape {
    let mut sizes = *sizes;
    if of.bf16 {
        sizes.fp8 = None;
    }
    let sizes = &sizes;
    let mut tape = AutogradTape::new(Family::Residual, crate::source::BIAS_DROPOUT);
    let x = tape.tensor("layer input", sizes.residual(), sizes.width());
    tape.input = Some(x);
    tape.output = Some(layer_ops(sizes, &mut tape, of, x));
    if detached(sizes.m) {
        tape.detach();
    }
    tape
}

/// Whether nothing in a module is trained before its projector, so that autograd has no part in it.
fn detached(m: &Module) -> bool {
    m.args.frozen && !m.ends.is_language()
}

/// The tape of the embedding or of an encoder's front end.
#[must_use]
pub fn embedding_tape(sizes: &Sizes<'_>) -> AutogradTape {
    let mut tape = AutogradTape::new(Family::Output, crate::source::EMBEDDING);
    if sizes.m.ends.is_language() {
        embedding::ops::ops(sizes, &mut tape);
    } else {
        front_end::ops::ops(sizes, &mut tape);
    }
    if detached(sizes.m) {
        tape.detach();
    }
    tape
}

/// The tape of what follows the decoder layers of a chunk: MTP depths, and the output layer with its loss.
#[must_use]
pub fn head_tape(sizes: &Sizes<'_>, depths: u64, output: bool) -> AutogradTape {
    let mut tape = AutogradTape::new(Family::Residual, crate::source::FINAL_NORM);
    let x = tape.tensor("output of the last layer", sizes.residual(), sizes.width());
    if sizes.m.ends.is_language() {
        loss::ops(sizes, &mut tape, x, depths, output);
    } else {
        projector::ops::ops(sizes, &mut tape, x);
    }
    tape
}
