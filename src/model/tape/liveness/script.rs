//! A pass over a tape as the allocator sees it: storages that are allocated and freed, in their order.

/// A storage that a pass allocates or frees. Its slot is the number of its tensor, or for gradients one behind all
/// tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StorageEvent {
    /// The first reference to a storage of so many bytes. Of the input, and in backward passes of what is kept and of the
    /// output's gradient, it is there already.
    Allocate {
        /// The slot.
        slot: usize,
        /// Its bytes.
        bytes: u64,
        /// Whether it is made on the stream of context-parallel exchanges.
        exchange: bool,
    },
    /// The last reference to a storage is gone.
    Free { slot: usize },
}

/// The storages of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PassScript {
    /// What is allocated and freed.
    pub(crate) events: Vec<StorageEvent>,
    /// The number of slots.
    pub(crate) slots: usize,
    /// The slot of the input; `None` where the tape has none.
    pub(crate) input: Option<usize>,
    /// The slot of the output; `None` where the tape has none.
    pub(crate) output: Option<usize>,
    /// The slots of the tensors that are kept from the forward to the backward pass.
    pub(crate) kept: Vec<usize>,
    /// The slot of the output's gradient; `None` in forward passes, and where the pass begins with none.
    pub(crate) output_gradient: Option<usize>,
    /// The slot of the input's gradient; `None` in forward passes, and where it has none.
    pub(crate) input_gradient: Option<usize>,
}
