//! The parameters of a part, one after the other.

use super::tensor::{Component, Factor, ParamTensor, Shape, Sharding, factor};
use super::tp;
use crate::config::job::Module;
use crate::source::Source;

/// The parameters of a part, so far.
pub(crate) struct ParamList<'a> {
    m: &'a Module,
    pub(crate) tensors: Vec<ParamTensor>,
    component: Component,
    source: Source,
}

// Architectures are made of these; one copy of each keeps them small.
impl<'a> ParamList<'a> {
    /// No parameters yet.
    pub(crate) fn new(m: &'a Module) -> Self {
        Self {
            m,
            tensors: Vec::new(),
            component: Component::Embedding,
            source: Source::default(),
        }
    }

    /// Those that follow are counted under this component, and are made there.
    pub(crate) fn at(&mut self, component: Component, source: Source) -> &mut Self {
        self.component = component;
        self.source = source;
        self
    }

    /// A tensor that tensor-parallel ranks split.
    pub(crate) fn split(&mut self, name: &'static str, factors: &[Factor], dimensions: u8) {
        let shape = Shape::of(factors).over(tp(self.m));
        self.push(name, shape, Sharding::TpSharded, dimensions);
    }

    /// A tensor that every tensor-parallel rank has in full.
    pub(crate) fn whole(&mut self, name: &'static str, factors: &[Factor], dimensions: u8) {
        self.push(name, Shape::of(factors), Sharding::Replicated, dimensions);
    }

    /// The factors of a norm: its width, and with `LayerNorm` a bias beside the weight. They follow what comes first.
    pub(crate) fn norm(&mut self, name: &'static str, width: Factor) {
        match self.m.norm_parts() {
            1 => self.whole(name, &[width], 1),
            parts => self.whole(name, &[factor("(weight + bias)", parts), width], 1),
        }
    }

    /// A tensor of any shape.
    pub(crate) fn push(
        &mut self,
        name: &'static str,
        shape: Shape,
        sharding: Sharding,
        dimensions: u8,
    ) {
        self.tensors.push(ParamTensor {
            component: self.component,
            name,
            shape,
            sharding,
            dimensions,
            source: self.source,
        });
    }
}
