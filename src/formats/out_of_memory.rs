//! Out-of-memory errors of PyTorch, as logs and threads quote them: what the message says of the GPU, and from the
//! traceback what the job was doing.
//!
//! The messages of CUDA, HIP and Ascend NPUs of all years are read, alone or in a text with anything around them. The
//! amounts are printed with two decimals, so each is a range.

mod amount;
mod message;
mod surroundings;
mod traceback;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use amount::PrintedAmount;
pub use traceback::FailedPhase;

use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::units::{Bytes, MIB};
use crate::value::Value;
use message::Found;
pub(super) use surroundings::without_messages;
use surroundings::{content, prefix};

/// Longer texts are searched up to here.
const MAX_BYTES: usize = 4_000_000;
/// Most messages that are told apart; ranks of one job print the same thing thousands of times.
const MAX_MESSAGES: usize = 64;

/// One out-of-memory error. An amount that the message does not have is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfMemory {
    /// The line where it begins, counted from 1.
    pub line: u32,
    /// The rank that printed it, where the line says so.
    pub rank: Option<u64>,
    /// The size of the allocation that failed, which PyTorch rounds up before it asks the driver for memory.
    pub requested: Option<PrintedAmount>,
    /// The GPU's memory as CUDA reports it.
    pub capacity: Option<PrintedAmount>,
    /// Memory that is free on the GPU.
    pub free: Option<PrintedAmount>,
    /// The limit that the process set itself (`set_per_process_memory_fraction`).
    pub allowed: Option<PrintedAmount>,
    /// Memory that the whole process uses, the CUDA context and NCCL included.
    pub in_process: Option<PrintedAmount>,
    /// Memory that other processes use, one entry a process.
    pub other_processes: Vec<PrintedAmount>,
    /// Memory that tensors use.
    pub allocated: Option<PrintedAmount>,
    /// Memory that the allocator has reserved and no tensor uses.
    pub unallocated: Option<PrintedAmount>,
    /// The part of the allocated memory that is in private pools, as of CUDA graphs.
    pub in_private_pools: Option<PrintedAmount>,
    /// The phase of the job, by the traceback; `None` where there is none or it does not say.
    pub phase: Option<FailedPhase>,
    /// The function in which the allocation failed, the innermost of the traceback.
    pub function: Option<String>,
    /// Bytes of an element of what was to be allocated, where that function's code says its dtype.
    pub element_bytes: Option<u64>,
}

impl OutOfMemory {
    /// Memory that all other processes use together: as listed, or what remains where the message has the rest; `None`
    /// where it does not say.
    #[must_use]
    pub fn in_other_processes(&self) -> Option<Bytes> {
        if !self.other_processes.is_empty() {
            let listed = self.other_processes.iter().map(|amount| amount.bytes);
            let own = self.own_among_listed().unwrap_or(Bytes::ZERO);
            return Some(listed.sum::<Bytes>().saturating_sub(own));
        }
        let (capacity, free, own) = (self.capacity?, self.free?, self.in_process?);
        // PyTorch prints 0 bytes where the driver does not tell processes apart, as in containers.
        let known = own.bytes > Bytes::ZERO;
        known.then(|| capacity.bytes.saturating_sub(free.bytes + own.bytes))
    }

    /// Memory that this process uses, where it is listed as another one: in a container the driver knows it by its
    /// number on the host. It is the least of those that have room for what is reserved.
    fn own_among_listed(&self) -> Option<Bytes> {
        let is_named = self.in_process.is_some_and(|own| own.bytes > Bytes::ZERO);
        let reserved = self.reserved().filter(|_| !is_named)?;
        let listed = self.other_processes.iter().filter(|amount| amount.most() >= reserved);
        listed.map(|amount| amount.bytes).min()
    }

    /// Memory that the allocator has reserved, where the message says so.
    #[must_use]
    pub fn reserved(&self) -> Option<Bytes> {
        Some(self.allocated?.bytes + self.unallocated?.bytes)
    }
}

/// The out-of-memory errors of a text in the order of the text; those that several ranks print alike are one.
#[must_use]
pub fn read(text: &str) -> Vec<OutOfMemory> {
    let text = text.get(..MAX_BYTES.min(text.len())).unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut known = BTreeSet::new();
    let mut errors = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let Some(found) = message::find(&lines, at) else {
            at += 1;
            continue;
        };
        let Found { mut error, end } = found;
        error.line = u32::try_from(at + 1).unwrap_or(u32::MAX);
        error.rank = surroundings::rank(prefix(line));
        let frames = traceback::frames(&lines, at);
        error.phase = traceback::phase(&frames);
        error.function = frames.last().map(|frame| frame.function.to_owned());
        error.element_bytes = frames.last().and_then(traceback::element_bytes);
        at = end.max(at + 1);
        let amounts = (error.requested, error.allocated, error.phase);
        if known.insert(format!("{amounts:?}")) && errors.len() < MAX_MESSAGES {
            errors.push(error);
        }
    }
    // A message without amounts repeats one that has them.
    if errors.iter().any(|error: &OutOfMemory| error.requested.is_some()) {
        errors.retain(|error| error.requested.is_some());
    }
    errors
}

/// Takes the GPU's memory from the first error that has it: what CUDA reported on that machine is nearer to the truth
/// than a table.
pub fn take_capacity(errors: &[OutOfMemory], job: &mut RawJob) {
    if let Some(capacity) = errors.iter().find_map(|error| error.capacity) {
        for module in 0..job.module_count() {
            job.put(
                module,
                FieldId::gpu_memory_mib,
                Value::Int((capacity.bytes.0 / MIB).into()),
            );
        }
    }
}

/// Whether a line has the words of an out-of-memory error of a GPU.
fn is_message(line: &str) -> bool {
    let line = content(line);
    let has = |words: &str| line.contains(words);
    has("out of memory. Tried to allocate")
        || has("OutOfMemoryError: ")
        || has("CUDA error: out of memory")
        || has("Cuda failure 2 'out of memory'")
        || has("Cuda failure 'out of memory'")
        || has("CUBLAS_STATUS_ALLOC_FAILED")
        || has("Tried to allocate ") && (has("total capac") || has(" GPU ") || has("(GPU "))
        || ["CUDA", "HIP", "NPU"]
            .iter()
            .any(|device| has(&format!("{device} out of memory")))
}
