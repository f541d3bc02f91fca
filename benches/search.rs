//! How long layout searches take, natively, on all cores: `cargo bench --bench search`.
//!
//! Every search is run once and to its end or for a minute. The counts belong to the result: a search that skips more
//! combinations together looks at fewer layouts, and one that looks at more of them a second is not thereby sooner
//! done.
//!
//! Measured on two idle cores, each search to its end; the middle of three runs, which differ by up to two thirds:
//!
//! | search | combinations | legal | fit | seconds | legal a second | peak MB |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | DeepSeek-V3 on 2048, default axes | 1 728 | 168 | 74 | 0.01 | 18 066 | 8 |
//! | Qwen3-235B on 64, every axis | 16 134 720 | 92 262 | 18 489 | 0.66 | 140 314 | 64 |
//! | Qwen3-235B on 64, every axis, all legal | 16 134 720 | 451 552 | 18 489 | 2.97 | 152 266 | 162 |
//! | DeepSeek-V3 on 2048, every axis | 131 383 296 | 2 595 585 | 1 077 899 | 24.65 | 105 285 | 259 |
//! | A hybrid model, every axis, all legal | 12 101 040 | 220 542 | 74 251 | 4.51 | 48 935 | 223 |
//! | Several modules, every axis, all legal | 184 320 | 2 810 | 2 228 | 0.03 | 87 295 | 20 |
//! | Llama 3 70B, ways of training, all legal | 20 580 | 692 | 291 | 0.06 | 11 240 | 13 |
//!
//! All layouts that a search lists are held until its end, each once; the memory is the most that the process had at once
//! (`VmHWM` of Linux), with the tables of the searchers.
//!
//! Each layout has its memory and the predicted time of its step. The short searches vary most.
#![allow(
    clippy::expect_used,
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "a measurement prints its numbers, and stops where it meets a surprise"
)]

use std::sync::Mutex;
use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};

use megatron_memory::formats::share_url::visit;
use megatron_memory::search::{Axis, Candidate, Keep, Options, Searcher, Slice, Space};

/// The longest that one search runs.
const LIMIT: Duration = Duration::from_mins(1);
/// Jobs that are checked between two looks at the clock.
const STEPS: u32 = 4096;

/// The counts of a search, and its layouts in the parts in which they were found.
#[derive(Default)]
struct Found {
    counts: Slice,
    layouts: Vec<Box<[Candidate]>>,
}

impl Found {
    fn add(&mut self, mut part: Slice) {
        let layouts = std::mem::take(&mut part.candidates);
        self.layouts.push(layouts.into_boxed_slice());
        self.counts.join(part);
    }

    fn join(&mut self, other: Self) {
        self.counts.join(other.counts);
        self.layouts.extend(other.layouts);
    }
}

/// Megabytes that the process had at most since this was asked last; `None` where the system does not say.
fn peak_megabytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = peak.trim().strip_suffix(" kB")?.parse().ok()?;
    // Begins to look for the peak anew.
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    Some(kilobytes * 1024 / 1_000_000)
}

/// Searches a space on all cores.
fn run(space: &Space, keep: Keep) -> (Found, Duration) {
    let began = Instant::now();
    let shares = Mutex::new(space.shares());
    let work = &|worker| {
        let next = || shares.lock().expect("no search panics").next_for(worker);
        let mut found = Found::default();
        let mut searcher = Searcher::default();
        while let Some(share) = next() {
            let mut from = share.start;
            while from < share.end {
                let part = searcher.search(space, from..share.end, STEPS, keep);
                from = part.next.unwrap_or(share.end);
                found.add(part);
                if began.elapsed() > LIMIT {
                    return found;
                }
            }
        }
        found
    };
    let cores = available_parallelism().map_or(1, usize::from);
    let found = scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|worker| scope.spawn(move || work(worker))).collect();
        let mut whole = Found::default();
        for worker in workers {
            whole.join(worker.join().expect("a search does not panic"));
        }
        whole
    });
    (found, began.elapsed())
}

fn main() {
    let usual = |link: &str| Options::usual(&visit(link).state.setup.job);
    let every = |_: &str| Options {
        vary: Axis::ALL
            .into_iter()
            .filter(|a| !matches!(a, Axis::Gpus | Axis::Training))
            .collect(),
        ..Options::default()
    };
    let deepseek = "v1;m=deepseek-v3@2";
    let qwen = "v1;m=qwen3-235b-a22b@2;gpus=64";
    let hybrid = "v1;m=nemotron-3-super-120b-a12b";
    let several = "v1;m=qwen2.5-vl-7b@1";
    let llama = "v1;m=llama3-70b@1";
    let with_training = |link: &str| {
        let mut options = usual(link);
        options.vary.push(Axis::Training);
        options
    };
    let cases = [
        (
            "DeepSeek-V3 on 2048, default axes",
            deepseek,
            usual(deepseek),
            Keep::Fitting,
        ),
        ("Qwen3-235B on 64, every axis", qwen, every(qwen), Keep::Fitting),
        (
            "Qwen3-235B on 64, every axis, all legal",
            qwen,
            every(qwen),
            Keep::Legal,
        ),
        (
            "DeepSeek-V3 on 2048, every axis",
            deepseek,
            every(deepseek),
            Keep::Fitting,
        ),
        (
            "A hybrid model, every axis, all legal",
            hybrid,
            every(hybrid),
            Keep::Legal,
        ),
        (
            "Several modules, every axis, all legal",
            several,
            every(several),
            Keep::Legal,
        ),
        (
            "Llama 3 70B, ways of training, all legal",
            llama,
            with_training(llama),
            Keep::Legal,
        ),
    ];
    let only: Option<String> = std::env::args().nth(1).filter(|a| a != "--bench");
    println!("| search | combinations | looked at | legal | fit | seconds | legal a second | peak MB |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, link, options, keep) in cases {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let space = Space::new(&visit(link).state.setup.job, &options).expect("the job has layouts");
        peak_megabytes();
        let (found, took) = run(&space, keep);
        let peak = peak_megabytes().map_or_else(|| "?".to_owned(), |peak| peak.to_string());
        let found = found.counts;
        let seconds = took.as_secs_f64();
        println!(
            "| {name} | {} | {} | {} | {} | {seconds:.2} | {:.0} | {peak} |",
            space.total(),
            found.looked_at,
            found.legal,
            found.legal - found.too_large,
            found.legal as f64 / seconds,
        );
    }
}
