//! The parts of a model, such as the embedding, its distinct layers and the output layer, and how many of each a chunk
//! of the pipeline holds.

use std::sync::Arc;

use super::layer_spec::{LayerPrecision, LayerSpec};
use super::output_layer::has_output_layer;
use super::sizes::Sizes;
use super::tape::{AutogradTape, Family, TensorId};
use super::tensor::ParamTensor;
use super::{adapter, embedding_tape, layer_tape, loss, mtp, output_layer, projector};
use crate::config::adapters::LinearModule;
use crate::config::job::Module;
use crate::parallel::stages::Chunk;
use crate::source::Source;

/// A part that a chunk of the pipeline holds some number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Word embedding of the first stage with learned positions, or an encoder's front end.
    Embedding,
    /// A decoder or encoder layer.
    Layer(LayerSpec),
    /// The norm after the last layer.
    FinalNorm,
    /// The output layer with a weight of its own.
    OutputLayer,
    /// The word embedding that an MTP stage holds besides the first stage's.
    MtpEmbedding,
    /// One MTP depth with its layers.
    MtpDepth,
    /// The layers between an encoder and the language model.
    Projector,
    /// The adapter beside the output layer, or the copy of it that is trained in its place.
    OutputAdapter,
}

impl PartKind {
    /// Whether its tensors are listed under the MTP block.
    #[must_use]
    pub const fn is_mtp(self) -> bool {
        matches!(self, Self::MtpDepth)
    }

    /// The decoder or encoder layer that it is.
    #[must_use]
    pub const fn layer(self) -> Option<LayerSpec> {
        match self {
            Self::Layer(spec) => Some(spec),
            Self::MtpDepth
            | Self::Embedding
            | Self::FinalNorm
            | Self::OutputLayer
            | Self::MtpEmbedding
            | Self::Projector
            | Self::OutputAdapter => None,
        }
    }

    /// Whether its linear layers compute in fp8 where the module does.
    #[must_use]
    pub fn in_fp8(self) -> bool {
        match self {
            Self::Layer(spec) => spec.precision == LayerPrecision::Module,
            Self::MtpDepth => true,
            Self::Embedding
            | Self::FinalNorm
            | Self::OutputLayer
            | Self::MtpEmbedding
            | Self::Projector
            | Self::OutputAdapter => false,
        }
    }
}

/// A part of a model with its parameters.
#[derive(Clone, Debug)]
pub struct Part {
    /// The kind of part.
    pub kind: PartKind,
    /// The parameters of one such part.
    pub parameters: Vec<ParamTensor>,
}

/// How many of each part a chunk holds, in the order of [`Architecture::parts`].
pub type PartCounts = Vec<u64>;

/// The parts of one module's model, each once however many layers are like it.
#[derive(Clone, Debug)]
pub struct Architecture {
    parts: Vec<Part>,
    /// The tape of the embedding; none [without tapes](Self::without_tapes).
    embedding: Option<Arc<AutogradTape>>,
    /// The distinct layers, in their order.
    specs: Vec<LayerSpec>,
    /// The tape of each distinct layer; none [without tapes](Self::without_tapes).
    layer_tapes: Vec<Arc<AutogradTape>>,
    /// For every layer of the module, the place of its spec among the distinct ones.
    layers: Vec<usize>,
}

impl Architecture {
    /// The parts of a module's model.
    #[must_use]
    pub fn new(m: &Module) -> Self {
        let sizes = Sizes::new(m);
        let (specs, layers) = LayerSpec::distinct(m);
        let mtp = (m.mtp_num_layers > 0).then_some(PartKind::MtpDepth);
        let copy_of_output = output_layer::trained_copy(m);
        let adapted_output = sizes.adapted.has(LinearModule::OutputLayer) || copy_of_output.is_some();
        let kinds = [PartKind::Embedding]
            .into_iter()
            .chain(specs.iter().copied().map(PartKind::Layer))
            .chain([PartKind::FinalNorm, PartKind::OutputLayer, PartKind::MtpEmbedding])
            .chain(mtp)
            .chain([PartKind::Projector])
            .chain(adapted_output.then_some(PartKind::OutputAdapter));
        let embedding = embedding_tape(&sizes);
        let tapes = specs.iter().map(|spec| layer_tape(&sizes, *spec));
        let layer_tapes: Vec<AutogradTape> = tapes.collect();
        let mut of_layers = layer_tapes.iter().map(|tape| tape.parameters.clone());
        let part = |kind| Part {
            kind,
            parameters: match kind {
                PartKind::Embedding => embedding.parameters.clone(),
                PartKind::Layer(_) => of_layers.next().unwrap_or_default(),
                PartKind::FinalNorm => after_layers(&sizes, |tape, x| {
                    if m.io.is_language() {
                        loss::final_norm(&sizes, tape, x)
                    } else {
                        projector::post_norm(&sizes, tape, x)
                    }
                }),
                PartKind::MtpDepth => after_layers(&sizes, |tape, x| mtp::build(&sizes, tape, x).normed),
                PartKind::Projector => after_layers(&sizes, |tape, x| match &m.io.projector {
                    Some(projector) => projector::project(&sizes, tape, projector, x),
                    None => x,
                }),
                PartKind::OutputAdapter => match copy_of_output {
                    Some(copy) => vec![copy],
                    None => after_layers(&sizes, |tape, x| {
                        let linear = output_layer::output_linear(m, x, x);
                        adapter::declare(&sizes, tape, &linear);
                        x
                    }),
                },
                PartKind::OutputLayer => vec![output_layer::output_weight(m)],
                PartKind::MtpEmbedding => vec![super::embedding::word_weight(m)],
            },
        };
        Self {
            parts: kinds.map(part).collect(),
            embedding: Some(Arc::new(embedding)),
            specs,
            layer_tapes: layer_tapes.into_iter().map(Arc::new).collect(),
            layers,
        }
    }

