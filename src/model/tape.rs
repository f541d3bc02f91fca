//! The operations of one part of the model in their order, with the tensors that each reads, makes and saves: a *tape*.
//!
//! An operation reads and makes tensors, keeps some for its backward pass and needs others only while
//! it runs. Nothing here says how many bytes are alive when: [`replay`] plays a tape forwards and
//! backwards with reference counts and finds that out.

mod cuda_graphs;
mod frozen;
pub mod liveness;
pub mod recompute;
mod usage;
mod work;

use core::ops::Range;

pub(crate) use cuda_graphs::{Capture, Part, Point};
pub use work::{Product, SparseOperations, Work};

use super::tensor::{ParamTensor, Shape};
use crate::config::choices::{OffloadModule, RecomputeModule};
use crate::source::Source;
use crate::units::multiply;

/// PyTorch's allocator hands out multiples of this many bytes (`kMinBlockSize` in `c10/core/AllocatorConfig.h`).
pub const BLOCK: u64 = 512;

/// The part of a layer that a tensor belongs to, by which it is sorted into a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Family {
    /// The residual stream and the norms on it.
    Residual,
    /// Attention, from its projections to its output.
    Attention,
    /// The dense MLP.
    Mlp,
    /// Router, routed and shared experts.
    Experts,
    /// Embedding, output layer and loss.
    Output,
}

/// A tensor that exists during a forward or a backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivationTensor {
    /// The tensor's name, in a few words.
    pub what: &'static str,
    /// The part of a layer that it belongs to.
    pub family: Family,
    /// Its shape on one rank.
    pub shape: Shape,
    /// Bytes of one element.
    pub width: u64,
    /// Elements of the shape, worked out once: every pass over a tape asks.
    elements: u64,
    /// The code that allocates the tensor.
    pub source: Source,
}

impl ActivationTensor {
    /// Its elements on one rank.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        multiply(self.elements, self.width)
    }

    /// Bytes that the allocator sets aside for it: whole blocks.
    #[must_use]
    pub fn allocated(&self) -> u64 {
        block(self.bytes())
    }
}

/// Bytes rounded up to whole blocks of the allocator.
#[must_use]
pub const fn block(bytes: u64) -> u64 {
    match bytes.checked_add(BLOCK - 1) {
        Some(up) => up - up % BLOCK,
        None => u64::MAX,
    }
}

/// A tensor of one tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TensorId(pub(crate) u32);

/// Where the gradient of an operation's input is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradient {
    /// To a tensor of its own.
    New,
    /// Nowhere: it is the storage of the gradient of the first output.
    Shared,
    /// Over another tensor that is no longer needed.
    Over(TensorId),
    /// Nowhere: the input has no gradient, or the operation only keeps it alive, by a Python variable.
    None,
}

/// How an operation uses a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// It reads the tensor, whose gradient is written as said.
    Input(Gradient),
    /// It makes the tensor.
    Output,
    /// Autograd keeps it for the backward pass.
    Saved,
    /// The tensor exists only while the operation runs forwards.
    Forward,
    /// The tensor exists only while the operation runs backwards, and is no gradient.
    Backward,
    /// Its weight gradient, which is computed some time after the backward pass, needs the tensor until then.
    Delayed,
    /// The operation's delayed weight gradient needs the gradient of the tensor, an output, until then.
    DelayedGradient,
    /// The tensor is that weight gradient: it exists from then on until all of its group are computed.
    WeightGradient,
}

/// A tensor of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorUse {
    /// The tensor.
    pub tensor: TensorId,
    /// How the operation uses it.
    pub role: UseKind,
}

/// One operation.
#[derive(Clone, Debug)]
pub struct Op {
    /// Its name, after Megatron's module or function.
    pub name: &'static str,
    /// Whether the backward pass starts with it, as with a loss.
    pub root: bool,
    /// Whether it belongs to an adapter, whose parameters are trained while those of the model are frozen.
    pub adapter: bool,
    /// The work of its kernels.
    pub work: Work,
    /// The place of its first tensor in [`AutogradTape::links`]; its last one stands before the next operation's first.
    links: usize,
}

