//! `search`: the parallel layouts of a job.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum};
use megatron_memory::report::amount::{Scale, Unit, grouped};
use megatron_memory::report::layouts::{SearchHead, closest, counts, group_words};
use megatron_memory::search::{
    Axis, Best, Candidate, GroupKind, Keep, Options, Order, OwnLayout, Room, Searcher, Space, TIE_PERCENT, percent,
    ranks, seconds,
};
use megatron_memory::units::Bytes;
use megatron_memory::value::Value;
use megatron_memory::verdict::Verdict;
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
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        value_parser = axes(),
        ignore_case = true,
        hide_possible_values = true
    )]
    vary: Vec<Axis>,
    /// The largest value of a size, such as tp=4; may be given several times. By default TP stays within a node
    #[arg(long, value_name = "SIZE=N", value_parser = bound)]
    at_most: Vec<(Axis, u64)>,
    /// List layouts that do not fit the GPU too
    #[arg(long)]
    all: bool,
    /// By what layouts that fit are ordered
    #[arg(long, value_enum, default_value_t = By::Time)]
    order: By,
    /// How many layouts to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print the layouts as JSON
    #[arg(long)]
    json: bool,
}

/// The orders of layouts that fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// The predicted time of a step.
    Time,
    /// Recomputation, waiting, exchanged data and the GPUs of a replica.
    Memory,
}

/// A search and what it found. Amounts are in bytes.
#[derive(Debug, Serialize)]
struct Report {
    /// What the search is of.
    search: SearchHead,
    /// The number of combinations.
    combinations: u64,
    /// The number of them that Megatron runs, and whose model states alone are not too large.
    runs: u64,
    /// The number of these that fit even with the largest overheads; none where no GPU is chosen.
    fit: Option<u64>,
    /// The number of these that the factors of reserved over allocated memory leave open: they fit only with the smallest
    /// overheads. Of those that are listed, a replay of PyTorch's allocator tells whether they fit.
    tight: u64,
    /// The number of these that do not fit.
    too_large: u64,
    /// The number of combinations, legal or not, whose model states alone do not fit.
    states_too_large: u64,
    /// The layouts, best first.
    layouts: Vec<Layout>,
    /// Where nothing fits, the layout with the least memory.
    closest: Option<Layout>,
}

