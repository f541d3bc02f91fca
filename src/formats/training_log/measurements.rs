//! The measurements of a training run in its log.

use serde::{Deserialize, Serialize};

use super::line::{after, whole};
use crate::units::Bytes;

/// The memory of one rank at one moment, as PyTorch's allocator counts it. Megatron-LM prints MB of 2²⁰ bytes with two
/// digits behind the point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// The rank in the whole job.
    pub rank: u64,
    /// The iteration after which it was made, counted from 1; `None` for reports at other moments.
    pub iteration: Option<u64>,
    /// The iteration of the checkpoint that the run started from; 0 for a run that started anew.
    pub resumed_at: u64,
    /// Iterations before it whose optimizer step was skipped.
    pub skipped: u64,
    /// When it was made, in the words of the log.
    pub words: String,
    /// `torch.cuda.memory_allocated`.
    pub allocated: Bytes,
    /// `torch.cuda.max_memory_allocated` since the start.
    pub max_allocated: Bytes,
    /// `torch.cuda.memory_reserved`.
    pub reserved: Option<Bytes>,
    /// `torch.cuda.max_memory_reserved` since the start.
    pub max_reserved: Option<Bytes>,
    /// `torch.cuda.device_memory_used`: of all processes.
    pub device: Option<Bytes>,
}

/// The parameters of one rank, before they are sharded over data parallelism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterCount {
    /// The tensor-parallel rank.
    pub tp_rank: u64,
    /// The pipeline rank.
    pub pp_rank: u64,
    /// Parameters of all chunks of the rank.
    pub parameters: u64,
}

/// What Megatron-LM's own estimator prints (`report_theoretical_memory`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TheoreticalMemory {
    /// Weights, gradients and optimizer states.
    pub weight_and_optimizer: Bytes,
    /// Activations.
    pub activation: Bytes,
    /// Their sum.
    pub total: Bytes,
}

/// The times of iterations, in tenths of milliseconds, as Megatron-LM prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationTimes {
    /// The iterations that the log reports.
    pub count: usize,
    /// The last of them.
    pub last_iteration: u64,
    /// The median time of one iteration, without the first reported one where there are others: it compiles and
    /// allocates.
    pub median_tenth_ms: u64,
}

/// An error of PyTorch's that the memory of a GPU does not suffice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedOutOfMemory {
    /// The rank, where the line says it.
    pub rank: Option<u64>,
    /// The number of the GPU on its node.
    pub gpu: Option<u64>,
    /// The iteration that was running: the one after the last that was reported.
    pub iteration: Option<u64>,
    /// Bytes that were asked for.
    pub tried: Option<Bytes>,
    /// Bytes of the GPU's memory.
    pub capacity: Option<Bytes>,
    /// Bytes that were free on it.
    pub free: Option<Bytes>,
    /// Bytes that the process used on the GPU, with all that is not PyTorch's.
    pub in_use: Option<Bytes>,
    /// Bytes that PyTorch had allocated.
    pub allocated: Option<Bytes>,
    /// Bytes that PyTorch had reserved beyond it.
    pub unallocated: Option<Bytes>,
}

/// All that the log of one run says about its memory and time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogMeasurements {
    /// The parameters of ranks, in the order of the log; each rank once.
    pub parameters: Vec<ParameterCount>,
    /// The last estimate of Megatron-LM.
    pub theoretical: Option<TheoreticalMemory>,
    /// Reports of memory in the order of the log.
    pub memory: Vec<MemoryReport>,
    /// The times of iterations.
    pub iterations: Option<IterationTimes>,
    /// Errors of ranks that had too little memory.
    pub out_of_memory: Vec<LoggedOutOfMemory>,
}

/// The most reports of one kind that are kept: as many as large jobs have ranks that report.
const MAX_REPORTS: usize = 10_000;
/// The most characters that are kept of the words for a moment.
const MAX_WORDS: usize = 80;

