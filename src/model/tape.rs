//! What one part of the model does to memory, operation by operation: a *tape*.
//!
//! An operation reads and makes tensors, keeps some for its backward pass and needs others only while
//! it runs. Nothing here says how many bytes are alive when: [`replay`] plays a tape forwards and
//! backwards with reference counts and finds that out.

pub mod recompute;
pub mod replay;
mod usage;

use core::ops::Range;

use super::tensor::Shape;
use crate::config::choices::{OffloadModule, RecomputeModule};
use crate::source::{Prose, Source};
use crate::units::multiply;

/// PyTorch's allocator hands out multiples of this many bytes (`kMinBlockSize` in `c10/core/AllocatorConfig.h`).
pub const BLOCK: u64 = 512;

/// What a tensor is about, for sorting into buckets.
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
    /// What it is, in a few words.
    pub what: Prose<&'static str>,
    /// What it is about.
    pub family: Family,
    /// Its shape on one rank.
    pub shape: Shape,
    /// Bytes of one element.
    pub width: u64,
    /// Who makes it.
    pub source: Prose<Source>,
}

impl ActivationTensor {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        multiply(self.shape.elements(), self.width)
    }

    /// What the allocator sets aside for it.
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
    /// There is none: the input has no gradient, or is only kept alive by a Python variable.
    None,
}

/// One operation.
#[derive(Clone, Debug)]
pub struct Op {
    /// Its name, after Megatron's module or function.
    pub name: &'static str,
    /// What it reads, and where the gradients go.
    pub inputs: Vec<(TensorId, Gradient)>,
    /// What it makes.
    pub outputs: Vec<TensorId>,
    /// What autograd keeps for its backward pass.
    pub saves: Vec<TensorId>,
    /// What exists only while its forward pass runs.
    pub forward: Vec<TensorId>,
    /// What exists only while its backward pass runs, besides gradients.
    pub backward: Vec<TensorId>,
    /// Whether its backward pass starts here, as a loss's does.
    pub root: bool,
}

impl Op {
    /// Keeps these for the backward pass.
    #[inline(never)]
    pub(crate) fn saves(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.saves.extend_from_slice(tensors);
        self
    }

    /// Needs these while its forward pass runs.
    #[inline(never)]
    pub(crate) fn forward(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.forward.extend_from_slice(tensors);
        self
    }

    /// Needs these while its backward pass runs.
    #[inline(never)]
    pub(crate) fn backward(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.backward.extend_from_slice(tensors);
        self
    }

    /// The gradients of its inputs go here, in the order of the inputs.
    #[inline(never)]
    pub(crate) fn gradients(&mut self, gradients: &[Gradient]) -> &mut Self {
        for (input, gradient) in self.inputs.iter_mut().zip(gradients) {
            input.1 = *gradient;
        }
        self
    }

    /// Python variables keep these alive until the operation is done.
    #[inline(never)]
    pub(crate) fn holds(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.inputs
            .extend(tensors.iter().map(|t| (*t, Gradient::None)));
        self
    }
}

/// Operations that a recompute module runs a second time instead of keeping what they save.
#[derive(Clone, Debug)]
pub struct Section {
    /// The module; none for an MTP layer, which full recompute runs again as a whole.
    pub module: Option<RecomputeModule>,
    /// Its operations.
    pub ops: Range<usize>,
    /// What is kept instead: their inputs.
    pub keeps: Vec<TensorId>,
    /// Outputs that are discarded once `until` has run; empty for ordinary recompute.
    pub discards: Vec<TensorId>,
    /// The operation whose backward pass starts the second run.
    pub until: usize,
}

/// What one part of the model does to memory.
#[derive(Clone, Debug)]
pub struct Tape {
    /// Every tensor, gradients aside.
    pub tensors: Vec<ActivationTensor>,
    /// The operations in the order of the forward pass.
    pub ops: Vec<Op>,
    /// What recompute modules would run again.
    pub sections: Vec<Section>,
    /// Operations whose saved tensors an offload module moves to the host.
    pub offloads: Vec<(OffloadModule, usize)>,
    /// What comes in from the part before.
    pub input: Option<TensorId>,
    /// What goes out to the part after.
    pub output: Option<TensorId>,
    family: Family,
    source: Prose<Source>,
}

impl Tape {
    /// An empty tape.
    #[must_use]
    pub fn new(family: Family, source: Source) -> Self {
        Self {
            tensors: Vec::with_capacity(64),
            ops: Vec::with_capacity(32),
            sections: Vec::new(),
            offloads: Vec::new(),
            input: None,
            output: None,
            family,
            source: Prose::new(source),
        }
    }

    /// The tensors that follow are about this and made there.
    pub(crate) fn at(&mut self, family: Family, source: Source) {
        self.family = family;
        self.source = Prose::new(source);
    }

    /// Declares a tensor.
    #[inline(never)] // Tapes are made of these; one copy keeps them small.
    pub(crate) fn tensor(&mut self, what: &'static str, shape: Shape, width: u64) -> TensorId {
        let id = TensorId(u32::try_from(self.tensors.len()).unwrap_or(u32::MAX));
        self.tensors.push(ActivationTensor {
            what: Prose::new(what),
            family: self.family,
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
    ) -> Vec<TensorId> {
        if condition {
            vec![self.tensor(what, shape, width)]
        } else {
            Vec::new()
        }
    }

    /// Adds an operation.
    pub(crate) fn op(
        &mut self,
        name: &'static str,
        inputs: &[TensorId],
        outputs: &[TensorId],
    ) -> &mut Op {
        self.ops.push(Op {
            name,
            inputs: inputs.iter().map(|t| (*t, Gradient::New)).collect(),
            outputs: outputs.to_vec(),
            saves: Vec::new(),
            forward: Vec::new(),
            backward: Vec::new(),
            root: false,
        });
        let last = self.ops.len() - 1;
        #[allow(clippy::indexing_slicing, reason = "just pushed")]
        &mut self.ops[last]
    }

    /// The output of the last operation goes elsewhere, besides the tape's own: its gradient comes from there.
    pub(crate) fn leaves(&mut self, output: TensorId) {
        if let Some(last) = self.ops.last_mut() {
            last.root = true;
            // A shared gradient is the one that comes.
            if last
                .inputs
                .iter()
                .all(|(_, gradient)| *gradient != Gradient::Shared)
            {
                last.backward.push(output);
            }
        }
    }

    /// The index of the next operation, for naming sections.
    pub(crate) fn here(&self) -> usize {
        self.ops.len()
    }

    /// A recompute module runs the operations since `start` again; their inputs are kept.
    pub(crate) fn section(
        &mut self,
        module: Option<RecomputeModule>,
        start: usize,
        keeps: &[TensorId],
    ) {
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
        self.offloads
            .extend((start..self.ops.len()).map(|op| (module, op)));
    }

    /// Takes it out of autograd: nothing is kept and nothing has a gradient, because nothing is trained so far.
    pub(crate) fn detach(&mut self) {
        for op in &mut self.ops {
            op.saves.clear();
            op.backward.clear();
            for input in &mut op.inputs {
                input.1 = Gradient::None;
            }
        }
        self.sections.clear();
        self.offloads.clear();
    }

    /// One of its tensors.
    #[must_use]
    pub fn get(&self, id: TensorId) -> Option<&ActivationTensor> {
        self.tensors.get(id.0 as usize)
    }
}
