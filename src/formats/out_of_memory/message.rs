//! One message: its amounts, in the words that PyTorch has had for them since 2019.

use super::{OutOfMemory, PrintedAmount, content, is_message};

/// A message that was found.
pub(super) struct Found {
    pub(super) error: OutOfMemory,
    /// The index of the line after it.
    pub(super) end: usize,
}

/// The longest message in lines, where a terminal has wrapped it.
const MAX_LINES: usize = 24;

/// The message that begins on a line; `None` where none does.
pub(super) fn find(lines: &[&str], at: usize) -> Option<Found> {
    if !is_message(lines.get(at)?) {
        return None;
    }
    let mut text = String::new();
    let mut end = at;
    for line in lines.iter().skip(at).take(MAX_LINES) {
        let line = content(line).trim();
        let begins_another = end > at && (is_message(line) && text.contains("Tried to allocate") || is_foreign(line));
        if begins_another || line.is_empty() || end > at && !continues(&text, line) {
            break;
        }
        text.push_str(line);
        text.push(' ');
        end += 1;
        if is_complete(&text) {
            break;
        }
    }
    let error = amounts(&text);
    // An exception's class alone, as in `except torch.cuda.OutOfMemoryError:`, is code.
    let says_something = error.requested.is_some() || !text.contains("Tried to allocate") && is_driver_error(&text);
    says_something.then_some(Found { error, end })
}

/// Whether a line goes on with a message that a terminal has wrapped: in the middle of a sentence, or with a sentence
/// that messages have.
fn continues(message: &str, line: &str) -> bool {
    let sentences = [
        "Tried to",
        "GPU ",
        "(GPU",
        "Including",
        "Process ",
        "Of the",
        "If reserved",
        "See documentation",
        "(https",
    ];
    let in_sentence = !message.trim_end().ends_with(['.', ')', ';']) && !line.contains("--") && !line.contains('=');
    in_sentence || sentences.iter().any(|beginning| line.starts_with(beginning))
}

/// Errors of the driver and of libraries, which name no amount.
fn is_driver_error(text: &str) -> bool {
    [
        "CUDA error: out of memory",
        "ut of memory'",
        "CUBLAS_STATUS_ALLOC_FAILED",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// Whether the advice at a message's end has come.
fn is_complete(text: &str) -> bool {
    let ends = [
        "max_split_size_mb",
        "expandable_segments",
        "to avoid fragmentation",
        "reserved in total by PyTorch)",
        "MiB cached)",
        "GiB cached)",
    ];
    ends.iter().any(|end| text.contains(end))
}

/// Lines that belong to no message: tracebacks and code fences.
fn is_foreign(line: &str) -> bool {
    line.starts_with("Traceback") || line.starts_with("File \"") || line.starts_with("```") || line.starts_with("~~~")
}

fn amounts(text: &str) -> OutOfMemory {
    let after = |words: &str| {
        text.split_once(words)
            .and_then(|(_, rest)| PrintedAmount::at_start(rest))
    };
    let before = |words: &str| {
        text.split_once(words)
            .and_then(|(start, _)| PrintedAmount::at_end(start))
    };
    let allocated = before(" already allocated")
        .or_else(|| after("Of the allocated memory ").or_else(|| before(" is allocated by PyTorch")));
    // Until 2023 the message had all that is reserved.
    let reserved = before(" reserved in total").or_else(|| before(" cached)"));
    let unallocated = before(" is reserved by PyTorch but unallocated")
        .or_else(|| before(" reserved by PyTorch but unallocated"))
        .or_else(|| Some(reserved?.less(allocated?)));
    let others = text.split(" memory in use").filter_map(|part| {
        let (_, process) = part.rsplit_once("Process ")?;
        let (_, amount) = process.split_once(" has ")?;
        PrintedAmount::at_start(amount)
    });
    OutOfMemory {
        requested: after("Tried to allocate "),
        capacity: after("total capacity of ")
            .or_else(|| after("total capacty of "))
            .or_else(|| before(" total capacity")),
        free: after("of which ").or_else(|| before(" free;")),
        allowed: before(" allowed;"),
        in_process: after("this process has "),
        other_processes: others.collect(),
        allocated,
        unallocated,
        in_private_pools: before(" allocated in private pools"),
        ..OutOfMemory::default()
    }
}
