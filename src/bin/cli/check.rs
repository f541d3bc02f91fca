//! `check`: whether jobs fit the GPU.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::gpus;
use megatron_memory::config::job::Config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::diagnosis::diagnose;
use megatron_memory::export::json;
use megatron_memory::fit::{self, Offer};
use megatron_memory::formats::out_of_memory::OutOfMemory;
use megatron_memory::formats::share_url;
use megatron_memory::memory::bucket::Bucket;
use megatron_memory::memory::reserved::reserved;
use megatron_memory::memory::{self, Estimate, JobMoment};
use megatron_memory::report::amount::{Scale, Unit, grouped};
use megatron_memory::report::card::layout_words;
use megatron_memory::report::diagnosis::message::of_message;
use megatron_memory::report::offers::OfferRow;
use megatron_memory::report::summary::{Standing, Verdict, stage_name};
use megatron_memory::units::{Bytes, MIB};
use megatron_memory::value::Value;
use megatron_memory::verdict::Refusal;
use megatron_memory::{config, report};
use serde::Serialize;

use super::amount::amount;
use super::exit::{Failure, Status};
use super::job::{JobOptions, Loaded};
use super::output;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The jobs: files of any kind that the page imports, - for the standard input, links, or presets
    #[arg(value_name = "JOB", required = true, value_hint = ValueHint::FilePath)]
    jobs: Vec<String>,
    #[command(flatten)]
    options: JobOptions,
    /// The most that the device may show, in place of the GPU's memory, such as 76GiB
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    max: Option<Bytes>,
    /// Refuse jobs that fit only with the smallest overheads
    #[arg(long)]
    strict: bool,
    /// Print a list of results as JSON
    #[arg(long)]
    json: bool,
    /// A file to write the results to as a Markdown table, such as a comment on a change
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    markdown: Option<PathBuf>,
}

/// The result for one job. Amounts are in bytes.
#[derive(Debug, Serialize)]
struct Report {
    /// Where the job is.
    job: String,
    /// The verdict, as the exit status has it.
    verdict: &'static str,
    /// Who refuses the job: Megatron's rules, its schedule, or its launcher.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_by: Option<&'static str>,
    /// The verdict in words.
    reason: String,
    /// The exit status that this job alone would have.
    exit_status: u8,
    /// The part of the result that a job with problems does not have.
    #[serde(flatten)]
    memory: Option<Memory>,
    /// What an out-of-memory error in the text comes from, and what would make the job fit.
    explanation: Vec<String>,
    /// Messages: the rules that the job breaks, its settings that are not modelled, or open questions of the text.
    problems: Vec<String>,
    /// The job as a link: the part of the calculator's address from the #.
    link: Option<String>,
}

/// The memory of a job, in bytes.
#[derive(Debug, Serialize)]
struct Memory {
    /// The largest peak of a rank, as `torch.cuda.max_memory_allocated` reports it.
    peak_bytes: u64,
    /// The least that the device may show at that peak.
    device_bytes_low: u64,
    /// The most that the device may show.
    device_bytes_high: u64,
    /// The most that it may show: the GPU's memory, or `--max`.
    limit_bytes: Option<u64>,
    /// The type of the GPUs; none where it is not known.
    gpu: Option<&'static str>,
    /// How many GPUs, and how the model is laid out on them, in words.
    layout: String,
    /// The stage with the largest peak.
    worst_stage: String,
    /// Its largest parts at the peak, by the names of the buckets.
    largest_parts: Vec<LargestPart>,
    /// Memory that PyTorch's allocator holds there at its most, the object that `estimate --json` prints; `null` where the
    /// allocator is not replayed. The verdict does not use it.
    reserved: Option<Value>,
    /// `reserved` in words.
    #[serde(skip)]
    reserved_words: Option<String>,
}

/// A part of a stage's memory at its peak.
#[derive(Debug, Serialize)]
struct LargestPart {
    name: &'static str,
    bytes: u64,
}

/// The parts that are named of the fullest stage.
const NAMED_PARTS: usize = 3;

/// The name of the job's GPUs.
fn gpu(config: &Config) -> Option<&'static str> {
    let id = config.modules().first()?.args().gpu.as_deref()?;
    gpus::by_id(id).map(|gpu| gpu.name)
}

/// The largest buckets of the fullest stage.
fn largest_parts(estimate: &Estimate) -> Vec<LargestPart> {
    let stage = estimate.worst_stage();
    let buckets = stage
        .into_iter()
        .flat_map(|stage| Bucket::ALL.map(|bucket| (bucket, stage.bytes(bucket))));
    let mut parts: Vec<(Bucket, Bytes)> = buckets.filter(|(_, bytes)| *bytes > Bytes::ZERO).collect();
    parts.sort_by_key(|(_, bytes)| core::cmp::Reverse(*bytes));
    let named = parts.into_iter().take(NAMED_PARTS);
    named
        .map(|(bucket, bytes)| LargestPart {
            name: bucket.label(),
            bytes: bytes.0,
        })
        .collect()
}

