//! One stage's memory as a tree of lines, each with its formula, its source and its confidence.
//!
//! Lines are made for one stage on demand; the estimate of all stages needs no text.

mod activations;
mod buffers;
mod formula;

use std::borrow::Cow;

pub use formula::Formula;

use super::bucket::{Bucket, State};
use super::parameters::{Count, PartTable};
use super::peak::Stages;
use super::state_rule::{AppliesTo, StateRule};
use super::states::StateRules;
use super::{ChunkEstimate, Estimate, StageRef};
use crate::config::job::{Config, Module};
use crate::model::tensor::{Component, ParamTensor, Shape, Sharding};
use crate::model::{Architecture, Part, PartKind};
use crate::source::Source;
use crate::units::{Bytes, multiply};
use formula::{Kind, Product};

/// How certain a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Follows from tensor shapes alone.
    Exact,
    /// Follows from a model of what autograd or the allocator keeps.
    Modelled,
}

/// A row of the itemised estimate. Its bytes are the sum of its children's where it has any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// A stable path such as `weights_dense/attention/self_attention.linear_qkv.weight`.
    pub id: String,
    /// The line's name.
    pub label: String,
    /// The line's bytes.
    pub bytes: Bytes,
    /// What the line counts, in one sentence.
    pub what: String,
    /// The formula; `None` for lines with children.
    pub formula: Option<Formula>,
    /// The source of the formula.
    pub source: Source,
    /// How certain the number is.
    pub confidence: Confidence,
    /// The lines that the line sums up.
    pub children: Vec<Line>,
}

/// The lines of one stage: one a bucket that is not empty, then components, then tensors.
#[must_use]
pub fn stage_lines(config: &Config, estimate: &Estimate, stage: StageRef) -> Vec<Line> {
    let modules = config
        .modules()
        .get(stage.module)
        .zip(estimate.modules.get(stage.module));
    let Some(((m, module), held)) = modules.zip(estimate.stage(stage)) else {
        return Vec::new();
    };
    let architecture = &*module.architecture;
    let local = PartTable::local(architecture);
    let stages = Stages::new(m, architecture, &local);
    let pp_rank = u32::try_from(stage.pp_rank).unwrap_or(u32::MAX);
    let buckets = Bucket::ALL
        .into_iter()
        .filter(|bucket| bucket.state().is_some() && held.bytes(*bucket) > Bytes::ZERO);
    let mut lines: Vec<Line> = buckets
        .map(|bucket| state_line(m, architecture, &stages.rules, &held.chunks, bucket))
        .collect();
    lines.extend(buffers::line(&stages, pp_rank, held));
    lines.extend(activations::lines(&stages, pp_rank, held));
    lines
}

/// A bucket made of lines.
fn parent(bucket: Bucket, (what, source): (&str, Source), children: Vec<Line>) -> Line {
    Line {
        id: bucket.id().to_owned(),
        label: bucket.label().to_owned(),
        bytes: children.iter().map(|line| line.bytes).sum(),
        what: what.to_owned(),
        formula: None,
        source,
        confidence: Confidence::Modelled,
        children,
    }
}

/// The formula of a shape with elements of so many bytes, so many times, where `each` is what the allocator hands out
/// for one.
fn product(shape: &Shape, width: u64, times: u64, each: u64) -> Formula {
    let rounded = multiply(shape.elements(), width) != each;
    Formula(Kind::Product(Box::new(Product {
        times: ("alive".into(), times),
        rounding: if rounded { ", in blocks of 512 B" } else { "" },
        ..Product::of(*shape, width)
    })))
}

/// A name as a part of a path.
fn id(label: &str) -> String {
    let part = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    label.chars().map(part).collect()
}

fn state_line(
    m: &Module,
    architecture: &Architecture,
    rules: &StateRules,
    chunks: &[ChunkEstimate],
    bucket: Bucket,
) -> Line {
    let rule = rules.rule(bucket);
    let mut share = Share {
        rule,
        before: Count::default(),
    };
    let (what, source) = describe(m, bucket);
    let mut components: Vec<Line> = Vec::new();
    for (Part { kind, parameters }, times) in parts(architecture, chunks) {
        let kind = *kind;
        for tensor in parameters
            .iter()
            .filter(|t| bucket.holds(t.sharding) && rules.has(bucket, t.component))
        {
            let elements = multiply(tensor.shape.elements(), times);
            let count = Count::of(kind, tensor, elements);
            let bytes = share.next(count);
            if bytes == Bytes::ZERO {
                continue;
            }
            let saved = rules.saved_in_states(bucket, tensor.component, count);
            let component = tensor.component.id(kind.is_mtp());
            let id = [bucket.id(), "/", component].concat();
            let row = Line {
                id: [&id, "/", &part_id(kind), "/", tensor.name].concat(),
                label: [prefix(kind), tensor.name].concat(),
                bytes,
                what: if saved == Bytes::ZERO {
                    [what, " of ", tensor.name].concat()
                } else {
                    format!(
                        "{what} of {}. It is frozen: training it would take {saved:#} more, for its gradients and optimizer states",
                        tensor.name
                    )
                },
                formula: Some(formula(m, tensor, kind, times, rule.of(count))),
                source: tensor.source,
                confidence: Confidence::Exact,
                children: Vec::new(),
            };
            match components.iter_mut().find(|line| line.id == id) {
                Some(line) => {
                    line.bytes += bytes;
                    line.children.push(row);
                }
                None => components.push(Line {
                    id,
                    label: component_label(tensor.component, kind.is_mtp()),
                    bytes,
                    what: [what, ", ", sharding_words(tensor.sharding)].concat(),
                    formula: None,
                    source,
                    confidence: Confidence::Exact,
                    children: vec![row],
                }),
            }
        }
    }
    Line {
        id: bucket.id().to_owned(),
        label: bucket.label().to_owned(),
        bytes: components.iter().map(|line| line.bytes).sum(),
        what: what.to_owned(),
        formula: None,
        source,
        confidence: Confidence::Exact,
        children: components,
    }
}

