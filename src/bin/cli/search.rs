//! `search`: the parallel layouts of a job.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::Args;
use clap::builder::{PossibleValue, TypedValueParser};
use megatron_memory::config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::report::amount::{Scale, Unit, grouped};
use megatron_memory::search::{Axis, Candidate, GroupKind, Keep, Options, Searcher, Slice, Space, percent};
use megatron_memory::units::Bytes;
use megatron_memory::verdict::{Refusal, Standing, Verdict};
use serde::Serialize;

use super::exit::{Failure, Status};
use super::job::JobArgument;
use super::names::one_of;
use super::output;
use super::progress::Progress;

/// Arguments of `search`.
#[derive(Debug, Args)]
pub(crate) struct SearchLayouts {
    #[command(flatten)]
    job: JobArgument,
    /// What to vary: pp, vpp, tp, cp, ep, etp, mbs, gpus, recompute, train (in full, with adapters, with Megatron
    /// FSDP). By default TP and PP, EP where there are experts, and each other size that the job sets
    #[arg(long, value_delimiter = ',', value_parser = axes(), ignore_case = true, hide_possible_values = true)]
    vary: Vec<Axis>,
    /// The largest value of a size, such as tp=4; may be given several times. By default TP stays within a node
    #[arg(long, value_name = "SIZE=N", value_parser = bound)]
    at_most: Vec<(Axis, u64)>,
    /// List layouts that do not fit the GPU too
    #[arg(long)]
    all: bool,
    /// How many layouts to list
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Print the layouts as JSON
    #[arg(long)]
    json: bool,
}

/// A layout of the list.
#[derive(Debug, Serialize)]
struct Layout {
    /// The sizes that vary, such as `TP 2, PP 16`.
    sizes: String,
    /// Whether it fits, as `check` says it of the layout; none where no GPU is chosen.
    verdict: Option<&'static str>,
    /// The sign of the verdict.
    #[serde(skip)]
    sign: &'static str,
    /// The largest peak of a rank, in bytes.
    peak_bytes: u64,
    /// The least that the device shows, in bytes.
    device_bytes: u64,
    /// Whether adapters alone are trained.
    trains_adapters: bool,
    /// Whether it is the job's own layout.
    own: bool,
    /// GPUs of the job.
    gpus: u64,
    /// GPUs of one model replica.
    gpus_per_replica: u64,
    /// Groups inside layers that leave the node or `NVLink` domain, such as `EP`.
    crossing_groups: Vec<&'static str>,
    /// Bytes that one GPU sends in one step to GPUs of its own node or `NVLink` domain.
    near_bytes: u64,
    /// Bytes that one GPU sends in one step over the network.
    network_bytes: u64,
    /// The pipeline bubble: waiting time over working time, in millionths.
    pipeline_bubble_ppm: u64,
    /// Recomputed operations, in millionths of those of the forward pass.
    recomputed_ppm: u64,
}

impl SearchLayouts {
    /// Lists the layouts.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let loaded = self.job.load()?;
        loaded.complete()?;
        let job = &loaded.share.setup.job;
        let mut options = Options::usual(job);
        if !self.vary.is_empty() {
            options.vary.clone_from(&self.vary);
        }
        options
            .at_most
            .retain(|(of, _)| !self.at_most.iter().any(|(axis, _)| axis == of));
        options.at_most.extend(&self.at_most);
        let space = Space::new(job, &options).map_err(|why| Failure {
            status: Status::CannotRun,
            message: why.to_string(),
        })?;
        let keep = if self.all { Keep::Legal } else { Keep::Fitting };
        let progress = Progress::new(space.total());
        let mut found = search_on_all_cores(&space, keep, &progress);
        found.candidates.sort_by(Candidate::order);
        let own = space.own_candidate();
        let layouts = found
            .candidates
            .iter()
            .take(self.limit)
            .map(|candidate| layout(&space, candidate, own.as_ref()));
        let layouts: Vec<Layout> = layouts.collect();
        if self.json {
            output::json(&layouts)?;
        } else {
            output::print_lines(&(standing(job) + &text(&space, &found, &layouts, own.as_ref())))?;
        }
        if progress.is_interrupted() {
            eprintln!(
                "Interrupted: {}. These are the layouts found until then.",
                progress.words()
            );
            return Ok(Status::Interrupted);
        }
        Ok(Status::of(best(&space, &found)))
    }
}

/// How many jobs a thread checks before it tells how far it is, and looks whether the user has seen enough.
const STEPS: u32 = 512;

/// Searches a space with a thread for each core, until the end or an interruption.
fn search_on_all_cores(space: &Space, keep: Keep, progress: &Progress) -> Slice {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let shares = Mutex::new(space.shares());
    let work = &|worker| {
        // A worker that panics ends the whole search, whatever state the shares are in.
        let next = || {
            let shares = shares.lock();
            shares.unwrap_or_else(PoisonError::into_inner).next_for(worker)
        };
        let mut found = Slice::default();
        let mut searcher = Searcher::default();
        while let Some(mut share) = next() {
            while !share.is_empty() && !progress.is_interrupted() {
                let part = searcher.search(space, share.clone(), STEPS, keep);
                let until = part.next.unwrap_or(share.end);
                progress.advance(until - share.start);
                share.start = until;
                found.join(&part);
            }
        }
        found
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|worker| scope.spawn(move || work(worker))).collect();
        progress.show_until(|| workers.iter().all(thread::ScopedJoinHandle::is_finished));
        let mut found = Slice::default();
        for worker in workers {
            match worker.join() {
                Ok(part) => found.join(&part),
                Err(panic) => resume_unwind(panic),
            }
        }
        found
    })
}