impl LogMeasurements {
    /// Whether the log measured nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Collects measurements line by line.
#[derive(Default)]
pub(super) struct Reader {
    found: LogMeasurements,
    /// Times of iterations in tenths of milliseconds.
    times: Vec<u64>,
    last_iteration: Option<u64>,
    /// The iteration of the checkpoint that was loaded, or 0.
    resumed_at: u64,
    /// Iterations whose optimizer step was skipped.
    skipped: u64,
}

impl Reader {
    /// Reads a line.
    pub(super) fn line(&mut self, line: &str) {
        // One look at each line decides whether it can be a measurement.
        if let Some(rest) = after(line, "number of parameters on (tensor") {
            self.parameters(rest);
        } else if line.contains(" memory (MB) | allocated: ") {
            self.memory(line);
        } else if let Some(rest) = after(line, "elapsed time per iteration (ms): ") {
            self.iteration(line, rest);
        } else if let Some(rest) = after(line, "Theoretical memory footprints: weight and optimizer=") {
            self.theoretical(rest);
        } else if let Some(rest) = after(line, "successfully loaded checkpoint from ") {
            let iteration = after(rest, "at iteration ").and_then(whole);
            self.resumed_at = iteration.unwrap_or_default();
        } else if line.contains("CUDA out of memory") || line.contains("HIP out of memory") {
            self.out_of_memory(line);
        }
    }

    pub(super) fn finish(mut self) -> LogMeasurements {
        if let Some(last_iteration) = self.last_iteration {
            let count = self.times.len();
            let mut times = self.times.split_off(usize::from(count > 1));
            times.sort_unstable();
            let median_tenth_ms = times.get(times.len() / 2).copied().unwrap_or_default();
            self.found.iterations = Some(IterationTimes {
                count,
                last_iteration,
                median_tenth_ms,
            });
        }
        self.found
    }

    /// `…, pipeline) model parallel rank (1, 0): 1035906048`; newer versions print a third rank between the two.
    fn parameters(&mut self, rest: &str) {
        let read = || {
            let (ranks, count) = after(rest, "model parallel rank (")?.split_once("): ")?;
            let mut ranks = ranks.split(',').map(whole);
            let tp_rank = ranks.next()??;
            let pp_rank = ranks.next_back()??;
            Some(ParameterCount {
                tp_rank,
                pp_rank,
                parameters: whole(count)?,
            })
        };
        let Some(count) = read() else { return };
        let of_rank = |other: &&mut ParameterCount| (other.tp_rank, other.pp_rank) == (count.tp_rank, count.pp_rank);
        let counts = &mut self.found.parameters;
        if let Some(known) = counts.iter_mut().find(of_rank) {
            *known = count;
        } else if counts.len() < MAX_REPORTS {
            counts.push(count);
        }
    }

    /// `[Rank 0] (after 2 iterations) memory (MB) | allocated: 2.00 | max allocated: 3.00 | reserved: … | max reserved:
    /// …`
    fn memory(&mut self, line: &str) {
        let read = || {
            let (before, numbers) = line.split_once(" memory (MB) | ")?;
            let (_, before) = before.rsplit_once("[Rank ")?;
            let (rank, moment) = before.split_once(']')?;
            let moment = moment.trim().trim_start_matches('(').trim_end_matches(')');
            let number = |name: &str| {
                let mut parts = numbers.split('|');
                parts.find_map(|part| {
                    let text = part.trim().strip_prefix(name)?.strip_prefix(": ")?;
                    size(text, 1 << 20).map(Bytes)
                })
            };
            let iteration = moment
                .strip_prefix("after ")
                .filter(|rest| rest.ends_with(" iterations"))
                .and_then(whole);
            Some(MemoryReport {
                rank: whole(rank)?,
                iteration,
                resumed_at: self.resumed_at,
                skipped: self.skipped,
                words: moment.chars().take(MAX_WORDS).collect(),
                allocated: number("allocated")?,
                max_allocated: number("max allocated")?,
                reserved: number("reserved"),
                max_reserved: number("max reserved"),
                device: number("total device memory used"),
            })
        };
        if self.found.memory.len() < MAX_REPORTS
            && let Some(report) = read()
        {
            self.found.memory.push(report);
        }
    }