/// Operations that a recompute module runs a second time instead of keeping what they save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The module; none for an MTP layer, which full recompute runs again as a whole.
    pub module: Option<RecomputeModule>,
    /// Its operations.
    pub ops: Range<usize>,
    /// The tensors that are kept instead: the inputs of the section.
    pub keeps: Vec<TensorId>,
    /// Outputs that are discarded once `until` has run; empty for ordinary recompute.
    pub discards: Vec<TensorId>,
    /// The operation whose backward pass starts the second run.
    pub until: usize,
}

/// The operations and tensors of one part of the model.
#[derive(Clone, Debug)]
pub struct AutogradTape {
    /// Every tensor, gradients aside.
    pub tensors: Vec<ActivationTensor>,
    /// The parameters that its operations use and that no other part owns, in the order of the forward pass.
    pub parameters: Vec<ParamTensor>,
    /// The operations in the order of the forward pass.
    pub ops: Vec<Op>,
    /// The tensors of all operations, one operation after the other.
    links: Vec<TensorUse>,
    /// The sections that recompute modules run again.
    pub sections: Vec<Section>,
    /// Groups of operations whose delayed weight gradients are computed once the backward pass of the first is done.
    pub(crate) delayed: Vec<Range<usize>>,
    /// Operations whose saved tensors an offload module moves to the host.
    pub offloads: Vec<(OffloadModule, usize)>,
    /// Operations that a CUDA graph would capture, graph by graph.
    pub(crate) graphs: Vec<Range<usize>>,
    /// What the graph of the layer at hand captures, until it has ended, and where it began.
    pub(crate) capture: Option<Capture>,
    begun: usize,
    /// Tensors that are not the tape's to count: static inputs of graphs, and what lies in the graphs' pool.
    pub(crate) elsewhere: Vec<TensorId>,
    /// Tensors that attributes of modules refer to: those of the last micro batch stay until the next forward pass.
    pub(crate) attributes: Vec<TensorId>,
    /// Whether one of these is a result of the tape's operations that requires a gradient: it holds their graph.
    pub(crate) holds_graph: bool,
    /// Tensors that are made on the stream of context-parallel exchanges (`cp_stream`), whose memory the allocator keeps
    /// apart.
    on_exchange_stream: Vec<TensorId>,
    /// Tensors whose gradients are made there.
    gradients_on_exchange_stream: Vec<TensorId>,
    /// The input, which the part before makes.
    pub input: Option<TensorId>,
    /// The output, which goes to the part after.
    pub output: Option<TensorId>,
    /// Whether the backward pass begins with a gradient of the output.
    pub(crate) output_has_gradient: bool,
    family: Family,
    source: Source,
}

impl AutogradTape {
    /// An empty tape with room for a layer.
    #[must_use]
    pub fn new(family: Family, source: Source) -> Self {
        Self {
            tensors: Vec::with_capacity(64),
            ops: Vec::with_capacity(32),
            links: Vec::with_capacity(128),
            ..Self::without_room(family, source)
        }
    }

    fn without_room(family: Family, source: Source) -> Self {
        Self {
            tensors: Vec::new(),
            parameters: Vec::new(),
            ops: Vec::new(),
            links: Vec::new(),
            sections: Vec::new(),
            delayed: Vec::new(),
            offloads: Vec::new(),
            graphs: Vec::new(),
            capture: None,
            begun: 0,
            elsewhere: Vec::new(),
            attributes: Vec::new(),
            holds_graph: false,
            on_exchange_stream: Vec::new(),
            gradients_on_exchange_stream: Vec::new(),
            input: None,
            output: None,
            output_has_gradient: true,
            family,
            source,
        }
    }

    /// The tensors that follow are about this and made there.
    pub(crate) fn at(&mut self, family: Family, source: Source) {
        self.family = family;
        self.source = source;
    }

    /// Declares parameters that the next operation uses.
    pub(crate) fn declare(&mut self, parameters: impl IntoIterator<Item = ParamTensor>) {
        self.parameters.extend(parameters);
    }

    /// Declares a tensor.
    pub(crate) fn tensor(&mut self, what: &'static str, shape: Shape, width: u64) -> TensorId {
        let id = TensorId(u32::try_from(self.tensors.len()).unwrap_or(u32::MAX));
        self.tensors.push(ActivationTensor {
            what,
            family: self.family,
            elements: shape.elements(),
            shape,
            width,
            source: self.source,
        });
        id
    }

