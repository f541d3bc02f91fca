//! What each way of recomputing or offloading would save.

use serde::Serialize;
use tsify::Tsify;

use crate::api::Exact;
use crate::api::plain_data::PlainData;
use crate::config::raw::RawJob;
use crate::memory::StageRef;
use crate::memory::savings;
use crate::value::Value;

/// What one way of recomputing or offloading would save.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Saving {
    choice: String,
    /// The arguments that make it; `null` means the default.
    #[tsify(type = "Record<string, unknown>")]
    settings: PlainData,
    /// Whether the job has it.
    current: bool,
    /// Less than the job's own peak on that stage; negative where it gets worse. All numbers are `null` where it is refused.
    #[tsify(type = "number | null")]
    saves_bytes: Option<Exact>,
    peak_bytes: Option<Exact>,
    /// The rank that needs most then.
    worst_rank_bytes: Option<Exact>,
    /// What runs a second time, on one GPU in one iteration, in floating-point operations.
    recomputed_flops: Option<Exact>,
    /// The same in millionths of a forward pass.
    recomputed_ppm: Option<Exact>,
    /// Why Megatron refuses it for this job.
    refused: Option<String>,
}

/// What each way would save on a stage.
pub(super) fn ledger(job: &RawJob, at: StageRef) -> Vec<Saving> {
    savings::savings(job, at).iter().map(Saving::from).collect()
}

impl From<&savings::Saving> for Saving {
    fn from(saving: &savings::Saving) -> Self {
        let settings = saving.choice.settings().into_iter();
        let settings = settings.map(|(id, value)| (id.field().name.to_owned(), value));
        let saved = saving.result.as_ref().ok();
        Self {
            choice: saving.choice.label(),
            settings: PlainData(Value::Map(settings.collect())),
            current: saving.current,
            saves_bytes: saved.map(|saved| saved.saves.into()),
            peak_bytes: saved.map(|saved| saved.peak.into()),
            worst_rank_bytes: saved.map(|saved| saved.worst.into()),
            recomputed_flops: saved.map(|saved| saved.recomputed_flops.into()),
            recomputed_ppm: saved.map(|saved| saved.recomputed_ppm.into()),
            refused: saving.result.as_ref().err().cloned(),
        }
    }
}
