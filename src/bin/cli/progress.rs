//! How far a search is: a line on the terminal for those that take long, and their interruption with Ctrl-C.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use megatron_memory::report::amount::grouped;

use super::output;

/// How long a search takes without a line about it.
const SILENT: Duration = Duration::from_secs(1);
/// How often the line changes.
const EVERY: Duration = Duration::from_millis(200);
/// How often it is asked whether the search has ended.
const TICK: Duration = Duration::from_millis(2);

/// The progress of one search, shared by its threads.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The number of combinations.
    total: u64,
    /// How many have been looked at.
    done: AtomicU64,
    interrupted: Arc<AtomicBool>,
}

impl Progress {
    /// The progress of a search of so many combinations. From now on Ctrl-C interrupts the search, and a second one the
    /// program.
    pub(crate) fn new(total: u64) -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        // Without a handler Ctrl-C ends the program, as it does without this.
        let _ = ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(super::exit::Status::Interrupted as i32);
            }
        });
        Self {
            total,
            done: AtomicU64::new(0),
            interrupted,
        }
    }

    /// Counts combinations that have been looked at.
    pub(crate) fn advance(&self, combinations: u64) {
        self.done.fetch_add(combinations, Ordering::Relaxed);
    }

    /// Whether the user has seen enough.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// How far the search is, in words.
    pub(crate) fn words(&self) -> String {
        let done = self.done.load(Ordering::Relaxed);
        format!("{} of {} combinations looked at", grouped(done), grouped(self.total))
    }

    /// Waits until the search has ended. Where the standard error is a terminal, a line there tells how far it is, once
    /// it has taken a second.
    pub(crate) fn show_until(&self, has_ended: impl Fn() -> bool) {
        let begun = Instant::now();
        let mut next = begun + SILENT;
        let is_seen = std::io::stderr().is_terminal();
        while !has_ended() {
            thread::sleep(TICK);
            if is_seen && Instant::now() >= next {
                output::tell(format_args!("\r\x1b[K{} (Ctrl-C lists what was found)", self.words()));
                next += EVERY;
            }
        }
        if is_seen && begun.elapsed() >= SILENT {
            output::tell("\r\x1b[K");
        }
    }
}
