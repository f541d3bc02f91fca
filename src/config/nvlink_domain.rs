//! The GPUs between which data moves without the network.

use super::fields::Args;
use super::gpus;

/// A node, or the larger `NVLink` domain that some GPU types have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NvlinkDomain {
    /// How many GPUs it has.
    pub(crate) gpus: u64,
    /// Whether it is larger than a node.
    is_rack: bool,
}

impl NvlinkDomain {
    /// The node or `NVLink` domain that holds the ranks of a module with these arguments.
    pub(crate) fn of(args: &Args) -> Self {
        let gpu = args.gpu.as_deref().and_then(gpus::by_name);
        let rack = gpu.filter(|gpu| gpu.nvlink_domain > gpu.per_node);
        let rack = rack.map_or(0, |gpu| u64::from(gpu.nvlink_domain));
        Self {
            gpus: args.gpus_per_node.max(rack),
            is_rack: rack > args.gpus_per_node,
        }
    }

    /// Whether groups that each span so many neighboring ranks, one behind the other, never leave it. Jobs take a
    /// rack's GPUs as far as they fill whole groups; nodes are filled to the last GPU.
    pub(crate) fn holds(self, span: u64) -> bool {
        span <= self.gpus && (self.is_rack || self.gpus.is_multiple_of(span.max(1)))
    }
}
