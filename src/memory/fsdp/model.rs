//! The parameter groups of a chunk (`_get_parameter_groups`).

use super::Fsdp;
use super::group::{FsdpGroup, Unit};
use super::layout::Layout;
use super::parameter::{Attributes, Parameter, Size};
use crate::config::choices::ShardingStrategy;
use crate::config::job::Module;
use crate::model::sizes::Sizes;
use crate::model::tensor::{Component, ParamTensor};
use crate::model::{Architecture, LayerSpec, PartKind, layer_tape};
use crate::parallel::stages::Chunk;

/// The parameters of a module's parts, and the buffers of each distinct layer.
pub(crate) struct FsdpModel<'a> {
    pub(super) m: &'a Module,
    pub(super) fsdp: Fsdp,
    architecture: &'a Architecture,
    /// In the order of [`Architecture::specs`].
    layers: Vec<LayerGroups>,
    /// The layers of one MTP depth.
    mtp_layers: Vec<LayerGroups>,
    /// The parameters of each part that is no layer, in the order of [`Architecture::parts`]. Of an MTP depth, those
    /// before its layers.
    outside: Vec<Vec<Parameter>>,
    /// The norm behind the layers of an MTP depth.
    mtp_norm: Vec<Parameter>,
}

/// A layer's parameters and their buffers.
struct LayerGroups {
    parameters: Vec<Parameter>,
    groups: Vec<(Attributes, Layout)>,
}

/// Parameters that follow each other in a chunk.
#[derive(Clone, Copy)]
enum Segment<'s> {
    Layer(Unit, &'s LayerGroups),
    Outside(&'s [Parameter]),
}

impl<'a> FsdpModel<'a> {
    /// The model of a module; `None` without Megatron FSDP.
    pub(crate) fn new(m: &'a Module, architecture: &'a Architecture) -> Option<Self> {
        let fsdp = Fsdp::of(m)?;
        let layer = |kind: PartKind, tensors: &[ParamTensor]| {
            let parameters = Parameter::list(m, kind, tensors);
            let mut groups = Vec::new();
            for (attributes, parameters) in grouped(&parameters) {
                groups.push((attributes, fsdp.layout(attributes, &parameters)));
            }
            LayerGroups { parameters, groups }
        };
        let after = |tensor: &&ParamTensor| tensor.component == Component::FinalLayernorm;
        let before = |tensor: &&ParamTensor| matches!(tensor.component, Component::EnormHnorm | Component::EhProj);
        let mut outside = Vec::new();
        let mut layers = Vec::new();
        let mut mtp_layers = Vec::new();
        let mut mtp_norm = Vec::new();
        for part in architecture.parts() {
            let list = |of: &dyn Fn(&&ParamTensor) -> bool| {
                let tensors: Vec<ParamTensor> = part.parameters.iter().filter(of).copied().collect();
                Parameter::list(m, part.kind, &tensors)
            };
            outside.push(match part.kind {
                PartKind::Layer(_) => {
                    layers.push(layer(part.kind, &part.parameters));
                    Vec::new()
                }
                PartKind::MtpDepth => {
                    let sizes = Sizes::new(m);
                    for spec in LayerSpec::of_mtp(m) {
                        let tape = layer_tape(&sizes, spec);
                        mtp_layers.push(layer(part.kind, &tape.parameters));
                    }
                    mtp_norm = list(&after);
                    list(&before)
                }
                PartKind::Embedding
                | PartKind::FinalNorm
                | PartKind::OutputLayer
                | PartKind::MtpEmbedding
                | PartKind::Projector
                | PartKind::OutputAdapter => list(&|_| true),
            });
        }
        Some(Self {
            m,
            fsdp,
            architecture,
            layers,
            mtp_layers,
            outside,
            mtp_norm,
        })
    }

    /// The groups of one chunk, in the order of their buckets.
    pub(crate) fn groups(&self, chunk: &Chunk) -> Vec<FsdpGroup> {
        let segments = self.segments(chunk);
        let units = self.fsdp.strategy != ShardingStrategy::NoShard;
        let mut out: Vec<Bucket<'_>> = Vec::new();
        let mut next = 0;
        for segment in &segments {
            let parameters = match segment {
                Segment::Layer(unit, layer) if units => {
                    out.push(Bucket::Layer(next, *unit, layer));
                    next += 1;
                    continue;
                }
                Segment::Layer(_, layer) => &layer.parameters,
                Segment::Outside(parameters) => *parameters,
            };
            for parameter in parameters {
                let known = out.iter_mut().find_map(|bucket| match bucket {
                    Bucket::Outside(of, list) if *of == parameter.attributes => Some(list),
                    _ => None,
                });
                match known {
                    Some(list) => list.push(*parameter),
                    None => out.push(Bucket::Outside(parameter.attributes, vec![*parameter])),
                }
            }
        }
        let mut groups = Vec::new();
        for bucket in out {
            match bucket {
                Bucket::Layer(index, unit, layer) => {
                    for (attributes, layout) in &layer.groups {
                        let unit = Some((index, unit));
                        groups.push(FsdpGroup::new(&self.fsdp, unit, *attributes, *layout));
                    }
                }
                Bucket::Outside(attributes, parameters) => {
                    for parameters in self.split(&parameters) {
                        let layout = self.fsdp.layout(attributes, &parameters);
                        groups.push(FsdpGroup::new(&self.fsdp, None, attributes, layout));
                    }
                }
            }
        }
        groups
    }

    /// The parameters of a chunk, in the order of `named_parameters`.
    fn segments(&self, chunk: &Chunk) -> Vec<Segment<'_>> {
        let counts = self.architecture.chunk_parts(self.m, chunk);
        let mut out = Vec::new();
        out.extend(self.part(&counts, PartKind::Embedding).1);
        out.extend(self.part(&counts, PartKind::MtpEmbedding).1);
        for layer in chunk.layers.clone() {
            let spec = self.architecture.layer(layer);
            let place = spec.and_then(|spec| self.architecture.specs().binary_search(&spec).ok());
            if let Some(groups) = place.and_then(|place| self.layers.get(place)) {
                out.push(Segment::Layer(Unit::Layer(layer), groups));
            }
        }
        out.extend(self.part(&counts, PartKind::FinalNorm).1);
        let (depths, before) = self.part(&counts, PartKind::MtpDepth);
        for depth in (0..).take(usize::try_from(depths).unwrap_or(usize::MAX)) {
            out.extend(before);
            for (layer, groups) in (0..).zip(&self.mtp_layers) {
                out.push(Segment::Layer(Unit::Mtp(depth, layer), groups));
            }
            out.push(Segment::Outside(&self.mtp_norm));
        }
        out.extend(self.part(&counts, PartKind::OutputLayer).1);
        out.extend(self.part(&counts, PartKind::OutputAdapter).1);
        out.extend(self.part(&counts, PartKind::Projector).1);
        out
    }

    /// How many of a part that is no layer there are among these counts, and its parameters, where there is any.
    fn part(&self, counts: &[u64], kind: PartKind) -> (u64, Option<Segment<'_>>) {
        let parts = self.architecture.parts();
        let Some(place) = parts.iter().position(|part| part.kind == kind) else {
            return (0, None);
        };
        let count = counts.get(place).copied().unwrap_or(0);
        let parameters = self.outside.get(place).filter(|_| count > 0);
        (count, parameters.map(|list| Segment::Outside(list)))
    }

    /// Parameters outside of layers, cut into buckets: a shared embedding has one of its own, and with overlapped
    /// gradient reduction a bucket ends where it has reached its size.
    fn split(&self, parameters: &[Parameter]) -> Vec<Vec<Parameter>> {
        let a = &self.m.args;
        let bucket_size = a.overlap_grad_reduce.then(|| {
            let least = self.m.dp.saturating_mul(self.m.cp).saturating_mul(1_000_000);
            a.ddp_bucket_size.unwrap_or(least.max(40_000_000))
        });
        let mut out = Vec::new();
        let mut bucket: Vec<Parameter> = Vec::new();
        let mut sum: u64 = 0;
        for parameter in parameters {
            if parameter.shared {
                out.push(core::mem::take(&mut bucket));
                out.push(vec![*parameter]);
                sum = 0;
                continue;
            }
            bucket.push(*parameter);
            sum = sum.saturating_add(parameter.size.elements);
            if bucket_size.is_some_and(|size| sum >= size) {
                out.push(core::mem::take(&mut bucket));
                sum = 0;
            }
        }
        out.push(bucket);
        out.retain(|bucket| !bucket.is_empty());
        out
    }
}