/// An out-of-memory error with what is said of it.
fn of_error(error: &OutOfMemory, sentences: &[String]) -> String {
    format!("out of memory, line {}: {}", error.line, sentences.join(" "))
}

/// What the out-of-memory errors of a text come from, and for a job that does not surely fit, the first
/// change with which it fits.
fn explain(
    config: &Config,
    estimate: &Estimate,
    job: &RawJob,
    errors: &[OutOfMemory],
    verdict: Verdict,
) -> Vec<String> {
    let mut lines = Vec::new();
    for error in errors {
        let found = diagnose(error, config, estimate);
        lines.push(of_error(error, &report::diagnosis::sentences(error, config, &found)));
    }
    if !matches!(verdict, Verdict::Tight | Verdict::DoesNotFit) {
        return lines;
    }
    let Ok(offers) = fit::offers(job) else {
        return lines;
    };
    let scale = Scale::coarse(Unit::Gib);
    let row = |offer: &Offer| OfferRow::new(offer.clone(), scale);
    lines.extend(match (offers.offers.first(), &offers.closest) {
        (Some(offer), _) => {
            let OfferRow {
                name,
                saves,
                peak,
                cost,
                ..
            } = row(offer);
            Some(format!(
                "first way out: {name} ({saves}, peak {peak}; {cost}); `megatron-memory fit` lists all"
            ))
        }
        (None, Some(closest)) => {
            let OfferRow { name, peak, .. } = row(closest);
            Some(format!(
                "no change and no pair of changes makes it fit; the closest is {name}, peak {peak}"
            ))
        }
        (None, None) => None,
    });
    lines
}

impl Check {
    /// Checks every job.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let reports: Vec<(Status, Report)> = self.jobs.iter().map(|job| self.check(job)).collect();
        if let Some(file) = &self.markdown {
            output::write(&markdown(&reports), Some(file))?;
        }
        if self.json {
            output::json(&reports.iter().map(|(_, report)| report).collect::<Vec<_>>())?;
        } else {
            let reports = reports.iter().map(|(_, report)| report);
            let lines: Vec<String> = reports.map(Report::text).collect();
            output::print_lines(&lines.concat())?;
        }
        let worst = reports.iter().map(|(status, _)| *status).max();
        Ok(worst.unwrap_or(Status::Success))
    }

    fn check(&self, job: &str) -> (Status, Report) {
        let report = |status, verdict, reason| Report::without_memory(job, status, verdict, reason);
        let loaded = match self.options.load(job) {
            Ok(loaded) => loaded,
            Err(failure) => {
                let unread = report(failure.status, "unreadable", failure.message);
                return (failure.status, unread);
            }
        };
        let mut share = loaded.share.clone();
        if let Some(max) = self.max {
            let job = &mut share.setup.job.shared;
            job.set(FieldId::gpu_memory_mib, Value::Int((max.0 / MIB).into()));
        }
        let link = Some(share_url::encode(&share));
        if let Some(open) = Report::of_open_questions(job, &loaded) {
            return (Status::Unreadable, open);
        }
        let checked = config::check(&share.setup.job);
        let Some(config) = &checked.config else {
            let problems = checked.refusals().map(ToString::to_string).collect();
            let verdict = Verdict::Refused(Refusal::ByRules);
            let report = report(
                Status::of(verdict),
                verdict.id().unwrap_or("unknown"),
                verdict.words().to_owned(),
            );
            let way = output::way_to_layouts(&checked.problems);
            return (
                Status::CannotRun,
                Report {
                    explanation: way.map(str::to_owned).into_iter().collect(),
                    problems,
                    link,
                    refused_by: Some(Refusal::ByRules.id()),
                    ..report
                },
            );
        };
        let estimate = memory::estimate(config);
        let by_factors = Standing::by_factors(config, &estimate);
        let reserved = reserved(config, &estimate.worst_rank, JobMoment::default());
        let summary = by_factors.settled_by(config, &estimate, reserved.as_ref());
        let verdict = summary.verdict;
        let status = match verdict {
            Verdict::Tight if self.strict => Status::DoesNotFit,
            verdict => Status::of(verdict),
        };
        let scale = Scale::coarse(Unit::Gib);
        let (low, high) = summary.device;
        let limit = summary.gpu.map_or_else(
            || "; --gpu or --max says what it may be".to_owned(),
            |gpu| format!(", of {}", gpu.words(low, scale)),
        );
        let reason = format!(
            "{}: {} allocated, {} to {} on the device{limit}",
            verdict.words(),
            scale.amount(summary.total),
            scale.number(low),
            scale.amount(high),
        );
        let refused_by = config.refused_by().map(Refusal::id);
        let refused = config.refused_at_launch().iter().cloned();
        let marks = config.not_modelled().iter().map(ToString::to_string);
        let problems = refused.chain(marks).collect();
        let reserved = reserved.map(|range| (range, by_factors.by_replay(config, &estimate, &range)));
        let memory = Memory {
            peak_bytes: summary.total.0,
            device_bytes_low: low.0,
            device_bytes_high: high.0,
            limit_bytes: summary.gpu_memory().map(|gpu| gpu.0),
            gpu: gpu(config),
            layout: format!("{} GPUs · {}", grouped(config.world_size()), layout_words(config)),
            worst_stage: stage_name(config, summary.worst),
            largest_parts: largest_parts(&estimate),
            reserved: reserved
                .as_ref()
                .map(|(range, by_replay)| json::reserved_on_device(range, by_replay)),
            reserved_words: reserved
                .as_ref()
                .map(|(range, by_replay)| report::reserved::sentences(range, by_replay, Scale::coarse(Unit::Gib))),
        };
        let report = report(status, verdict.id().unwrap_or("unknown"), reason);
        let explanation = explain(config, &estimate, &share.setup.job, &loaded.errors, verdict);
        let memory = Some(memory);
        (
            status,
            Report {
                refused_by,
                memory,
                explanation,
                problems,
                link,
                ..report
            },
        )
    }
}

