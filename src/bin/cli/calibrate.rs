//! `calibrate`: factors on predicted step times, from runs that were measured.

use clap::{Args, ValueHint};
use megatron_memory::config;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::job::Config;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::{self, Estimate};
use megatron_memory::report::time::{calibration, duration, measured_seconds, no_time};
use megatron_memory::time::{StepTime, calibrate, step_time};
use megatron_memory::value::Value;
use serde::Serialize;

use super::exit::{Failure, Status};
use super::job::JobOptions;
use super::output;

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// The runs, of one model on one kind of GPU in one precision: training logs, or jobs of any kind with --seconds. From
    /// three runs of different layouts on, computing, host and network have a factor each
    #[arg(value_name = "LOG", required = true, value_hint = ValueHint::FilePath)]
    runs: Vec<String>,
    /// Measured seconds of a step, for each run in its order, in place of what its log says
    #[arg(long, value_name = "SECONDS")]
    seconds: Vec<f64>,
    #[command(flatten)]
    options: JobOptions,
    /// Print the calibration as JSON
    #[arg(long)]
    json: bool,
}

/// A measured run.
struct Run {
    place: String,
    job: RawJob,
    config: Config,
    estimate: Estimate,
    seconds: f64,
}

/// The calibration, and what it makes of the runs.
#[derive(Debug, Serialize)]
struct Report {
    /// The value of the setting `step_time_calibration`.
    step_time_calibration: String,
    /// How far off times are with it, in words.
    words: String,
    runs: Vec<Row>,
}

/// A run with its times, in seconds.
#[derive(Debug, Serialize)]
struct Row {
    run: String,
    measured_seconds: f64,
    /// As predicted without the calibration.
    before_seconds: f64,
    /// As predicted with it.
    after_seconds: f64,
}

impl Calibrate {
    /// Prints the factors.
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let runs = self.runs.iter().enumerate();
        let runs = runs.map(|(number, place)| self.read(place, number).map_err(|failure| failure.at(place)));
        let runs: Vec<Run> = runs.collect::<Result<_, _>>()?;
        let given: Vec<_> = runs
            .iter()
            .map(|run| (&run.config, &run.estimate, run.seconds))
            .collect();
        let Some(by) = calibrate(&given) else {
            return Err(Failure::usage(
                "the runs must be of one model on one kind of GPU in one precision",
            ));
        };
        let by = by.to_string();
        let rows = runs
            .iter()
            .map(|run| run.row(&by))
            .collect::<Result<Vec<Row>, Failure>>()?;
        let (config, _, _) = runs
            .first()
            .ok_or_else(|| Failure::usage("there is no run"))?
            .calibrated(&by)?;
        let report = Report {
            words: calibration(&config).unwrap_or_default(),
            step_time_calibration: by,
            runs: rows,
        };
        if self.json {
            output::json(&report)?;
        } else {
            output::print(&report.text())?;
        }
        Ok(Status::Success)
    }

    /// Reads the run at a place, which has this number, counted from 0.
    ///
    /// # Errors
    /// When it cannot be read, no time is known, or none is predicted for its job; the message does not name the place.
    fn read(&self, place: &str, number: usize) -> Result<Run, Failure> {
        let loaded = self.options.load(place)?;
        loaded.complete()?;
        let measured = loaded.import.as_ref().and_then(|import| import.measured.as_ref());
        let measured = measured.and_then(|measured| measured.iterations.as_ref());
        let seconds = self.seconds.get(number).copied().or(measured.map(measured_seconds));
        let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
        let seconds = seconds.ok_or_else(|| {
            Failure::usage("no line of it has the time of an iteration; give it with --seconds SECONDS")
        })?;
        let job = loaded.share.setup.job.clone();
        let checked = config::check(&job);
        let Some(config) = checked.config else {
            return Err(Failure::cannot_run(&checked.problems));
        };
        let estimate = memory::estimate(&config);
        step_time(&config, &estimate).map_err(|why| Failure::usage(no_time(&why)))?;
        Ok(Run {
            place: place.to_owned(),
            job,
            config,
            estimate,
            seconds,
        })
    }
}

impl Run {
    /// The run's job with a calibration.
    fn calibrated(&self, by: &str) -> Result<(Config, Estimate, StepTime), Failure> {
        let mut job = self.job.clone();
        for module in 0..job.module_count() {
            job.put(module, FieldId::step_time_calibration, Value::Text(by.to_owned()));
        }
        let checked = config::check(&job);
        let Some(config) = checked.config else {
            return Err(Failure::cannot_run(&checked.problems));
        };
        let estimate = memory::estimate(&config);
        let time = step_time(&config, &estimate).map_err(|why| Failure::usage(no_time(&why)))?;
        Ok((config, estimate, time))
    }

    fn row(&self, by: &str) -> Result<Row, Failure> {
        let before = step_time(&self.config, &self.estimate).map_err(|why| Failure::usage(no_time(&why)))?;
        let (.., after) = self.calibrated(by)?;
        Ok(Row {
            run: self.place.clone(),
            measured_seconds: self.seconds,
            before_seconds: before.seconds,
            after_seconds: after.seconds,
        })
    }
}

impl Report {
    fn text(&self) -> String {
        let rows = self.runs.iter().map(|row| {
            format!(
                "{}: measured {}, predicted {}, {} with the calibration\n",
                row.run,
                duration(row.measured_seconds),
                duration(row.before_seconds),
                duration(row.after_seconds),
            )
        });
        let by = &self.step_time_calibration;
        let first = format!("{}\n", self.words);
        let last = format!("For estimates and searches of this model: --set step_time_calibration=\"{by}\"\n");
        [first].into_iter().chain(rows).chain([last]).collect()
    }
}
