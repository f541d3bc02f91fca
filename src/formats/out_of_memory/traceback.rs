//! Python tracebacks above a message: what the job was doing.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::surroundings::{content, prefix};

/// The phase of a job in which an allocation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray, Serialize, Deserialize)]
#[strum(serialize_all = "snake_case")]
pub enum FailedPhase {
    /// It built the model, its gradients or the optimizer.
    Setup,
    /// It loaded a checkpoint.
    LoadingCheckpoint,
    /// It saved a checkpoint.
    SavingCheckpoint,
    /// A forward pass, the loss aside.
    Forward,
    /// It computed logits or the loss.
    Loss,
    /// A backward pass, with what it recomputes.
    Backward,
    /// The optimizer step.
    OptimizerStep,
    /// It captured CUDA graphs.
    GraphCapture,
    /// It evaluated or generated, without gradients.
    WithoutGradients,
}

impl FailedPhase {
    /// The phase in words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Setup => "building the model and the optimizer",
            Self::LoadingCheckpoint => "loading a checkpoint",
            Self::SavingCheckpoint => "saving a checkpoint",
            Self::Forward => "forward pass",
            Self::Loss => "loss",
            Self::Backward => "backward pass",
            Self::OptimizerStep => "optimizer step",
            Self::GraphCapture => "capture of CUDA graphs",
            Self::WithoutGradients => "evaluation or generation",
        }
    }
}

/// One frame: the file, the function, and the line of code below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'t> {
    file: &'t str,
    pub(super) function: &'t str,
    code: &'t str,
}

/// The most lines of a traceback.
const MAX_LINES: usize = 500;

/// The frames of the traceback above the message on a line, the innermost last. Lines of other ranks between them are
/// left out.
pub(super) fn frames<'t>(lines: &[&'t str], message: usize) -> Vec<Frame<'t>> {
    let of_message = lines.get(message).map_or("", |line| prefix(line));
    let above = lines.iter().take(message).rev().take(MAX_LINES);
    let own = above
        .filter(|line| prefix(line) == of_message)
        .map(|line| content(line).trim());
    let mut frames = Vec::new();
    let mut code = "";
    for line in own {
        if line.starts_with("Traceback (most recent call last)") || super::is_message(line) {
            break;
        }
        match frame(line) {
            Some((file, function)) => {
                frames.push(Frame { file, function, code });
                code = "";
            }
            // Marks below the code point at a part of it.
            None if line.starts_with(['^', '~']) => {}
            None => code = line,
        }
    }
    frames.reverse();
    frames
}

/// File and function of `File "model.py", line 7, in forward`.
fn frame(line: &str) -> Option<(&str, &str)> {
    let (file, rest) = line.strip_prefix("File \"")?.split_once('"')?;
    let (_, function) = rest.split_once(", in ")?;
    Some((file, function.trim()))
}

/// A phase, and the frames that show it.
type PhaseRule = (FailedPhase, fn(&Frame<'_>) -> bool);

/// The phase that the frames show. Frames inside a phase may look like another one: a backward pass recomputes forward
/// passes, so what is asked first decides.
pub(super) fn phase(frames: &[Frame<'_>]) -> Option<FailedPhase> {
    let rules: [PhaseRule; 9] = [
        (FailedPhase::SavingCheckpoint, |frame| {
            starts_with_any(frame.function, &["save_checkpoint", "_save_checkpoint", "save_to_path"])
        }),
        (FailedPhase::LoadingCheckpoint, |frame| {
            starts_with_any(
                frame.function,
                &[
                    "load_checkpoint",
                    "_load_checkpoint",
                    "_load_base_checkpoint",
                    "load_weights",
                ],
            )
        }),
        (FailedPhase::GraphCapture, |frame| {
            frame.function.contains("capture")
                || frame.function.contains("make_graphed")
                || frame.code.contains("cuda.graph(")
        }),
        (FailedPhase::OptimizerStep, |frame| {
            let in_optimizer = frame.file.contains("optim") && frame.function.contains("step");
            in_optimizer || frame.code.contains("optimizer.step(") || frame.function.contains("_init_group")
        }),
        (FailedPhase::WithoutGradients, |frame| {
            starts_with_any(
                frame.function,
                &["evaluate", "compute_log_prob", "generate", "forward_only"],
            )
        }),
        (FailedPhase::Backward, |frame| {
            frame.function.starts_with("backward")
                || frame.function.contains("run_backward")
                || frame.code.contains(".backward(")
        }),
        (FailedPhase::Loss, |frame| {
            let names = ["cross_entropy", "loss", "log_prob", "logprob", "entropy", "logits"];
            let has_one = |text: &str| names.iter().any(|name| text.contains(name));
            has_one(frame.function) && frame.function != "forward_step_calc_loss"
                || is_loss_file(frame.file)
                || frame.code.contains("logits.float()")
        }),
        (FailedPhase::Forward, |frame| frame.function.starts_with("forward")),
        (FailedPhase::Setup, |frame| {
            let names = [
                "get_model",
                "setup_model",
                "setup_optimizer",
                "get_megatron_optimizer",
                "model_provider",
                "__init__",
                "_build",
            ];
            starts_with_any(frame.function, &names)
        }),
    ];
    let in_loss = |phase: FailedPhase| phase == FailedPhase::Loss && frames.last().is_some_and(works_on_logits);
    rules
        .into_iter()
        .find(|(phase, holds)| frames.iter().any(holds) || in_loss(*phase))
        .map(|(phase, _)| phase)
}

/// Whether a frame's code works on logits, other than those of a router.
fn works_on_logits(frame: &Frame<'_>) -> bool {
    frame.code.contains("logits") && !frame.file.contains("/moe/")
}

/// Bytes of an element of what a frame's code allocates, where it names the dtype: `val = val.float()`, or
/// `empty_strided_cuda(..., torch.float32)` of compiled code.
pub(super) fn element_bytes(frame: &Frame<'_>) -> Option<u64> {
    let has_one = |names: &[&str]| names.iter().any(|name| frame.code.contains(name));
    if has_one(&["torch.float32", ".float()"]) {
        Some(4)
    } else if has_one(&["torch.bfloat16", "torch.float16", ".bfloat16()", ".half()"]) {
        Some(2)
    } else {
        None
    }
}

fn starts_with_any(text: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}

fn is_loss_file(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    matches!(
        name,
        "loss.py" | "cross_entropy.py" | "ppo_utils.py" | "vocab_parallel_cross_entropy.py" | "fused_cross_entropy.py"
    )
}