impl Report {
    /// The result for a job without an estimate.
    fn without_memory(job: &str, status: Status, verdict: &'static str, reason: String) -> Self {
        Self {
            job: job.to_owned(),
            verdict,
            refused_by: None,
            reason,
            exit_status: status as u8,
            memory: None,
            explanation: Vec::new(),
            problems: Vec::new(),
            link: None,
        }
    }

    /// The result for a text that leaves questions open, with what its out-of-memory errors say by themselves; `None` for
    /// others.
    fn of_open_questions(job: &str, loaded: &Loaded) -> Option<Self> {
        let problems = loaded.open_questions();
        let reason = "The text leaves questions open".to_owned();
        let explanation = loaded.errors.iter().map(|error| of_error(error, &of_message(error)));
        (!problems.is_empty()).then(|| Self {
            explanation: explanation.collect(),
            problems,
            ..Self::without_memory(job, Status::Unreadable, "open_questions", reason)
        })
    }

    /// The result in words, with a line for each problem.
    fn text(&self) -> String {
        let lines = [format!("{}: {}", self.job, self.reason)];
        let scale = Scale::coarse(Unit::Gib);
        let fullest = self.memory.as_ref().map(|memory| {
            let parts = memory.largest_parts.iter();
            let parts: Vec<String> = parts
                .map(|part| format!("{} {}", part.name, scale.amount(Bytes(part.bytes))))
                .collect();
            format!("fullest: {}; {}", memory.worst_stage, parts.join(", "))
        });
        let place = self.memory.as_ref().map(|memory| {
            let gpu = memory.gpu.map(|gpu| format!("{gpu}, ")).unwrap_or_default();
            gpu + &memory.layout
        });
        // What leads on stands behind what a job is refused for.
        let (first, then) = match self.memory {
            Some(_) => (&self.explanation, &self.problems),
            None => (&self.problems, &self.explanation),
        };
        let reserved = self.memory.as_ref().and_then(|memory| memory.reserved_words.as_ref());
        let below = place.iter().chain(&fullest).chain(reserved).chain(first).chain(then);
        let below = below.map(|line| format!("  {line}"));
        let lines: Vec<String> = lines.into_iter().chain(below).collect();
        lines.join("\n") + "\n"
    }
}

/// The results as a table in Markdown.
fn markdown(reports: &[(Status, Report)]) -> String {
    let mut text = "| Job | Verdict | Peak | On the device | Stage |\n| --- | --- | ---: | ---: | --- |\n".to_owned();
    let scale = Scale::coarse(Unit::Gib);
    for (_, report) in reports {
        let job = report.job.replace('|', "\\|");
        let verdict = report.verdict.replace('_', " ");
        let row = if let Some(memory) = &report.memory {
            format!(
                "| `{job}` | {verdict} | {} | {} to {} | {} |\n",
                scale.amount(Bytes(memory.peak_bytes)),
                scale.number(Bytes(memory.device_bytes_low)),
                scale.amount(Bytes(memory.device_bytes_high)),
                memory.worst_stage,
            )
        } else {
            let reason = report.problems.is_empty().then_some(&report.reason);
            let reasons: Vec<&str> = reason.into_iter().chain(&report.problems).map(String::as_str).collect();
            let reasons = reasons.join("; ").replace(['|', '\n'], " ");
            format!("| `{job}` | {verdict}: {reasons} | | | |\n")
        };
        text.push_str(&row);
    }
    let measured = reports.iter().map(|(_, report)| report);
    let notes = measured.filter(|report| report.memory.is_some()).flat_map(|report| {
        let problems = report.problems.iter();
        problems.map(|problem| format!("\n`{}`: {problem}\n", report.job))
    });
    text.extend(notes);
    text
}
