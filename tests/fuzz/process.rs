//! What the operating system says about this process. Where it says nothing, the limits are not checked.

use std::fs;

/// The most memory that this process has held so far, in bytes.
pub(crate) fn peak() -> Option<u64> {
    status("VmHWM:")
}

/// The memory that this process holds, in bytes.
pub(crate) fn resident() -> Option<u64> {
    status("VmRSS:")
}

fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

/// How long this thread has run on a processor, in nanoseconds: waiting for one is not the reader's fault.
pub(crate) fn busy() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}
