//! Overheads: memory that the device shows beyond PyTorch's allocations, for fragmentation, CUDA context, NCCL and CUDA
//! graphs.
//!
//! They give a range above the predicted peak and are no part of the prediction. Only the memory pool of CUDA graphs
//! follows from a job; all other sizes are input fields with measured defaults.

mod dispatch;

use crate::config::field::Decimal;
use crate::config::fields::FieldId;
use crate::config::job::Module;
use crate::source::Source;
use crate::units::{Bytes, multiply};

/// One overhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// The purpose of the memory, in a few words.
    pub what: &'static str,
    /// The smallest size.
    pub low: Bytes,
    /// The largest size.
    pub high: Bytes,
    /// The field that sets the size.
    pub field: FieldId,
    /// The source of the field's default.
    pub source: Source,
}

/// The memory that a device may show for a peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// The peak with the smallest overheads.
    pub low: Bytes,
    /// The peak with the largest overheads.
    pub high: Bytes,
    /// The overheads, some of which may be 0.
    pub overheads: [Overhead; 5],
}

impl MemoryRange {
    /// The overheads, without the token dispatcher's where it has no buffers of its own.
    pub fn overheads(&self) -> impl Iterator<Item = &Overhead> {
        let dispatch = FieldId::moe_flex_dispatcher_backend;
        let named = move |overhead: &&Overhead| overhead.field != dispatch || overhead.high > Bytes::ZERO;
        self.overheads.iter().filter(named)
    }
}

/// The memory that a device may show for a predicted `peak`, where CUDA graphs reserve `graphs` beyond it, on a GPU with
/// so much memory; `None` where no GPU is chosen.
///
/// Where a GPU has no more room, the allocator gives memory back before it fails (`release_cached_blocks`). Of expandable
/// segments it gives back every free page, so that the least it reserves is what is allocated. Of others it gives back
/// those that are wholly free, which helps little: jobs of Megatron's core on a limited H200 needed 1.028 to 1.085 times
/// what they allocated, four of six as much as they reserve with room.
#[must_use]
pub fn memory_range(m: &Module, gpu: Option<Bytes>, peak: Bytes, graphs: Bytes) -> MemoryRange {
    let factors = (m.args.reserved_over_allocated_low, m.args.reserved_over_allocated_high);
    let reserved = |factor: Decimal| Bytes(factor.scale_up(peak.0));
    let reserved = (reserved(factors.0.min(factors.1)), reserved(factors.1));
    range_of_reserved(m, gpu, peak, graphs, reserved)
}

/// The same where PyTorch's allocator reserves `reserved` as long as the GPU has room, from the least to the most: what a
/// replay finds in place of the factors.
#[must_use]
pub fn range_of_reserved(
    m: &Module,
    gpu: Option<Bytes>,
    peak: Bytes,
    graphs: Bytes,
    reserved: (Bytes, Bytes),
) -> MemoryRange {
    let a = &m.args;
    let unused = (reserved.0.saturating_sub(peak), reserved.1.saturating_sub(peak));
    let fixed = |what, field, mib: u64, source| Overhead {
        what,
        low: Bytes::mib(mib),
        high: Bytes::mib(mib),
        field,
        source,
    };
    let nccl = multiply(a.nccl_mib_per_group, process_groups(m));
    let (dispatch, dispatch_source) = dispatch::buffers(m, m.nvlink_domain());
    let graphs = graphs + Bytes::mib(a.cuda_graphs_mib);
    let outside = Bytes::mib(a.cuda_context_mib) + graphs + dispatch;
    let room = gpu.map(|gpu| gpu.saturating_sub(peak + outside));
    let gives_back = room.filter(|_| a.expandable_segments);
    let overheads = [
        Overhead {
            what: "reserved but unused (fragmentation)",
            low: gives_back.map_or(unused.0, |room| unused.0.min(room)),
            high: unused.1,
            field: FieldId::reserved_over_allocated_high,
            source: Source::ReservedRatio,
        },
        fixed(
            "CUDA context",
            FieldId::cuda_context_mib,
            a.cuda_context_mib,
            Source::CudaContext,
        ),
        Overhead {
            // A communicator allocates its buffers when it is first used.
            low: Bytes::ZERO,
            ..fixed(
                "NCCL buffers of every process group",
                FieldId::nccl_mib_per_group,
                nccl,
                Source::CudaContext,
            )
        },
        Overhead {
            low: graphs,
            high: graphs,
            ..fixed("CUDA graphs", FieldId::cuda_graphs_mib, 0, Source::CudaGraphs)
        },
        Overhead {
            what: "buffers of the token dispatcher",
            low: dispatch,
            high: dispatch,
            field: FieldId::moe_flex_dispatcher_backend,
            source: dispatch_source,
        },
    ];
    MemoryRange {
        low: peak + overheads.iter().map(|overhead| overhead.low).sum(),
        high: peak + overheads.iter().map(|overhead| overhead.high).sum(),
        overheads,
    }
}

/// The number of process groups with several ranks that a rank is in.
#[must_use]
pub fn process_groups(m: &Module) -> u64 {
    let sizes = [m.tp, m.cp, m.pp, m.dp * m.cp, m.ep, m.etp, m.edp];
    let moe = m.moe.is_some();
    let dense = sizes.iter().take(4).filter(|size| **size > 1).count();
    let expert = sizes.iter().skip(4).filter(|size| **size > 1 && moe).count();
    u64::try_from(dense + expert).unwrap_or(u64::MAX)
}
