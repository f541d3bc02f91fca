//! Operations that autograd has no part in: of what is frozen, and before anything that is trained.

use core::ops::Range;

use super::{AutogradTape, Gradient, TensorId, TensorUse, UseKind, Work};

impl AutogradTape {
    /// Takes it out of autograd: nothing is kept and nothing has a gradient, because nothing is trained so far.
    pub(crate) fn detach(&mut self) {
        let mut links = Vec::with_capacity(self.links.len());
        for op in 0..self.ops.len() {
            let first = links.len();
            for link in self.links(op) {
                match link.role {
                    UseKind::Saved
                    | UseKind::Backward
                    | UseKind::Delayed
                    | UseKind::DelayedGradient
                    | UseKind::WeightGradient => {}
                    UseKind::Input(_) => links.push(TensorUse {
                        role: UseKind::Input(Gradient::None),
                        ..*link
                    }),
                    UseKind::Output | UseKind::Forward => links.push(*link),
                }
            }
            if let Some(op) = self.ops.get_mut(op) {
                op.links = first;
            }
        }
        self.links = links;
        self.sections.clear();
        self.delayed.clear();
        self.offloads.clear();
        self.graphs.clear();
    }

    /// Takes operations out of autograd whose inputs have no gradient and whose parameters are frozen: all but those of
    /// adapters and what follows them. `of_input` says whether the tape's input has a gradient.
    pub(crate) fn without_gradients(&mut self, of_input: bool) {
        let mut has = vec![false; self.tensors.len()];
        let put = |has: &mut Vec<bool>, id: TensorId, to: bool| {
            if let Some(slot) = has.get_mut(id.0 as usize) {
                *slot |= to;
            }
        };
        if let Some(input) = self.input {
            put(&mut has, input, of_input);
        }
        let mut runs = vec![false; self.ops.len()];
        let mut links = Vec::with_capacity(self.links.len());
        for op in 0..self.ops.len() {
            let first = links.len();
            let with = |id: TensorId| has.get(id.0 as usize) == Some(&true);
            let reached = self.links(op).iter().any(|link| {
                matches!(link.role, UseKind::Input(gradient) if gradient != Gradient::None) && with(link.tensor)
            });
            let reached = reached || self.ops.get(op).is_some_and(|op| op.adapter);
            for link in self.links(op) {
                let role = match link.role {
                    UseKind::Saved
                    | UseKind::Backward
                    | UseKind::Delayed
                    | UseKind::DelayedGradient
                    | UseKind::WeightGradient
                        if !reached =>
                    {
                        continue;
                    }
                    UseKind::Input(_) if !with(link.tensor) => UseKind::Input(Gradient::None),
                    role => role,
                };
                links.push(TensorUse { role, ..*link });
            }
            let outputs: Vec<TensorId> = self.of(op, UseKind::Output).collect();
            for output in outputs {
                put(&mut has, output, reached);
            }
            if let Some(runs) = runs.get_mut(op) {
                *runs = reached;
            }
            if let Some(op) = self.ops.get_mut(op) {
                op.links = first;
                op.root &= reached;
            }
        }
        self.links = links;
        let any = |ops: &Range<usize>| ops.clone().any(|op| runs.get(op) == Some(&true));
        self.sections.retain(|section| any(&section.ops));
        self.offloads.retain(|(_, op)| runs.get(*op) == Some(&true));
        self.graphs.retain(any);
        self.output_has_gradient = self
            .output
            .is_none_or(|output| has.get(output.0 as usize) == Some(&true));
    }

    /// Megatron does not count the operations of a product.
    pub(crate) fn leave_uncounted(&mut self, op: usize) {
        if let Some(work) = self.ops.get_mut(op).map(|op| &mut op.work)
            && let Work::Product(product) = *work
        {
            *work = Work::UncountedProduct(product);
        }
    }

    /// The inputs of an operation have no gradient.
    pub(crate) fn detach_inputs(&mut self, op: usize) {
        let links = self.range(op);
        for link in self.links.get_mut(links).into_iter().flatten() {
            if let UseKind::Input(gradient) = &mut link.role {
                *gradient = Gradient::None;
            }
        }
    }
}
