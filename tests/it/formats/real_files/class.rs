//! The classes of outcomes.

use serde_json::Value as Json;

use super::rebuild::Answers;
use super::text;

/// The most questions that a user is expected to answer.
const MOST_ANSWERS: usize = 3;

/// What a file's outcome is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A number that nothing marks, after at most three answers.
    Right,
    /// The same after more answers.
    MoreQuestions,
    /// A number that is marked: something in the file changes memory and is not modelled.
    Marked,
    /// A model is asked for that the tests have no `config.json` of.
    AsksModel,
    /// No number: Megatron refuses the settings as well, as `cannot_run` in the facts says.
    CannotRun,
    /// No number, for another reason.
    NoJob,
    /// Refused, and rightly: it is no job of Megatron, as `no_training` in the facts says.
    NoTraining,
    /// Refused with the reason.
    Refused,
}

impl Class {
    pub(crate) const ALL: [(Self, &'static str); 8] = [
        (Self::Right, "right"),
        (Self::MoreQuestions, "right, more questions"),
        (Self::Marked, "marked"),
        (Self::AsksModel, "model asked for"),
        (Self::CannotRun, "cannot run"),
        (Self::NoJob, "no job"),
        (Self::NoTraining, "no such training"),
        (Self::Refused, "refused"),
    ];

    pub(crate) fn of(file: &Json) -> Self {
        let outcome = text(file, "outcome");
        if outcome.starts_with("refused") {
            let is_none = file["no_training"].is_string();
            return if is_none { Self::NoTraining } else { Self::Refused };
        }
        if outcome.starts_with("no job") {
            let cannot = file["cannot_run"].is_string();
            return if cannot { Self::CannotRun } else { Self::NoJob };
        }
        if outcome.starts_with("asks") {
            return Self::AsksModel;
        }
        if outcome.contains("not modelled") {
            return Self::Marked;
        }
        match Answers::of(&file["answers"]).count() {
            ..=MOST_ANSWERS => Self::Right,
            _ => Self::MoreQuestions,
        }
    }
}
