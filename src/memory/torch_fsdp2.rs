//! PyTorch's FSDP2 as Megatron wraps a model in it (`TorchFullyShardedDataParallel`): every parameter is split over
//! data-parallel ranks along its first dimension, and a layer's parameters are gathered while it runs.

mod group;
mod in_flight;
mod padding;
mod states;

use group::ParamGroup;
pub(crate) use padding::{padding, unsplit};
pub(crate) use states::{gradient_copy, state_rules};

use super::fsdp::parameter::Parameter;
use crate::config::choices::TransformerImpl;
use crate::config::job::Module;
use crate::config::mixer::LayerClass;
use crate::model::sizes::Sizes;
use crate::model::tensor::{Component, ParamTensor};
use crate::model::{Architecture, LayerSpec, PartCounts, PartKind, layer_tape};
use crate::units::multiply;

/// Ranks that split parameters: all data- and context-parallel ones, also for routed experts.
pub(crate) fn ranks(m: &Module) -> u64 {
    (m.dp * m.cp).max(1)
}

/// Whether gradients are there only from a layer's reduction to the optimizer step. With several micro batches those of
/// the first one stay for the others.
fn one_micro_batch(m: &Module) -> bool {
    m.num_microbatches <= 1
}

/// The parameters of a module by the calls of `fully_shard` that manage them.
pub(crate) struct TorchFsdp2<'a> {
    m: &'a Module,
    architecture: &'a Architecture,
    /// In the order of [`Architecture::parts`].
    parts: Vec<PartGroups>,
}

/// The parameters of one part of the model.
#[derive(Clone, Debug, Default)]
struct PartGroups {
    /// The parameters of each module in it that is wrapped: a transformer layer, the embedding, or the output layer.
    wrapped: Vec<ParamGroup>,
    /// The parameters that the root module manages, since no wrapped module holds them.
    root: ParamGroup,
}

/// The parameters of one stage.
#[derive(Clone, Debug)]
pub(crate) struct StageShards {
    wrapped: Vec<ParamGroup>,
    root: ParamGroup,
}

impl<'a> TorchFsdp2<'a> {
    /// The groups of a module; `None` without FSDP2.
    pub(crate) fn new(m: &'a Module, architecture: &'a Architecture) -> Option<Self> {
        let parts = architecture.parts().iter();
        m.args.use_torch_fsdp2.then(|| Self {
            m,
            architecture,
            parts: parts.map(|part| part_groups(m, part.kind, &part.parameters)).collect(),
        })
    }

    /// The parameters of a stage with so many parts in each of its chunks.
    pub(crate) fn stage(&self, chunks: &[PartCounts]) -> StageShards {
        let mut out = StageShards {
            wrapped: Vec::new(),
            root: ParamGroup::default(),
        };
        for (groups, count) in chunks.iter().flat_map(|counts| self.parts.iter().zip(counts)) {
            for _ in 0..*count {
                out.wrapped.extend_from_slice(&groups.wrapped);
                out.root.add(&groups.root, 1);
            }
        }
        out
    }

    /// The groups of the part of this kind.
    fn part(&self, kind: PartKind) -> Option<&PartGroups> {
        let place = self.architecture.parts().iter().position(|part| part.kind == kind);
        self.parts.get(place?)
    }
}

/// The modules of a part that Megatron wraps. Layers of Mamba-2 are none of them, and with Megatron's own modules
/// neither is the output layer.
fn part_groups(m: &Module, kind: PartKind, tensors: &[ParamTensor]) -> PartGroups {
    let group = |kind, tensors: &[ParamTensor]| ParamGroup::new(&Parameter::list(m, kind, tensors), ranks(m));
    let wrapped = |tensors: &[ParamTensor]| PartGroups {
        wrapped: vec![group(kind, tensors)],
        root: ParamGroup::default(),
    };
    match kind {
        PartKind::Layer(spec) if is_wrapped(spec) => wrapped(tensors),
        PartKind::Embedding if m.io.is_language() => wrapped(tensors),
        PartKind::OutputLayer if m.args.transformer_impl != TransformerImpl::Local => wrapped(tensors),
        PartKind::MtpDepth => {
            let of_root: Vec<ParamTensor> = tensors
                .iter()
                .filter(|tensor| outside_of_layers(tensor))
                .copied()
                .collect();
            let sizes = Sizes::new(m);
            let mut out = PartGroups {
                wrapped: Vec::new(),
                root: group(kind, &of_root),
            };
            for spec in LayerSpec::of_mtp(m) {
                let layer = group(kind, &layer_tape(&sizes, spec).parameters);
                if is_wrapped(spec) {
                    out.wrapped.push(layer);
                } else {
                    out.root.add(&layer, 1);
                }
            }
            out
        }
        PartKind::Embedding
        | PartKind::Layer(_)
        | PartKind::FinalNorm
        | PartKind::OutputLayer
        | PartKind::MtpEmbedding
        | PartKind::Projector
        | PartKind::OutputAdapter => PartGroups {
            wrapped: Vec::new(),
            root: group(kind, tensors),
        },
    }
}

/// Whether Megatron wraps a layer: every `TransformerLayer`, and no `MambaLayer`.
fn is_wrapped(spec: LayerSpec) -> bool {
    spec.mixer.is_none_or(|mixer| match mixer.layer_class() {
        LayerClass::TransformerLayer => true,
        LayerClass::MambaLayer => false,
    })
}

/// Whether a parameter of an MTP depth is in none of its layers.
fn outside_of_layers(tensor: &ParamTensor) -> bool {
    matches!(
        tensor.component,
        Component::EnormHnorm | Component::EhProj | Component::FinalLayernorm
    )
}

/// Bytes of elements as they are gathered and reduced.
fn bytes(m: &Module, elements: u64) -> u64 {
    multiply(elements, m.precision.bytes())
}
