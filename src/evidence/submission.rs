//! Runs that readers measure and submit: the record of a job with measured numbers, and what is checked before it is
//! taken.

use std::collections::BTreeMap;

use super::compare::compare;
use super::record::FieldError;
use super::run::{Confidence, Measured, MeasuredStage, Predicted, Run};
use crate::config::fields::FieldId;
use crate::config::raw::RawJob;
use crate::config::{check, gpus};
use crate::memory::JobMoment;
use crate::units::{Bytes, MIB};
use crate::value::Value;

/// The group of submitted runs.
pub const SUBMITTED: &str = "Submitted";

/// A job with the numbers that were measured on one of its pipeline stages, as a run to submit.
///
/// Fields that neither says have values to start from: the model is described by its sizes, the hardware is the job's
/// GPU, and `source` is empty, which [`mistakes`] reports until it is the URL where the numbers are published.
#[must_use]
pub fn submission(job: RawJob, measured: Measured, stage: MeasuredStage) -> Run {
    let size = |id| job.number(0, id);
    let layers = size(FieldId::num_layers).unwrap_or_default();
    let hidden = size(FieldId::hidden_size).unwrap_or_default();
    let experts = size(FieldId::num_experts).map(|experts| format!(", {experts} experts"));
    let experts = experts.unwrap_or_default();
    let gpus = size(FieldId::world_size);
    let gpu = match job.shared.get(FieldId::gpu) {
        Some(Value::Text(id)) => gpus::by_id(id),
        _ => None,
    };
    let from_allocator = measured.steady_allocated.or(measured.peak_allocated);
    let on_gpus = gpus.map(|gpus| format!("-{gpus}gpus")).unwrap_or_default();
    let mut run = Run {
        id: format!("submitted:{layers}x{hidden}{on_gpus}"),
        group: SUBMITTED.to_owned(),
        model: format!("{layers} layers of {hidden}{experts}"),
        source: String::new(),
        hardware: gpu.map(|gpu| gpu.name.to_owned()),
        gpus,
        gpus_inferred: false,
        software: BTreeMap::new(),
        confidence: match from_allocator {
            Some(_) => Confidence::A,
            None => Confidence::C,
        },
        measured,
        stage: Some(stage),
        job: Some(Box::new(job)),
        out_of_scope: None,
        moment: JobMoment::default(),
        stack: None,
        stale: None,
        assumed: None,
        peak_not_compared: None,
        note: None,
        predicted: None,
    };
    run.predicted = predicted(&run);
    run
}

/// What this version of the calculator predicts for a run; `None` where there is no prediction.
#[must_use]
pub fn predicted(run: &Run) -> Option<Predicted> {
    let compared = compare(run)?;
    Some(Predicted {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        steady_allocated: compared.steady,
        peak_allocated: compared.peak,
    })
}

/// What is wrong with a submitted run, beyond its form.
#[must_use]
pub fn mistakes(run: &Run) -> Vec<FieldError> {
    let mut found = Vec::new();
    let mut wrong = |field: &str, rule: String| {
        found.push(FieldError {
            field: field.to_owned(),
            rule,
        });
    };
    if !run.source.starts_with("https://") && !run.source.starts_with("http://") {
        let example = "https://github.com/someone/logs/blob/0123abcd/llama3-8b.log";
        wrong(
            "source",
            format!("must be the URL where the numbers are published, such as {example}"),
        );
    }
    let m = &run.measured;
    let amounts = [
        ("measured.steady_allocated", m.steady_allocated),
        ("measured.peak_allocated", m.peak_allocated),
        ("measured.peak_reserved", m.peak_reserved),
        ("measured.peak_device", m.peak_device),
        ("measured.peak_unspecified", m.peak_unspecified),
    ];
    let mut given = amounts.iter().filter_map(|(name, bytes)| Some((*name, (*bytes)?)));
    if given.clone().next().is_none() {
        wrong(
            "measured",
            "must have a number, such as {\"peak_allocated\": 57312500000}".to_owned(),
        );
    }
    if let Some((name, Bytes(bytes))) = given.find(|(_, bytes)| *bytes < Bytes::mib(100)) {
        let as_mib = bytes.saturating_mul(MIB);
        wrong(
            name,
            format!("must be in bytes: {bytes} is less than 100 MiB. {bytes} MiB would be {as_mib}"),
        );
    }
    let quantities = amounts.iter().take(4).zip(amounts.iter().skip(1));
    for ((smaller, less), (larger, more)) in quantities.take(3) {
        if let (Some(less), Some(more)) = (less, more)
            && less > more
        {
            wrong(larger, format!("must be at least {smaller}, which is {}", less.0));
        }
    }
    let Some(job) = &run.job else {
        return found;
    };
    if let Some((key, _)) = job.unknown.first() {
        wrong(
            &format!("job.{key}"),
            "is not a field of this calculator; leave it out, or say it in note".to_owned(),
        );
    }
    let checked = check(job);
    for problem in checked.errors() {
        wrong("job", format!("is one that Megatron refuses: {}", problem.message));
    }
    if let Some(config) = &checked.config {
        if let Some(gpus) = run.gpus.filter(|gpus| *gpus != config.world_size()) {
            let world_size = config.world_size();
            wrong("gpus", format!("must be the job's world_size {world_size}, not {gpus}"));
        }
        if run.stage.is_none() {
            wrong(
                "pp_rank",
                "must say which pipeline rank was measured, such as 0".to_owned(),
            );
        } else if compare(run).is_none() {
            let module = config.modules().first();
            let stages = module.map_or(1, |m| m.args().pipeline_model_parallel_size);
            wrong(
                "pp_rank",
                format!("must be a pipeline rank of the job: 0 to {}", stages.saturating_sub(1)),
            );
        }
    }
    found
}
