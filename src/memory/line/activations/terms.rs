//! The tensors that are alive at a moment, added up one by one.

use std::borrow::Cow;

use crate::model::tape::{ActivationTensor, block};
use crate::model::tensor::Shape;
use crate::source::Source;
use crate::units::multiply;

/// A tensor that is alive some number of times.
pub(super) struct Term {
    /// The block that it belongs to, or what it is apart from blocks; may be empty.
    pub(super) part: Cow<'static, str>,
    pub(super) what: &'static str,
    pub(super) gradient: bool,
    pub(super) usage: usize,
    /// Bytes of one, as the allocator hands them out.
    pub(super) each: u64,
    pub(super) times: u64,
    /// The shape of one, and the bytes of its elements.
    pub(super) formula: Option<(Shape, u64)>,
    pub(super) source: Source,
}

/// Collects terms, equal ones together.
pub(super) struct Terms {
    pub(super) all: Vec<Term>,
    /// The residual stream: what stages and layers pass on.
    pub(super) stream: (Shape, u64),
}

impl Terms {
    pub(super) fn push(&mut self, term: Term) {
        if term.each == 0 || term.times == 0 {
            return;
        }
        // Numbers first: they tell most terms apart without a look at the texts.
        let same = self.all.iter_mut().find(|other| {
            (other.each, other.usage, other.gradient) == (term.each, term.usage, term.gradient)
                && (other.what, &other.part) == (term.what, &term.part)
        });
        match same {
            Some(other) => other.times += term.times,
            None => self.all.push(term),
        }
    }

    pub(super) fn tensor(
        &mut self,
        part: impl Into<Cow<'static, str>>,
        tensor: &ActivationTensor,
        usage: usize,
        gradient: bool,
        times: u64,
    ) {
        self.push(Term {
            part: part.into(),
            what: tensor.what,
            gradient,
            usage,
            each: tensor.allocated(),
            times,
            formula: Some((tensor.shape, tensor.width)),
            source: tensor.source,
        });
    }

    /// Bytes that have no tensor on a tape: mostly what stages and layers pass on.
    pub(super) fn plain(&mut self, what: &'static str, usage: usize, each: u64, times: u64, source: Source) {
        let (shape, width) = self.stream;
        let one = block(multiply(shape.elements(), width));
        let streams = each.checked_div(one).filter(|n| n * one == each);
        let (each, times, formula) = match streams {
            Some(streams) => (one, multiply(times, streams), Some(self.stream)),
            None => (each, times, None),
        };
        self.push(Term {
            part: Cow::Borrowed(""),
            what,
            gradient: false,
            usage,
            each,
            times,
            formula,
            source,
        });
    }

    /// A tensor of a shape of its own.
    pub(super) fn shaped(
        &mut self,
        what: &'static str,
        usage: usize,
        (shape, width): (Shape, u64),
        times: u64,
        source: Source,
    ) {
        self.push(Term {
            part: Cow::Borrowed(""),
            what,
            gradient: false,
            usage,
            each: block(multiply(shape.elements(), width)),
            times,
            formula: Some((shape, width)),
            source,
        });
    }
}