/// A layout of the list.
#[derive(Debug, Serialize)]
struct Layout {
    /// The place of the layout in the order, counted from 1. Layouts whose predicted times differ by less than 5 % share
    /// one.
    rank: usize,
    /// The sizes that vary, such as `TP 2, PP 16`.
    sizes: String,
    /// Whether it fits, as `check` says it of the layout; none where no GPU is chosen. A layout that the factors leave open
    /// may be any.
    verdict: Option<&'static str>,
    /// The sign of the verdict.
    #[serde(skip)]
    sign: &'static str,
    /// The group in which it is listed, by its numbers alone and the factors, also where they are those of another job.
    #[serde(skip)]
    room: Room,
    /// Whether it fits, but leaves so little room that it runs slower than predicted.
    nearly_full: bool,
    /// The settings in which the layout differs from the job, as JSON; null stands for a default.
    settings: serde_json::Value,
    /// The largest peak of a rank, in bytes.
    peak_bytes: u64,
    /// The least that the device shows, in bytes.
    device_bytes: u64,
    /// The most that the device shows, in bytes.
    device_bytes_high: u64,
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
    /// The predicted time of a step in nanoseconds; none where the prediction does not follow the job.
    step_nanoseconds: Option<u64>,
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
        options.order = match self.order {
            By::Time => Order::Time,
            By::Memory => Order::Memory,
        };
        let space = Space::new(job, &options).map_err(|why| Failure {
            status: Status::CannotRun,
            message: why.to_string(),
        })?;
        let keep = if self.all { Keep::Legal } else { Keep::Fitting };
        let progress = Progress::new(space.total());
        let own = space.own_candidate();
        let best = search_on_all_cores(&space, keep, &Best::new(self.limit, own), &progress);
        let found = best.counts();
        let layouts = best.layouts().map(|candidate| layout(&space, candidate, own.as_ref()));
        let mut layouts: Vec<Layout> = layouts.collect();
        let candidates: Vec<Candidate> = best.layouts().copied().collect();
        for (layout, rank) in layouts.iter_mut().zip(ranks(&candidates)) {
            layout.rank = rank;
        }
        let scale = Scale::coarse(Unit::Gib);
        let head = SearchHead::new(&space, scale);
        if self.json {
            let closest = found.closest.filter(|_| found.legal == found.too_large);
            output::json(&Report {
                search: head,
                combinations: space.total(),
                runs: found.legal,
                fit: space.gpu_memory().map(|_| found.fitting()),
                tight: found.tight,
                too_large: found.too_large,
                states_too_large: found.cannot_fit,
                layouts,
                closest: closest.map(|closest| layout(&space, &closest, own.as_ref())),
            })?;
        } else {
            let head = head.lines(&space, scale).into_iter();
            let lines = head.chain(text(&space, &best, &layouts));
            output::print_lines(&(lines.collect::<Vec<_>>().join("\n") + "\n"))?;
        }
        if progress.is_interrupted() {
            output::tell(format_args!(
                "Interrupted: {}. These are the layouts found until then.\n",
                progress.words()
            ));
            return Ok(Status::Interrupted);
        }
        Ok(Status::of(best.first().map_or(Verdict::DoesNotFit, |first| {
            space.verdict(&space.settled(*first))
        })))
    }
}

/// How many jobs a thread checks before it tells how far it is, and looks whether the user has seen enough.
const STEPS: u32 = 512;

/// Searches a space with a thread for each core, until the end or an interruption, and adds what they find to what is
/// known before, which is nothing.
fn search_on_all_cores(space: &Space, keep: Keep, before: &Best, progress: &Progress) -> Best {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let shares = Mutex::new(space.shares());
    let work = &|worker| {
        // A worker that panics ends the whole search, whatever state the shares are in.
        let next = || {
            let shares = shares.lock();
            shares.unwrap_or_else(PoisonError::into_inner).next_for(worker)
        };
        let mut found = before.clone();
        let mut searcher = Searcher::default();
        while let Some(mut share) = next() {
            while !share.is_empty() && !progress.is_interrupted() {
                let part = searcher.search(space, share.clone(), STEPS, keep);
                let until = part.next.unwrap_or(share.end);
                progress.advance(until - share.start);
                share.start = until;
                found.add(part);
            }
        }
        found
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|worker| scope.spawn(move || work(worker))).collect();
        progress.show_until(|| workers.iter().all(thread::ScopedJoinHandle::is_finished));
        let mut found = before.clone();
        for worker in workers {
            match worker.join() {
                Ok(part) => found.join(part),
                Err(panic) => resume_unwind(panic),
            }
        }
        found
    })
}

