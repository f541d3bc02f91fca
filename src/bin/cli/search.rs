//! `search`: the parallel layouts of a job.

use clap::Args;
use megatron_memory::memory::savings::Choice;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::search::{Axis, Candidate, Keep, Options, Pick, Slice, Space, search};
use megatron_memory::units::Bytes;
use serde::Serialize;

use super::exit::{Failure, Status};
use super::job::JobArgument;
use super::output;

/// Arguments of `search`.
#[derive(Debug, Args)]
pub(crate) struct SearchLayouts {
    #[command(flatten)]
    job: JobArgument,
    /// The sizes to vary: pp, vpp, tp, cp, ep, etp, mbs, recompute. By default TP and PP, EP where there are experts, and
    /// each other size that the job sets
    #[arg(long, value_delimiter = ',', value_parser = axis)]
    vary: Vec<Axis>,
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
    /// The largest peak of a rank, in bytes.
    peak_bytes: u64,
    /// The least that the device shows, in bytes.
    device_bytes: u64,
    /// The pipeline bubble, in millionths.
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
        let space = Space::new(job, &options).map_err(|why| Failure {
            status: Status::CannotRun,
            message: why.to_string(),
        })?;
        let keep = if self.all { Keep::Legal } else { Keep::Fitting };
        let mut found = search(&space, 0..space.total(), u32::MAX, keep);
        found
            .candidates
            .sort_by(|a, b| match (a.is_before(b), b.is_before(a)) {
                (true, false) => core::cmp::Ordering::Less,
                (false, true) => core::cmp::Ordering::Greater,
                _ => a.index.cmp(&b.index),
            });
        let layouts = found
            .candidates
            .iter()
            .take(self.limit)
            .map(|candidate| layout(&space, candidate));
        let layouts: Vec<Layout> = layouts.collect();
        if self.json {
            output::json(&layouts)?;
        } else {
            output::print(&text(&space, &found, &layouts));
        }
        let fits = found.legal > found.too_large;
        Ok(if fits {
            Status::Success
        } else {
            Status::DoesNotFit
        })
    }
}

/// The counts, and a line for each layout.
fn text(space: &Space, found: &Slice, layouts: &[Layout]) -> String {
    let scale = Scale::coarse(Unit::Gib);
    let counts = format!(
        "{} combinations, {} that Megatron runs, {} that fit",
        space.total(),
        found.legal,
        found.legal - found.too_large
    );
    let lines = layouts.iter().map(|layout| {
        format!(
            "{:>10}  {}  bubble {}, recomputes {}",
            scale.amount(Bytes(layout.peak_bytes)),
            layout.sizes,
            percent(layout.pipeline_bubble_ppm),
            percent(layout.recomputed_ppm),
        )
    });
    let lines: Vec<String> = core::iter::once(counts).chain(lines).collect();
    lines.join("\n") + "\n"
}

fn layout(space: &Space, candidate: &Candidate) -> Layout {
    let picks = space.dimensions().iter().zip(space.picks(candidate.index));
    let sizes: Vec<String> = picks
        .map(|(dimension, pick)| match pick {
            Pick::Size(size) => format!("{} {size}", dimension.axis.symbol()),
            Pick::Recompute(choice) => {
                choice.map_or_else(|| "recompute as given".to_owned(), Choice::label)
            }
        })
        .collect();
    Layout {
        sizes: sizes.join(", "),
        peak_bytes: candidate.peak.0,
        device_bytes: candidate.least.0,
        pipeline_bubble_ppm: candidate.bubble_ppm,
        recomputed_ppm: candidate.recomputed_ppm,
    }
}

/// Millionths as a percentage with one decimal.
fn percent(ppm: u64) -> String {
    let tenths = (ppm + 500) / 1_000;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn axis(name: &str) -> Result<Axis, String> {
    let is_named =
        |axis: &Axis| axis.symbol().eq_ignore_ascii_case(name) || axis.field().field().name == name;
    Axis::ALL.into_iter().find(is_named).ok_or_else(|| {
        let known: Vec<String> = Axis::ALL
            .iter()
            .map(|axis| axis.symbol().to_lowercase())
            .collect();
        format!("the sizes are {}", known.join(", "))
    })
}