    /// The same parts for those who have other tapes of them: tapes are most of what an architecture takes, and searches
    /// keep many.
    #[must_use]
    pub(crate) fn without_tapes(self) -> Self {
        Self {
            embedding: None,
            layer_tapes: Vec::new(),
            ..self
        }
    }

    /// The tape of the embedding.
    pub(crate) fn embedding(&self) -> Option<&Arc<AutogradTape>> {
        self.embedding.as_ref()
    }

    /// The tape of each distinct layer, in the order of [`Architecture::specs`].
    pub(crate) fn layer_tapes(&self) -> &[Arc<AutogradTape>] {
        &self.layer_tapes
    }

    /// The parts of the model, in the order in which they are listed.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The distinct layers of the module.
    #[must_use]
    pub fn specs(&self) -> &[LayerSpec] {
        &self.specs
    }

    /// Layer `index` (from 0) of the module; `None` when it has fewer layers.
    #[must_use]
    pub fn layer(&self, index: u32) -> Option<LayerSpec> {
        self.specs.get(*self.layers.get(index as usize)?).copied()
    }

    /// For every layer of the module, its place among the [distinct ones](Self::specs).
    pub(crate) fn places(&self) -> &[usize] {
        &self.layers
    }

    /// The place of layer `index` (from 0) among the [distinct ones](Self::specs).
    pub(crate) fn place(&self, index: u32) -> Option<usize> {
        self.layers.get(index as usize).copied()
    }

    /// The parts that one chunk holds.
    #[must_use]
    pub fn chunk_parts(&self, m: &Module, chunk: &Chunk) -> PartCounts {
        // A tied output layer needs a weight of its own unless the embedding is on the same chunk.
        let own_output_weight =
            has_output_layer(m) && chunk.output && (m.args.untie_embeddings_and_output_weights || !chunk.embedding);
        let layers = chunk.layers.start as usize..chunk.layers.end as usize;
        self.counts(self.layers.get(layers).unwrap_or_default(), |kind| match kind {
            PartKind::Layer(_) => 0,
            PartKind::Embedding => u64::from(chunk.embedding),
            PartKind::FinalNorm => u64::from(chunk.final_layernorm),
            PartKind::OutputLayer => u64::from(own_output_weight),
            PartKind::MtpEmbedding => u64::from(chunk.word_embedding_copy_for_mtp()),
            PartKind::MtpDepth => built_depths(m, u64::from(chunk.mtp)),
            PartKind::Projector => u64::from(chunk.output && m.io.projector.is_some()),
            PartKind::OutputAdapter => u64::from(chunk.output && m.io.is_language()),
        })
    }

    /// The parts of the whole model, counted once.
    #[must_use]
    pub fn whole_model_parts(&self, m: &Module) -> PartCounts {
        let own_output_weight = has_output_layer(m) && m.args.untie_embeddings_and_output_weights;
        self.counts(&self.layers, |kind| match kind {
            PartKind::Layer(_) | PartKind::MtpEmbedding => 0,
            PartKind::Embedding | PartKind::FinalNorm => 1,
            PartKind::OutputLayer => u64::from(own_output_weight),
            PartKind::MtpDepth => built_depths(m, m.mtp_num_layers),
            PartKind::Projector => u64::from(m.io.projector.is_some()),
            PartKind::OutputAdapter => u64::from(m.io.is_language()),
        })
    }

    /// The given layers, and so many of every other part.
    fn counts(&self, layers: &[usize], others: impl Fn(PartKind) -> u64) -> PartCounts {
        let mut counts: PartCounts = self.parts.iter().map(|part| others(part.kind)).collect();
        for spec in layers {
            // The embedding comes before the layers.
            if let Some(count) = counts.get_mut(1 + spec) {
                *count += 1;
            }
        }
        counts
    }
}

/// How many MTP depths have parameters of their own among so many that run (`MultiTokenPredictionBlock`).
pub(crate) fn built_depths(m: &Module, depths: u64) -> u64 {
    if m.args.mtp_use_repeated_layer {
        depths.min(1)
    } else {
        depths
    }
}

/// The parameters of what follows the layers, read off the tape of its operations. `build` gets the tape and the output
/// of the last layer.
fn after_layers(sizes: &Sizes<'_>, build: impl FnOnce(&mut AutogradTape, TensorId) -> TensorId) -> Vec<ParamTensor> {
    let mut tape = AutogradTape::new(Family::Residual, Source::FinalNorm);
    let x = tape.tensor("output of the last layer", sizes.streams(), sizes.stream_width());
    build(&mut tape, x);
    tape.parameters
}