/// The best verdict on any layout that was found.
fn best(space: &Space, found: &Slice) -> Verdict {
    let verdicts = found.candidates.iter().map(|layout| space.verdict(layout));
    verdicts.min().unwrap_or(Verdict::DoesNotFit)
}

/// What `check` says of the job as it is, in a line.
fn standing(job: &RawJob) -> String {
    let scale = Scale::coarse(Unit::Gib);
    let checked = config::check(job);
    let sentence = if let Some(config) = &checked.config {
        Standing::of(config).sentence(config, scale)
    } else {
        let refused: Vec<String> = checked.refusals().map(ToString::to_string).collect();
        format!("{}: {}", Verdict::Refused(Refusal::ByRules).words(), refused.join("; "))
    };
    format!("The job as it is: {sentence}\n")
}

/// The counts, and a line for each layout.
fn text(space: &Space, found: &Slice, layouts: &[Layout], own: Option<&Candidate>) -> String {
    let scale = Scale::coarse(Unit::Gib);
    let counts = match space.gpu_memory() {
        Some(_) => format!(
            "{} combinations, {} whose model states alone do not fit, {} others that Megatron runs, {} that fit{}",
            space.total(),
            found.cannot_fit,
            found.legal,
            found.legal - found.too_large,
            if space.not_modelled().is_empty() {
                ""
            } else {
                " without what is not modelled"
            },
        ),
        None => format!(
            "{} combinations, {} that Megatron runs; no GPU is chosen that they may fit",
            space.total(),
            found.legal
        ),
    };
    let lines = layouts.iter().map(|layout| {
        format!(
            "{:>10} {}  {}  {} per replica, bubble {}, recomputes {}, {} over the network{}{}",
            scale.amount(Bytes(layout.peak_bytes)),
            layout.sign,
            layout.sizes,
            gpus(layout.gpus_per_replica),
            percent(layout.pipeline_bubble_ppm),
            percent(layout.recomputed_ppm),
            scale.amount(Bytes(layout.network_bytes)),
            crossing(&layout.crossing_groups),
            if layout.own { ", the job's own" } else { "" },
        )
    });
    let own = own.map(|own| place(found, own, scale));
    let lines: Vec<String> = [counts].into_iter().chain(own).chain(lines).collect();
    lines.join("\n") + "\n"
}

/// So many GPUs.
fn gpus(count: u64) -> String {
    let noun = if count == 1 { "GPU" } else { "GPUs" };
    format!("{} {noun}", grouped(count))
}

/// A remark on groups that leave the node or `NVLink` domain.
fn crossing(groups: &[&str]) -> String {
    if groups.is_empty() {
        String::new()
    } else {
        format!(", {} across nodes", groups.join(" and "))
    }
}

/// The place of the job's own layout among those that were found, and what the best one gains over it.
fn place(found: &Slice, own: &Candidate, scale: Scale) -> String {
    let before = found.candidates.iter().filter(|c| c.is_before(own)).count();
    let listed = found.candidates.iter().any(|c| c.index == own.index);
    let of = found.candidates.len() + usize::from(!listed);
    let place = format!("the job's own layout is number {} of {of}", before + 1);
    match found.candidates.first() {
        Some(best) if before > 0 => {
            let gains = best.gains_over(own).into_iter();
            let gains: Vec<String> = gains.map(|gain| gain.text(|b| scale.amount(b))).collect();
            format!("{place}; the first one: {}", gains.join(", "))
        }
        _ => place,
    }
}

fn layout(space: &Space, candidate: &Candidate, own: Option<&Candidate>) -> Layout {
    let verdict = space.verdict(candidate);
    Layout {
        sizes: space.sizes(candidate.index),
        verdict: verdict.id(),
        sign: verdict.sign(),
        peak_bytes: candidate.peak.0,
        device_bytes: candidate.least.0,
        trains_adapters: candidate.adapters,
        own: own.is_some_and(|own| own.index == candidate.index),
        gpus: candidate.gpus,
        gpus_per_replica: candidate.replica,
        crossing_groups: candidate.crossing.kinds().map(GroupKind::symbol).collect(),
        near_bytes: candidate.traffic.near.0,
        network_bytes: candidate.traffic.far.0,
        pipeline_bubble_ppm: candidate.bubble_ppm,
        recomputed_ppm: candidate.recomputed_ppm,
    }
}

fn bound(typed: &str) -> Result<(Axis, u64), String> {
    let (name, most) = typed.split_once('=').ok_or("give it as SIZE=N")?;
    let most = most.parse().map_err(|_| format!("{most} is no size"))?;
    Ok((axis(name)?, most))
}

/// What varies, by its symbol or its argument.
fn axes() -> impl TypedValueParser<Value = Axis> {
    let named = |axis: &Axis| PossibleValue::new(axis.symbol().to_lowercase()).alias(axis.field().field().name);
    one_of(Axis::ALL.iter().map(named), |name| axis(name).ok())
}

fn axis(name: &str) -> Result<Axis, String> {
    let is_named = |axis: &Axis| axis.symbol().eq_ignore_ascii_case(name) || axis.field().field().name == name;
    Axis::ALL.into_iter().find(is_named).ok_or_else(|| {
        let known: Vec<String> = Axis::ALL.iter().map(|axis| axis.symbol().to_lowercase()).collect();
        format!("what varies is {}", known.join(", "))
    })
}
