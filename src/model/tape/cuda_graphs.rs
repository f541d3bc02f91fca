//! Tapes cut into what CUDA graphs capture and what stays outside (`TransformerLayer._te_cuda_graph_capture`,
//! `make_graphed_callables`).

use core::ops::Range;

use super::{ActivationTensor, AutogradTape, Gradient, Op, Section, TensorId, UseKind, Work};
use crate::config::choices::{CudaGraphImpl, CudaGraphModule, RecomputeModule};
use crate::config::job::Module;
use crate::model::layer_spec::{LayerSpec, Mixer, Mlp};
use crate::model::tensor::Shape;

/// Where a layer's graph may begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// At the beginning of the layer.
    Start,
    /// After attention and its residual connection.
    Attention,
    /// After the router and shared experts that overlap nothing.
    Router,
    /// After what prepares tokens for their way to the experts.
    Preprocess,
    /// At the end of the layer.
    Layer,
}

/// The part of a layer that its graph captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capture {
    /// Where it begins: with attention, or after it.
    pub(crate) from: Point,
    /// Where it ends.
    pub(crate) until: Point,
}

impl Capture {
    /// The part that the graph of a layer captures, if it has one. Without chosen modules it is the whole layer.
    pub(crate) fn of(m: &Module, spec: LayerSpec) -> Option<Self> {
        match m.args.cuda_graph_impl {
            CudaGraphImpl::TransformerEngine => Self::of_transformer_engine(m, spec),
            CudaGraphImpl::Local => Self::local(m, spec),
            CudaGraphImpl::None | CudaGraphImpl::FullIteration => None,
        }
    }

    /// `cuda_graph_impl` local captures whole layers: in a GPT, where a module of theirs is chosen
    /// (`TransformerLayer.create_mcore_cudagraph_manager`), its routed experts aside; in a hybrid model each layer is
    /// one module. EP overlap calls parts of layers, and never the layers with their graphs.
    fn local(m: &Module, spec: LayerSpec) -> Option<Self> {
        let modules = m.args.cuda_graph_modules;
        let of_mixer = |mixer: Mixer| modules.contains(mixer.cuda_graph_module());
        let of_mlp = match spec.mlp {
            None => false,
            Some(Mlp::Dense) => modules.contains(CudaGraphModule::Mlp),
            Some(Mlp::Moe(_)) => m.hybrid.is_some() && modules.contains(CudaGraphModule::Moe),
        };
        let captured = modules.is_empty() || of_mlp || spec.mixer.is_some_and(of_mixer);
        (captured && !m.args.overlap_moe_expert_parallel_comm).then_some(Self {
            from: Point::Start,
            until: Point::Layer,
        })
    }

    /// What Transformer Engine captures of a layer (`_layer_is_graphable`).
    fn of_transformer_engine(m: &Module, spec: LayerSpec) -> Option<Self> {
        use CudaGraphModule as M;
        let modules = m.args.cuda_graph_modules;
        let moe = spec.experts().is_some();
        let attention = spec
            .mixer
            .is_some_and(|mixer| modules.is_empty() || modules.contains(mixer.cuda_graph_module()));
        let mlp = if spec.mlp.is_none() {
            None
        } else if modules.is_empty() || modules.contains(if moe { M::Moe } else { M::Mlp }) {
            Some(Point::Layer)
        } else if moe && modules.contains(M::MoePreprocess) {
            Some(Point::Preprocess)
        } else if moe && modules.contains(M::MoeRouter) {
            Some(Point::Router)
        } else {
            None
        };
        let until = mlp.or(attention.then_some(Point::Attention))?;
        let from = if attention || spec.mixer.is_none() {
            Point::Start
        } else {
            Point::Attention
        };
        Some(Self { from, until })
    }
}

impl AutogradTape {
    /// The layer has come to a point, where its graph may end or begin.
    pub(crate) fn reaches(&mut self, point: Point) {
        let here = self.here();
        let Some(capture) = self.capture else {
            return;
        };
        if capture.until == point {
            self.graphs.push(self.begun..here);
            self.capture = None;
        } else if capture.from == point {
            self.begun = here;
        }
    }

    /// Whether a graph captures what comes next, or some of what follows.
    pub(crate) fn is_in_graph(&self) -> bool {
        self.capture.is_some()
    }

    /// Where the layer's graph ends, if it has not yet and ends before the layer.
    pub(crate) fn ends_at(&self) -> Option<Point> {
        let until = self.capture.map(|capture| capture.until);
        until.filter(|until| *until != Point::Layer)
    }

    /// Whether one graph captures all of it.
    pub(crate) fn is_captured_whole(&self) -> bool {
        matches!(self.graphs.as_slice(), [graph] if *graph == (0..self.ops.len()))
    }

    /// The same where checkpointed modules keep what they save: within a capture `tensor_parallel.checkpoint` runs a
    /// module as it is. Modules whose output is discarded (`CheckpointWithoutOutput`) run again all the same, and so do
    /// those that Transformer Engine checkpoints: in fp8 all but core attention.
    pub(crate) fn without_checkpoints(mut self, of_transformer_engine: bool) -> Self {
        self.sections.retain(|section| {
            let core_attention = section.module == Some(RecomputeModule::CoreAttn);
            !section.discards.is_empty() || of_transformer_engine && !core_attention
        });
        self
    }

