//! Training logs of Megatron-LM: the arguments that it prints when it starts, and what it measures while it trains.
//!
//! `_print_args` (`megatron/training/arguments.py`) prints every argument after defaults and checks were applied,
//! sorted, as `  name ......... value`: name and dots together are 48 characters. Launchers put ranks, nodes and times
//! before each line. A log that holds several runs is read from the start of its last one.

mod line;
mod measurements;
mod release;

pub use measurements::{
    IterationTimes, LogMeasurements, LoggedOutOfMemory, MemoryReport, ParameterCount, TheoreticalMemory,
};
pub use release::{CoreRelease, release_of};

use line::argument;
use measurements::Reader;

/// One argument as a log prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name: the destination in Megatron-LM's parser.
    pub name: String,
    /// Its value as `str` prints it.
    pub value: String,
    /// Its line, counted from 1.
    pub line: u32,
}

/// The arguments and measurements of a log's last run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingLog {
    /// The arguments in the order of the log; none twice.
    pub arguments: Vec<Argument>,
    /// The vocabulary before and after padding, with the line that says it: the tokenizer is built after the arguments
    /// are printed.
    pub vocabulary: Option<(u64, u64, u32)>,
    /// Whether `pretrain_gpt.py` or `pretrain_hybrid.py` of Megatron-LM trains, which say that they build their datasets.
    /// Other programs print the same arguments.
    pub of_pretrain_script: bool,
    /// The measurements.
    pub measured: LogMeasurements,
}

/// The line that `pretrain_gpt.py` and `pretrain_hybrid.py` of Megatron-LM print, and no other program
/// (`train_valid_test_datasets_provider`).
const BUILDS_DATASETS: &str = "> building train, validation, and test datasets for GPT ...";

/// What stands around the arguments.
const START: &str = "------------------------ arguments ------------------------";
const END: &str = "-------------------- end of arguments ---------------------";
/// As many arguments make a log of a text without these lines.
const FEW_ARGUMENTS: usize = 3;
/// How much of a text without them is looked at, in bytes.
const MAX_LOOK: usize = 200_000;
/// The most arguments that are read; Megatron-LM has about 900.
const MAX_ARGUMENTS: usize = 2_000;

/// Whether a text is a training log with the arguments of a run.
#[must_use]
pub fn is_log(text: &str) -> bool {
    if text.contains(START) || text.contains(END) {
        return true;
    }
    let look = text.floor_char_boundary(MAX_LOOK);
    let lines = text.get(..look).unwrap_or_default().lines();
    lines.filter_map(argument).take(FEW_ARGUMENTS).count() == FEW_ARGUMENTS
}

/// Whether a text has lines that a training run prints while it trains.
#[must_use]
pub fn has_measurements(text: &str) -> bool {
    const MARKS: [&str; 4] = [
        "> number of parameters on (tensor",
        " memory (MB) | allocated: ",
        " | elapsed time per iteration (ms): ",
        "Theoretical memory footprints: weight and optimizer=",
    ];
    MARKS.iter().any(|mark| text.contains(mark))
}

/// Reads a log. Lines that are neither arguments nor measurements are skipped.
#[must_use]
pub fn read(text: &str) -> TrainingLog {
    let mut log = TrainingLog::default();
    let mut names = std::collections::BTreeSet::new();
    let mut measured = Reader::default();
    // Arguments of other programs that the log has elsewhere do not count where the marks say which do.
    let marked = text.contains(START);
    let mut inside = !marked;
    for (number, line) in (1_u32..).zip(text.lines()) {
        if line.len() >= START.len() && line.contains(START) {
            log = TrainingLog::default();
            names.clear();
            measured = Reader::default();
            inside = true;
        } else if line.len() >= END.len() && line.contains(END) {
            inside = !marked;
        } else if inside && let Some((name, value)) = argument(line) {
            if log.arguments.len() < MAX_ARGUMENTS && names.insert(name.to_owned()) {
                log.arguments.push(Argument {
                    name: name.to_owned(),
                    value: value.into_owned(),
                    line: number,
                });
            }
        } else if let Some((size, padded)) = line::padded_vocabulary(line) {
            log.vocabulary = Some((size, padded, number));
        } else if line.contains(BUILDS_DATASETS) {
            log.of_pretrain_script = true;
        } else {
            measured.line(line);
        }
    }
    log.measured = measured.finish();
    log
}
