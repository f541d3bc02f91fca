//! For each way of recomputing or offloading activations: the memory that it would save, and the work and time that it
//! would add.

use serde::Serialize;
use tsify::Tsify;

use crate::Exact;
use crate::plain_data::PlainData;
use crate::search::in_seconds;
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::StageRef;
use megatron_memory::search;
use megatron_memory::value::Value;

/// The memory that one way of recomputing or offloading would save.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Saving {
    choice: String,
    /// The arguments that select this way; `null` means the argument's default.
    #[tsify(type = "Record<string, unknown>")]
    settings: PlainData,
    /// Whether the job has these settings already.
    current: bool,
    /// The stage's peak in the job as it is, minus `peak_bytes`; negative where the peak grows. All numbers are `null`
    /// where Megatron refuses the settings.
    #[tsify(type = "number | null")]
    saves_bytes: Option<Exact>,
    peak_bytes: Option<Exact>,
    /// The peak of the rank that needs most with these settings.
    worst_rank_bytes: Option<Exact>,
    /// Floating-point operations that recomputation adds, on one GPU in one iteration.
    recomputed_flops: Option<Exact>,
    /// The recomputed operations in millionths of those of the forward pass.
    recomputed_ppm: Option<Exact>,
    /// The predicted time of a step with these settings, in seconds; `null` where the prediction does not follow the job.
    step_seconds: Option<f64>,
    /// Why Megatron refuses the settings; `null` where it does not.
    refused: Option<String>,
}

/// The savings of every way of recomputing or offloading on a stage.
pub(super) fn ledger(job: &RawJob, at: StageRef) -> Vec<Saving> {
    search::savings(job, at).iter().map(Saving::from).collect()
}

impl From<&search::Saving> for Saving {
    fn from(saving: &search::Saving) -> Self {
        let settings = saving.choice.settings().into_iter();
        let settings = settings.map(|(id, value)| (id.field().name.to_owned(), value));
        let saved = saving.result.as_ref().ok();
        Self {
            choice: saving.choice.label(),
            settings: PlainData(Value::Map(settings.collect())),
            current: saving.current,
            saves_bytes: saved.map(|saved| saved.saves.into()),
            peak_bytes: saved.map(|saved| saved.peak.into()),
            worst_rank_bytes: saved.map(|saved| saved.standing.total.into()),
            recomputed_flops: saved.map(|saved| saved.recomputed_flops.into()),
            recomputed_ppm: saved.map(|saved| saved.recomputed_ppm.into()),
            step_seconds: saved.and_then(|saved| saved.step_nanoseconds).map(in_seconds),
            refused: saving.result.as_ref().err().cloned(),
        }
    }
}