    /// Bytes of its output, if that lies in the pool of a graph.
    pub(crate) fn pooled_output(&self) -> u64 {
        let output = self.output.filter(|id| self.elsewhere.contains(id));
        output
            .and_then(|id| self.get(id))
            .map_or(0, ActivationTensor::allocated)
    }

    /// The tensors that a graph reads and others made, and those that it makes and others read.
    fn ends(&self, graph: &Range<usize>) -> (Vec<TensorId>, Vec<TensorId>) {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let made = |id: TensorId| graph.clone().any(|op| self.of(op, UseKind::Output).any(|o| o == id));
        let outside = |id: TensorId| {
            let mut others = (0..self.ops.len()).filter(|op| !graph.contains(op));
            self.output == Some(id) || others.any(|op| self.links(op).iter().any(|l| l.tensor == id))
        };
        for link in graph.clone().flat_map(|op| self.links(op)) {
            let (list, belongs) = match link.role {
                UseKind::Input(_) => (&mut inputs, !made(link.tensor)),
                UseKind::Output => (&mut outputs, outside(link.tensor)),
                _ => continue,
            };
            if belongs && !list.contains(&link.tensor) {
                list.push(link.tensor);
            }
        }
        (inputs, outputs)
    }

    /// Of a captured graph: what it makes that others read.
    pub(crate) fn static_outputs(&self, graph: &Range<usize>) -> impl Iterator<Item = &ActivationTensor> {
        let closing = graph.end.saturating_sub(1);
        self.of(closing, UseKind::Saved).filter_map(|id| self.get(id))
    }

    /// Whether an operation is in a part.
    fn belongs(&self, op: usize, part: Part) -> bool {
        let within = self.graphs.iter().any(|graph| graph.contains(&op));
        within == (part == Part::Inside)
    }

    /// Where an operation goes, when one more comes after each graph.
    fn place(&self, op: usize) -> usize {
        op + self.graphs.iter().filter(|graph| graph.end <= op).count()
    }

    /// The operations of one part; those of the other do nothing. After each graph comes one that stands for what is
    /// between the two.
    ///
    /// Inside, a graph's inputs and the gradients of its outputs are static tensors, which count elsewhere; its outputs
    /// stay until it has been gone through backwards. Outside, what graphs make lies in their pool.
    pub(crate) fn part(self, part: Part) -> Self {
        let inside = part == Part::Inside;
        if self.graphs.is_empty() && !inside {
            return self;
        }
        let mut to = Self::new(self.family, self.source);
        to.tensors.extend_from_slice(&self.tensors);
        if !inside {
            (to.input, to.output) = (self.input, self.output);
        }
        // Gradients on the other side take no bytes on this one.
        let nothing = Gradient::Over(to.tensor("", Shape::of(&[]), 0));
        for (op, of) in self.ops.iter().enumerate() {
            let belongs = self.belongs(op, part);
            let links = to.links.len();
            to.ops.push(Op {
                name: of.name,
                root: of.root && belongs,
                adapter: of.adapter,
                work: of.work,
                links,
            });
            if belongs {
                to.links.extend_from_slice(self.links(op));
            }
            if let Some(graph) = self.graphs.iter().find(|graph| graph.end == op + 1) {
                let (inputs, outputs) = self.ends(graph);
                let last = to.ops.len();
                to.graphs.push(last - graph.len()..last + 1);
                let made: &[TensorId] = if inside { &[] } else { &outputs };
                let reads = if inside { &outputs } else { &inputs };
                to.op("CUDA graph", Work::MemoryBound, reads, made);
                to.gradients(&vec![nothing; reads.len()]);
                if inside {
                    to.saves(&outputs);
                }
                to.elsewhere.extend(if inside { inputs } else { outputs });
            }
        }
        for section in &self.sections {
            let last = section.ops.end.saturating_sub(1);
            if self.belongs(section.ops.start, part) && self.belongs(last, part) {
                // A second run that starts outside of a graph starts with the end of the graph.
                let of = self.graphs.iter().find(|graph| graph.contains(&last));
                let end = of.map_or(usize::MAX, |graph| graph.end);
                let until = section.until.min(end);
                to.sections.push(Section {
                    ops: self.place(section.ops.start)..self.place(last) + 1,
                    until: self.place(until) - usize::from(until == end),
                    ..section.clone()
                });
            }
        }
        for group in &self.delayed {
            let last = group.end.saturating_sub(1);
            to.delayed.push(self.place(group.start)..self.place(last) + 1);
        }
        for (module, op) in &self.offloads {
            if self.belongs(*op, part) {
                to.offloads.push((*module, self.place(*op)));
            }
        }
        to
    }
}

/// The two parts of a tape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The modules that graphs capture.
    Inside,
    /// All else.
    Outside,
}
