//! An out-of-memory error without its job: what its amounts alone say, and the usual ways out of where it failed.

use super::cause_of_amounts;
use crate::diagnosis::Cause;
use crate::formats::import::ImportError;
use crate::formats::import_text::ImportTextError;
use crate::formats::out_of_memory::{self, FailedPhase, OutOfMemory};
use crate::memory::COVERED;
use crate::report::amount::{Scale, Unit};
use crate::units::Bytes;

/// Why a text is no job: of one with nothing but an out-of-memory error, what that says.
#[must_use]
pub fn without_job(text: &str, error: &ImportTextError) -> String {
    let Some(mut sentences) = of_text_without_job(text, error) else {
        return error.to_string();
    };
    let next =
        "Beside the script or the arguments of its job, the tensor and changes with which the job fits are named.";
    sentences.push(next.to_owned());
    sentences.join(" ")
}

/// What the first out-of-memory error of a text says that has no job; `None` where the text has no such error, or a job
/// that cannot be imported.
#[must_use]
pub fn of_text_without_job(text: &str, error: &ImportTextError) -> Option<Vec<String>> {
    let ImportTextError::Text(ImportError::NotRecognized | ImportError::Nothing) = error else {
        return None;
    };
    out_of_memory::read(text).first().map(of_message)
}

/// The sentences of a message alone.
#[must_use]
pub fn of_message(error: &OutOfMemory) -> Vec<String> {
    let scale = Scale::fine(Unit::Gib);
    let mut sentences = Vec::new();
    let amount = |bytes: Bytes| scale.amount(bytes);
    let requested = error.requested.map(|printed| amount(printed.bytes));
    let phase = error.phase.map(|phase| format!(", {}", phase.label()));
    let during = phase.unwrap_or_default();
    let of = error.capacity.map(|printed| format!(" of {}", amount(printed.bytes)));
    sentences.push(match requested {
        Some(requested) => format!(
            "Out of memory{during}: {requested} were asked for on a GPU{}.",
            of.unwrap_or_default()
        ),
        None => format!("Out of memory{during}: the message has no amounts."),
    });
    let cause = Cause::of_message(error);
    if cause != Cause::Unknown {
        sentences.push(cause_of_amounts(&cause, scale));
    }
    sentences.push(ways_out(error.phase).to_owned());
    sentences
}

/// The usual ways out of a failure in a phase, by the names of Megatron-LM's arguments.
#[must_use]
pub const fn ways_out(phase: Option<FailedPhase>) -> &'static str {
    match phase {
        None => COVERED,
        Some(FailedPhase::Setup) => {
            "Larger --tensor-model-parallel-size, --pipeline-model-parallel-size or --expert-model-parallel-size leave \
             fewer parameters on a rank; --use-distributed-optimizer shards the optimizer's states."
        }
        Some(FailedPhase::LoadingCheckpoint) => {
            "Megatron's default format, torch_dist, is read into the tensors that are there, the optimizer's moments among \
             them: --no-load-optim leaves those for the first step. Weights of Hugging Face come one whole tensor at a time."
        }
        Some(FailedPhase::SavingCheckpoint) => {
            "Megatron's default format, torch_dist, copies every tensor to the host and makes none on the GPU; other \
             formats gather."
        }
        Some(FailedPhase::Forward | FailedPhase::Backward) => {
            "A smaller micro batch, shorter samples, --recompute-granularity, a larger --context-parallel-size or \
             --tensor-model-parallel-size with --sequence-parallel leave less for the backward pass."
        }
        Some(FailedPhase::Loss) => {
            "Logits grow with the tokens of a micro batch: cap the length of samples, or use a larger \
             --tensor-model-parallel-size or --context-parallel-size, --cross-entropy-loss-fusion, or a loss in chunks \
             where the framework has one."
        }
        Some(FailedPhase::OptimizerStep) => {
            "The first step makes the optimizer's moments: --use-distributed-optimizer, --use-precision-aware-optimizer \
             and --optimizer-cpu-offload with its fraction leave less of them on the GPU."
        }
        Some(FailedPhase::GraphCapture) => {
            "CUDA graphs keep memory pools of their own: expandable segments, or fewer --cuda-graph-modules."
        }
        Some(FailedPhase::WithoutGradients) => {
            "Nothing is kept for a backward pass here: a smaller micro batch or shorter samples need less."
        }
    }
}