    fn iteration(&mut self, line: &str, rest: &str) {
        let number = after(line, "iteration ").and_then(whole);
        if let (Some(number), Some(tenths)) = (number, size(rest, 10)) {
            self.last_iteration = Some(number);
            self.times.push(tenths);
            let skipped = after(line, "number of skipped iterations: ").and_then(whole);
            self.skipped = self.skipped.saturating_add(skipped.unwrap_or_default());
        }
    }

    fn theoretical(&mut self, rest: &str) {
        let mib = |text: &str| size(text, 1 << 20).map(Bytes);
        let read = || {
            Some(TheoreticalMemory {
                weight_and_optimizer: mib(rest)?,
                activation: mib(after(rest, "activation=")?)?,
                total: mib(after(rest, "total=")?)?,
            })
        };
        self.found.theoretical = read().or(self.found.theoretical);
    }

    /// PyTorch's message. Its parts changed from version to version, so that each is looked for alone.
    fn out_of_memory(&mut self, line: &str) {
        let binary = |mark: &str| after(line, mark).and_then(binary_size);
        let preceding = |mark: &str| {
            let (before, _) = line.split_once(mark)?;
            binary_size(last_words(before, 2))
        };
        let error = LoggedOutOfMemory {
            rank: after(line, "[rank").and_then(whole),
            gpu: after(line, " GPU ").and_then(whole),
            iteration: self.last_iteration.map(|iteration| iteration.saturating_add(1)),
            tried: binary("Tried to allocate "),
            capacity: binary("has a total capacity of ")
                .or_else(|| binary("has a total capacty of "))
                .or_else(|| preceding(" total capacity")),
            free: preceding(" is free").or_else(|| preceding(" free;")),
            in_use: preceding(" memory in use"),
            allocated: preceding(" is allocated by PyTorch").or_else(|| preceding(" already allocated")),
            unallocated: preceding(" is reserved by PyTorch but unallocated"),
        };
        let known = &mut self.found.out_of_memory;
        if known.len() < MAX_REPORTS && !known.contains(&error) {
            known.push(error);
        }
    }
}

/// The end of a text from the last but `count` blank on.
fn last_words(text: &str, count: usize) -> &str {
    let mut blanks = text.rmatch_indices(' ');
    let start = blanks.nth(count - 1).map_or(0, |(at, _)| at + 1);
    text.get(start..).unwrap_or_default()
}

/// A number with digits behind its point, times `unit`, rounded down.
fn size(text: &str, unit: u64) -> Option<u64> {
    let text = text.trim_start();
    let whole_part = whole(text)?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let fraction = text.get(digits..)?.strip_prefix('.').unwrap_or_default();
    let length = fraction.bytes().take_while(u8::is_ascii_digit).count().min(6);
    let fraction_part = whole(fraction.get(..length)?).unwrap_or_default();
    let scale = 10_u64.pow(u32::try_from(length).ok()?);
    let rest = u128::from(fraction_part) * u128::from(unit) / u128::from(scale);
    let bytes = u128::from(whole_part) * u128::from(unit) + rest;
    u64::try_from(bytes).ok()
}

/// A size with its unit, such as `2.50 GiB`.
fn binary_size(text: &str) -> Option<Bytes> {
    let unit = text.trim_start().split(' ').nth(1).unwrap_or_default();
    let unit = unit.trim_end_matches(['.', ',', ';', ')']);
    let factor = match unit {
        "bytes" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    size(text, factor).map(Bytes)
}