/// How many of each part all chunks of the stage hold, where there are any.
fn parts<'a>(architecture: &'a Architecture, chunks: &'a [ChunkEstimate]) -> impl Iterator<Item = (&'a Part, u64)> {
    let parts = architecture.parts().iter().enumerate();
    parts.filter_map(|(place, part)| {
        let counts = chunks.iter().filter_map(|chunk| chunk.parts.get(place));
        let times = counts.sum();
        (times > 0).then_some((part, times))
    })
}

/// Hands out a bucket's bytes tensor by tensor so that they add up to the bucket: a state that is
/// split over ranks is split as a whole, not tensor by tensor.
struct Share {
    rule: StateRule,
    before: Count,
}

impl Share {
    fn next(&mut self, count: Count) -> Bytes {
        let before = self.rule.bytes_of(self.before);
        self.before.add(count, 1);
        self.rule.bytes_of(self.before).saturating_sub(before)
    }
}

fn formula(m: &Module, tensor: &ParamTensor, kind: PartKind, times: u64, rule: StateRule) -> Formula {
    let ranks = match tensor.sharding {
        Sharding::Expert => "EDP",
        _ => "(DP·CP)",
    };
    let instances = m.args.num_distributed_optimizer_instances > 1 && rule.shard > 1;
    Formula(Kind::Product(Box::new(Product {
        times: (part_symbol(kind), times),
        shard: (ranks, rule.shard),
        on_gpu: rule.on_gpu,
        note: if instances { " · optimizer instances" } else { "" },
        ..Product::of(tensor.shape, rule.bytes)
    })))
}

/// The symbol in a formula for the number of a part.
fn part_symbol(kind: PartKind) -> Cow<'static, str> {
    match kind {
        PartKind::Layer(spec) => spec.plural().into(),
        PartKind::MtpDepth => "MTP depths".into(),
        PartKind::Embedding
        | PartKind::FinalNorm
        | PartKind::OutputLayer
        | PartKind::MtpEmbedding
        | PartKind::Projector
        | PartKind::OutputAdapter => "copies".into(),
    }
}

/// A part's name in paths.
fn part_id(kind: PartKind) -> Cow<'static, str> {
    match kind {
        PartKind::Embedding => "embedding".into(),
        PartKind::Layer(spec) => spec.id().into(),
        PartKind::FinalNorm => "final_norm".into(),
        PartKind::OutputLayer => "output_layer".into(),
        PartKind::MtpEmbedding => "mtp_embedding".into(),
        PartKind::MtpDepth => "mtp".into(),
        PartKind::Projector => "projector".into(),
        PartKind::OutputAdapter => "output_adapter".into(),
    }
}

fn prefix(kind: PartKind) -> &'static str {
    match kind {
        PartKind::FinalNorm => "decoder.",
        PartKind::MtpDepth => "mtp.layers.*.",
        PartKind::Layer(_) => "decoder.layers.*.",
        PartKind::Embedding
        | PartKind::OutputLayer
        | PartKind::MtpEmbedding
        | PartKind::Projector
        | PartKind::OutputAdapter => "",
    }
}

/// A component's name for people, with the MTP block's told apart.
#[must_use]
pub fn component_label(component: Component, mtp: bool) -> String {
    match component {
        Component::EnormHnorm | Component::EhProj => component.label().to_owned(),
        _ if mtp => format!("MTP: {}", component.label()),
        _ => component.label().to_owned(),
    }
}

fn sharding_words(sharding: Sharding) -> &'static str {
    match sharding {
        Sharding::TpSharded => "split over tensor-parallel ranks",
        Sharding::Replicated => "in full on every tensor-parallel rank",
        Sharding::Expert => "split over expert-parallel ranks",
    }
}

fn describe(m: &Module, bucket: Bucket) -> (&'static str, Source) {
    let sharded = m.args.use_distributed_optimizer;
    let states = if sharded {
        Source::DistributedOptimizer
    } else {
        Source::Optimizer
    };
    match bucket.state().map(|(state, _)| state) {
        Some(State::Weights) | None => ("Parameters in the dtype of training", Source::GradBuffer),
        Some(State::MainGrads) => ("Gradient that micro batches accumulate into", Source::GradBuffer),
        Some(State::MainParams) if m.args.use_precision_aware_optimizer => (
            "Main copy of the parameter that the optimizer updates",
            Source::OptimizerConfig,
        ),
        Some(State::MainParams) => {
            let source = if sharded {
                Source::DistributedOptimizer
            } else {
                Source::MainParams
            };
            ("Main copy of the parameter that the optimizer updates", source)
        }
        Some(State::ExpAvg) => ("First moment of the gradient", states),
        Some(State::ExpAvgSq) => ("Second moment of the gradient", states),
    }
}

impl StateRule {
    /// The rule in words.
    #[must_use]
    pub fn words(&self) -> String {
        let who = match self.applies_to {
            AppliesTo::All => "every parameter",
            AppliesTo::AllButMuonMatrices => "every parameter that Muon leaves to Adam",
            AppliesTo::None => return String::from("not kept"),
        };
        match self.shard {
            1 => format!("{} B for {who}", self.bytes),
            shard => format!("{} B for {who}, split over {shard} ranks", self.bytes),
        }
    }
}