    /// A tensor of this shape, if the condition holds: nothing otherwise.
    pub(crate) fn tensor_if(
        &mut self,
        condition: bool,
        what: &'static str,
        shape: Shape,
        width: u64,
    ) -> Option<TensorId> {
        condition.then(|| self.tensor(what, shape, width))
    }

    /// Adds an operation, whose work is what step times count of it. What follows says more about it, until the next.
    pub(crate) fn op(
        &mut self,
        name: &'static str,
        work: Work,
        inputs: &[TensorId],
        outputs: &[TensorId],
    ) -> &mut Self {
        self.ops.push(Op {
            name,
            root: false,
            adapter: false,
            work,
            links: self.links.len(),
        });
        self.link(UseKind::Input(Gradient::New), inputs);
        self.link(UseKind::Output, outputs);
        self
    }

    fn link(&mut self, role: UseKind, tensors: &[TensorId]) {
        for tensor in tensors {
            let tensor = *tensor;
            self.links.push(TensorUse { tensor, role });
        }
    }

    /// The latest operation keeps these for its backward pass.
    pub(crate) fn saves(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.link(UseKind::Saved, tensors);
        self
    }

    /// It keeps a tensor of its own for its backward pass.
    pub(crate) fn keeps(&mut self, what: &'static str, shape: Shape, width: u64) {
        let kept = self.tensor(what, shape, width);
        self.saves(&[kept]);
    }

    /// The operation needs these tensors while its forward pass runs.
    pub(crate) fn forward(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.link(UseKind::Forward, tensors);
        self
    }

    /// The operation needs these tensors while its backward pass runs.
    pub(crate) fn backward(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.link(UseKind::Backward, tensors);
        self
    }

    /// Its weight gradient is computed later and needs these until then (`WeightGradStore.put`).
    pub(crate) fn delays(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.link(UseKind::Delayed, tensors);
        self
    }

    /// The delayed weight gradient needs the gradient of this output as well.
    pub(crate) fn delays_gradient(&mut self, output: TensorId) -> &mut Self {
        self.link(UseKind::DelayedGradient, &[output]);
        self
    }

    /// The weight gradient of the operation is a tensor of its own.
    pub(crate) fn weight_gradient(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.link(UseKind::WeightGradient, tensors);
        self
    }

    /// The delayed weight gradients of the operations since `start` are computed together (`backward_dw`), as far as
    /// those of a smaller group within it are not yet.
    pub(crate) fn computes_weight_gradients(&mut self, start: usize) {
        self.delayed.push(start..self.ops.len());
    }

    /// Python variables keep these alive until it is done.
    pub(crate) fn holds(&mut self, tensors: &[TensorId]) {
        self.link(UseKind::Input(Gradient::None), tensors);
    }

    /// The gradients of its inputs go here, in the order of the inputs.
    pub(crate) fn gradients(&mut self, gradients: &[Gradient]) {
        let first = self.ops.last().map_or(0, |op| op.links);
        let links = self.links.iter_mut().skip(first);
        let inputs = links.filter_map(|link| match &mut link.role {
            UseKind::Input(gradient) => Some(gradient),
            _ => None,
        });
        for (into, gradient) in inputs.zip(gradients) {
            *into = *gradient;
        }
    }

    /// These are made on the stream of context-parallel exchanges.
    pub(crate) fn on_exchange_stream(&mut self, tensors: &[TensorId]) {
        self.on_exchange_stream.extend_from_slice(tensors);
    }

    /// The gradients of these are made on that stream.
    pub(crate) fn gradients_on_exchange_stream(&mut self, tensors: &[TensorId]) {
        self.gradients_on_exchange_stream.extend_from_slice(tensors);
    }

    /// The backward pass starts at the last operation, as it does at a loss.
    pub(crate) fn is_root(&mut self) {
        if let Some(last) = self.ops.last_mut() {
            last.root = true;
        }
    }

    /// The last operation has the trained parameters of an adapter.
    pub(crate) fn is_adapter(&mut self) -> &mut Self {
        if let Some(last) = self.ops.last_mut() {
            last.adapter = true;
        }
        self
    }

    /// The family and the citation of the tensors that are declared from here on.
    pub(crate) fn about(&self) -> (Family, Source) {
        (self.family, self.source)
    }

