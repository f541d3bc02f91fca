//! Exit statuses, and failures that carry one.

use std::process::ExitCode;

use megatron_memory::config::problem::Problem;
use megatron_memory::verdict::Verdict;

use super::output;

/// How the program ends. With several jobs the worst counts: the one with the largest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Everything was done; for `check`: every job fits.
    Success = 0,
    /// A job does not fit, or, with `--strict`, is tight.
    DoesNotFit = 1,
    /// The arguments cannot be read. The argument parser's own status.
    Usage = 2,
    /// Megatron refuses a job.
    CannotRun = 3,
    /// A job has settings whose memory is not modelled: the numbers are those of another job.
    NotThisJob = 4,
    /// A text cannot be read, or leaves questions open without whose answers there is no job.
    Unreadable = 5,
    /// The result cannot be written.
    NotWritten = 6,
    /// The user interrupted a search; what had been found by then was printed. The shell's own status for it.
    Interrupted = 130,
}

/// What `--help` says about exit statuses.
pub(crate) const HELP: &str = "\
Exit status:
  0  done; check: every job fits
  1  check: a job does not fit (with --strict also: is tight)
  2  the arguments cannot be read
  3  Megatron refuses the job
  4  the job has settings that are not modelled, so the numbers are another job's
  5  a text cannot be read, or leaves questions open
  6  the result cannot be written
130  a search was interrupted, and what it had found was printed";

impl Status {
    /// The status that says a verdict.
    pub(crate) const fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Fits | Verdict::Tight => Self::Success,
            Verdict::DoesNotFit => Self::DoesNotFit,
            Verdict::Unknown => Self::Usage,
            Verdict::Refused(_) => Self::CannotRun,
            Verdict::NotThisJob => Self::NotThisJob,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit status.
    pub(crate) status: Status,
    /// The reason in words.
    pub(crate) message: String,
}

impl Failure {
    /// Arguments that do not make sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            status: Status::Usage,
            message: message.into(),
        }
    }

    /// A text that cannot be read.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self {
            status: Status::Unreadable,
            message: message.into(),
        }
    }

    /// A result that cannot be written.
    pub(crate) fn not_written(message: impl Into<String>) -> Self {
        Self {
            status: Status::NotWritten,
            message: message.into(),
        }
    }

    /// The same with the place of the text that cannot be read before the message.
    pub(crate) fn at(self, place: &str) -> Self {
        match self.status {
            Status::Unreadable => Self::unreadable(format!("{place}: {}", self.message)),
            _ => self,
        }
    }

    /// A job that Megatron refuses.
    pub(crate) fn cannot_run(problems: &[Problem]) -> Self {
        Self {
            status: Status::CannotRun,
            message: [format!("Cannot run: {}", output::lines(problems))]
                .into_iter()
                .chain(output::way_to_layouts(problems).map(str::to_owned))
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }
}
