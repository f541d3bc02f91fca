//! `limits`: how far a job can go on its GPU.

use clap::Args;
use megatron_memory::config;
use megatron_memory::config::job::Config;
use megatron_memory::fit::{self, Limit, Limits};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::ShareState;
use megatron_memory::report::amount::grouped;
use serde::Serialize;

use super::exit::{Failure, Status};
use super::fit::failure;
use super::job::JobArgument;
use super::output;

/// Arguments of `limits`.
#[derive(Debug, Args)]
pub(crate) struct JobLimits {
    #[command(flatten)]
    job: JobArgument,
    /// Print the limits as JSON
    #[arg(long)]
    json: bool,
}

/// The limits of a job, each while all else stays as it is; null where the job fits with no value.
#[derive(Debug, Serialize)]
struct Report {
    /// Whether the longest sequence is the longest sample, which has a micro batch of its own.
    #[serde(skip)]
    is_of_samples: bool,
    /// The longest sequence, in tokens.
    longest_sequence: Option<Row>,
    /// The largest micro batch, in samples.
    largest_micro_batch: Option<Row>,
    /// The fewest GPUs, with the same layout of a replica and the same global batch.
    fewest_gpus: Option<Row>,
}

/// One limit.
#[derive(Debug, Serialize)]
struct Row {
    value: u64,
    /// The value of the job as it is.
    now: u64,
    /// The job with the limit, as a link: the part of the calculator's address from the #.
    link: String,
}

impl JobLimits {
    /// Prints the limits.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let loaded = self.job.load()?;
        loaded.complete()?;
        let job = &loaded.share.setup.job;
        let limits = fit::limits(job).map_err(|why| failure(&why))?;
        let Some(config) = config::check(job).config else {
            return Ok(Status::CannotRun);
        };
        let report = Report::new(&loaded.share, &config, &limits);
        if self.json {
            output::json(&report)?;
        } else {
            output::print_lines(&report.text())?;
        }
        let any = [
            &limits.longest_sequence,
            &limits.largest_micro_batch,
            &limits.fewest_gpus,
        ];
        Ok(if any.iter().any(|limit| limit.is_some()) {
            Status::Success
        } else {
            Status::DoesNotFit
        })
    }
}

impl Report {
    fn new(share: &ShareState, config: &Config, limits: &Limits) -> Self {
        let row = |limit: &Option<Limit>, now: &dyn Fn(usize) -> Option<u64>| {
            let limit = limit.as_ref()?;
            let mut changed = share.clone();
            limit.apply(&mut changed.setup.job);
            Some(Row {
                value: limit.value,
                now: now(limit.module)?,
                link: share_url::encode(&changed),
            })
        };
        let args = |module: usize| Some(config.modules().get(module)?.args());
        Self {
            is_of_samples: fit::longest_sequence_is_of_samples(&share.setup.job),
            longest_sequence: row(&limits.longest_sequence, &|module| Some(args(module)?.seq_length)),
            largest_micro_batch: row(&limits.largest_micro_batch, &|module| {
                Some(args(module)?.micro_batch_size)
            }),
            fewest_gpus: row(&limits.fewest_gpus, &|_| Some(config.world_size())),
        }
    }

    fn text(&self) -> String {
        let longest = if self.is_of_samples {
            "Longest sample in tokens, a micro batch of its own"
        } else {
            "Longest sequence in tokens"
        };
        let lines = [
            (longest, &self.longest_sequence),
            ("Largest micro batch", &self.largest_micro_batch),
            ("Fewest GPUs", &self.fewest_gpus),
        ];
        let lines = lines.map(|(name, row)| match row {
            Some(row) => format!("{name}: {} ({} now)\n", grouped(row.value), grouped(row.now)),
            None => format!("{name}: it fits with none\n"),
        });
        format!("With all else as it is:\n{}", lines.concat())
    }
}