/// A group of a chunk that may still be cut into several.
enum Bucket<'s> {
    Layer(u32, Unit, &'s LayerGroups),
    Outside(Attributes, Vec<Parameter>),
}

/// Parameters by what those of a group have in common, in the order in which the groups begin.
fn grouped(parameters: &[Parameter]) -> Vec<(Attributes, Vec<Parameter>)> {
    let mut out: Vec<(Attributes, Vec<Parameter>)> = Vec::new();
    for parameter in parameters {
        let known = out.iter_mut().find(|(of, _)| *of == parameter.attributes);
        match known {
            Some((_, list)) => list.push(*parameter),
            None => out.push((parameter.attributes, vec![*parameter])),
        }
    }
    out
}

impl Fsdp {
    /// The buffer of these parameters.
    fn layout(&self, attributes: Attributes, parameters: &[Parameter]) -> Layout {
        let sizes: Vec<Size> = parameters.iter().map(|parameter| parameter.size).collect();
        let padded = self.strategy != ShardingStrategy::NoShard;
        let ranks = padded.then(|| self.optimizer_ranks(attributes.view));
        Layout::new(&sizes, ranks)
    }
}

/// The parameter groups of one pipeline stage, chunk by chunk in the order of their buffers; nothing without Megatron
/// FSDP.
#[must_use]
pub fn stage_groups(m: &Module, pp_rank: usize) -> Vec<FsdpGroup> {
    let pp_rank = u32::try_from(pp_rank).unwrap_or(u32::MAX);
    let architecture = Architecture::new(m);
    let Some(model) = FsdpModel::new(m, &architecture) else {
        return Vec::new();
    };
    let chunks = m.stages.rank(pp_rank).iter();
    chunks.flat_map(|chunk| model.groups(chunk)).collect()
}
