//! The command that makes a record of the run out of the log of the check.

use crate::config::raw::RawJob;
use crate::evidence::{Confidence, Measured, MeasuredStage, submission};
use crate::memory::StageEstimate;
use crate::value::Value;

/// The file that the script writes the log to.
pub(super) const LOG: &str = "check_on_one_gpu.log";

/// What the record says of the way in which it was measured.
const NOTE: &str = "one rank alone, with --fake-process-group";

/// The Python program that adds the measurements.
const PROGRAM: &str = include_str!("record.py");

/// The command. `stages` are the first rank of every pipeline stage and its estimate.
pub(super) fn command(job: &RawJob, stages: &[(u64, &StageEstimate)]) -> String {
    let mut run = submission(job.clone(), Measured::default(), MeasuredStage::At(0));
    run.note = Some(NOTE.to_owned());
    run.confidence = Confidence::A;
    let version = run.predicted.take().map(|predicted| predicted.version);
    let stages = stages.iter().map(|(rank, stage)| {
        let numbers = [*rank, stage.steady.0, stage.total.0];
        Value::List(numbers.map(|number| Value::Int(number.into())).into())
    });
    let given = [
        ("version", Value::Text(version.unwrap_or_default())),
        ("stages", Value::List(stages.collect())),
        ("record", run.to_value()),
    ];
    let given = Value::Map(given.map(|(key, value)| (key.to_owned(), value)).into());
    format!(
        "# A record of the run, to be submitted.\n\
         python -c '\n{PROGRAM}' {LOG} <<'RECORD'\n{given}\nRECORD\n"
    )
}
