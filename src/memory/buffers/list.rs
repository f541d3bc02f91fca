//! The buffers of a stage: what each is, its shape and its bytes.

use crate::model::tape::block;
use crate::model::tensor::{Shape, factor};
use crate::source::Source;
use crate::units::multiply;

/// The kinds of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferKind {
    /// A tensor of the module.
    Tensor,
    /// A workspace, of which a process has one for all its modules.
    Workspace,
    /// The padding in buffers of states.
    Padding,
    /// Internal fragmentation: the tail of a cached block that the CUDA caching allocator does not split.
    Unsplit,
    /// Transformer Engine's dummy weight gradients, one for each shape.
    DummyWgrads,
}

/// A buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The buffer's kind.
    pub(crate) kind: BufferKind,
    /// What the buffer is, in a few words.
    pub what: &'static str,
    /// The buffer's size.
    pub bytes: u64,
    /// The buffer's shape; empty for a sum of several tensors.
    pub shape: Shape,
    /// Bytes of an element.
    pub width: u64,
    /// A citation of the code that allocates the buffer.
    pub source: Source,
}

/// The buffers of a stage, so far.
pub(super) struct List(pub(super) Vec<Buffer>);

impl List {
    /// A buffer of so many bytes, if there are any.
    pub(super) fn add(
        &mut self,
        kind: BufferKind,
        what: &'static str,
        shape: (Shape, u64),
        bytes: u64,
        source: Source,
    ) {
        let (shape, width) = shape;
        if bytes > 0 {
            self.0.push(Buffer {
                kind,
                what,
                bytes,
                shape,
                width,
                source,
            });
        }
    }

    /// A tensor of so many elements of a width.
    pub(super) fn tensor(&mut self, what: &'static str, shape: Shape, width: u64, source: Source) {
        let bytes = block(multiply(shape.elements(), width));
        self.add(BufferKind::Tensor, what, (shape, width), bytes, source);
    }

    /// Workspaces of so many KiB, one for each handle.
    pub(super) fn workspaces(&mut self, what: &'static str, handles: u64, kib: u64, source: Source) {
        let shape = Shape::of(&[factor("handles", handles), factor("KiB", kib)]);
        let bytes = block(multiply(shape.elements(), 1024));
        self.add(BufferKind::Workspace, what, (shape, 1024), bytes, source);
    }
}