/// The counts, and a line for each layout: those that fit, and after a line those that are tight, and too large.
fn text(space: &Space, best: &Best, layouts: &[Layout]) -> Vec<String> {
    let scale = Scale::coarse(Unit::Gib);
    let found = best.counts();
    let mut lines = vec![format!(
        "{} combinations, {} whose model states alone do not fit; {}",
        grouped(space.total()),
        grouped(found.cannot_fit),
        counts(space, found)
    )];
    let nothing_fits = found.legal == found.too_large;
    match (&found.closest, best.own()) {
        (Some(nearest), _) if nothing_fits => {
            lines.push(closest(space, nearest, scale));
            lines.extend(more_to_vary(space));
        }
        (_, Some(own)) if !nothing_fits => lines.push(place(best, own, scale)),
        _ => {}
    }
    let mut last = Room::Enough;
    for layout in layouts {
        if layout.room != last {
            lines.push(format!("---------- {}", group_words(layout.room, scale)));
        }
        last = layout.room;
        lines.push(format!(
            "{:>3}. {:>10} {}  {}  {}{} per replica, bubble {}, recomputes {}, {} over the network{}{}",
            layout.rank,
            scale.amount(Bytes(layout.peak_bytes)),
            layout.sign,
            layout.sizes,
            layout
                .step_nanoseconds
                .map_or_else(String::new, |step| format!("step {}, ", seconds(step))),
            gpus(layout.gpus_per_replica),
            percent(layout.pipeline_bubble_ppm),
            percent(layout.recomputed_ppm),
            scale.amount(Bytes(layout.network_bytes)),
            crossing(&layout.crossing_groups),
            if layout.own { ", the job's own" } else { "" },
        ));
    }
    let mut in_order = layouts.iter().zip(layouts.iter().skip(1));
    if in_order.any(|(one, next)| one.rank == next.rank) {
        lines.push(format!(
            "Layouts whose predicted steps differ by less than {TIE_PERCENT} % share a rank: they are a tie."
        ));
    }
    lines
}

/// A hint that names the axes which would make layouts smaller and which this search does not vary; `None` where it
/// varies them all.
fn more_to_vary(space: &Space) -> Option<String> {
    let is_varied = |axis: &Axis| space.dimensions().iter().any(|dimension| dimension.axis == *axis);
    let others = [Axis::Recompute, Axis::Training, Axis::Gpus].into_iter();
    let others = others.filter(|axis| !is_varied(axis));
    let names: Vec<String> = others.map(|axis| axis.symbol().to_lowercase()).collect();
    (!names.is_empty()).then(|| format!("Not varied so far, and --vary takes it too: {}", names.join(", ")))
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
fn place(best: &Best, own: &OwnLayout, scale: Scale) -> String {
    let of = best.found() + u64::from(!own.is_listed);
    let place = format!("The job's own layout is number {} of {}", own.before + 1, grouped(of));
    match best.first() {
        Some(first) if own.before > 0 => {
            let gains = first.gains_over(&own.candidate).into_iter();
            let gains: Vec<String> = gains.map(|gain| gain.text(|b| scale.amount(b))).collect();
            format!("{place}; the first one: {}", gains.join(", "))
        }
        _ => place,
    }
}

fn layout(space: &Space, candidate: &Candidate, own: Option<&Candidate>) -> Layout {
    // What the factors leave open is searched as tight, and settled for those that are listed.
    let settled = space.settled(*candidate);
    let verdict = space.verdict(&settled);
    let settings = space.settings(candidate.index).into_iter();
    let settings = settings.map(|(id, value)| (id.field().name.to_owned(), value));
    // A value prints itself as JSON.
    let settings = Value::Map(settings.collect()).to_string();
    Layout {
        rank: 1,
        sizes: space.sizes(candidate.index),
        verdict: verdict.id(),
        sign: verdict.sign(),
        room: candidate.room(),
        nearly_full: candidate.is_nearly_full(),
        settings: serde_json::from_str(&settings).unwrap_or_default(),
        peak_bytes: candidate.peak.0,
        device_bytes: settled.least.0,
        device_bytes_high: settled.most.0,
        trains_adapters: candidate.adapters,
        own: own.is_some_and(|own| own.index == candidate.index),
        gpus: candidate.gpus.into(),
        gpus_per_replica: candidate.replica.into(),
        crossing_groups: candidate.crossing.kinds().map(GroupKind::symbol).collect(),
        near_bytes: candidate.traffic.near.0,
        network_bytes: candidate.traffic.far.0,
        pipeline_bubble_ppm: candidate.bubble_ppm,
        recomputed_ppm: candidate.recomputed_ppm,
        step_nanoseconds: candidate.step_nanoseconds,
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