    /// Its output goes elsewhere, besides the tape's own: its gradient comes from there.
    pub(crate) fn leaves(&mut self, output: TensorId) {
        self.is_root();
        let shared = UseKind::Input(Gradient::Shared);
        let last = self.ops.len().saturating_sub(1);
        // A shared gradient is the one that comes.
        if self.links(last).iter().all(|link| link.role != shared) {
            self.backward(&[output]);
        }
    }

    /// The tensors of an operation.
    #[must_use]
    pub fn links(&self, op: usize) -> &[TensorUse] {
        self.links.get(self.range(op)).unwrap_or_default()
    }

    fn range(&self, op: usize) -> Range<usize> {
        let start = |op: usize| self.ops.get(op).map_or(self.links.len(), |op| op.links);
        start(op)..start(op + 1)
    }

    /// The tensors that are this to an operation.
    pub fn of(&self, op: usize, role: UseKind) -> impl Iterator<Item = TensorId> + Clone {
        let links = self.links(op).iter();
        links.filter(move |link| link.role == role).map(|link| link.tensor)
    }

    /// What this operation makes, if it is the one of that name.
    pub(crate) fn outputs_of_named(&self, op: usize, name: &str) -> Vec<TensorId> {
        let is_named = self.ops.get(op).is_some_and(|op| op.name == name);
        let outputs = is_named.then(|| self.of(op, UseKind::Output));
        outputs.into_iter().flatten().collect()
    }

    /// The index of the next operation, for naming sections.
    pub(crate) fn here(&self) -> usize {
        self.ops.len()
    }

    /// A recompute module runs the operations since `start` again; their inputs are kept.
    pub(crate) fn section(&mut self, module: Option<RecomputeModule>, start: usize, keeps: &[TensorId]) {
        self.sections.push(Section {
            module,
            ops: start..self.ops.len(),
            keeps: keeps.to_vec(),
            discards: Vec::new(),
            until: self.ops.len().saturating_sub(1),
        });
    }

    /// A recompute module discards outputs of `ops` once the latest operation has run, and runs `ops` again.
    pub(crate) fn discarding_section(
        &mut self,
        module: RecomputeModule,
        ops: Range<usize>,
        keeps: &[TensorId],
        discards: &[TensorId],
    ) {
        self.sections.push(Section {
            module: Some(module),
            ops,
            keeps: keeps.to_vec(),
            discards: discards.to_vec(),
            until: self.ops.len().saturating_sub(1),
        });
    }

    /// An offload module moves what the operations since `start` save.
    pub(crate) fn offload(&mut self, module: OffloadModule, start: usize) {
        self.offloads.extend((start..self.ops.len()).map(|op| (module, op)));
    }

    /// A tape without operations and tensors.
    pub(crate) fn nothing() -> Self {
        Self::without_room(Family::Residual, Source::FinalNorm)
    }

    /// Whether another tape has the same operations, on tensors that may be of other sizes: then its passes allocate and
    /// free the same tensors in the same order.
    pub(crate) fn has_operations_of(&self, other: &Self) -> bool {
        // A new field has to say here whether passes depend on it. Sizes are those of tensors and parameters; attributes
        // stay between passes; what a graph captures is in `graphs` once it has ended.
        let Self {
            tensors,
            parameters: _,
            ops,
            links,
            sections,
            delayed,
            offloads,
            graphs,
            capture: _,
            begun: _,
            elsewhere,
            attributes: _,
            holds_graph: _,
            on_exchange_stream,
            gradients_on_exchange_stream,
            input,
            output,
            output_has_gradient,
            family: _,
            source: _,
        } = self;
        let family = |tensor: &ActivationTensor| tensor.family;
        let op = |op: &Op| (op.root, op.links);
        *links == other.links
            && ops.iter().map(op).eq(other.ops.iter().map(op))
            && tensors.iter().map(family).eq(other.tensors.iter().map(family))
            && (*input, *output) == (other.input, other.output)
            && *output_has_gradient == other.output_has_gradient
            && *sections == other.sections
            && *delayed == other.delayed
            && *offloads == other.offloads
            && *graphs == other.graphs
            && *elsewhere == other.elsewhere
            && *on_exchange_stream == other.on_exchange_stream
            && *gradients_on_exchange_stream == other.gradients_on_exchange_stream
    }

    /// The tensor of that id.
    #[must_use]
    pub fn get(&self, id: TensorId) -> Option<&ActivationTensor> {
        self.tensors.get(id.0 as usize)
    }
}
