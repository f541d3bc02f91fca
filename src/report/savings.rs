//! The table of the ways of recomputing and offloading activations: the memory that each would save, and its cost.

use super::amount::Scale;
use super::time::longer;
use crate::memory::savings::Choice;
use crate::search::Saving;
use crate::units::Bytes;

/// One way of recomputing or offloading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavingsRow {
    /// The choice, which has the settings.
    pub choice: Choice,
    /// The choice in words.
    pub name: String,
    /// Whether the job has these settings already.
    pub current: bool,
    /// The memory that it saves, or why Megatron refuses it.
    pub saves: String,
    /// How it compares with the job as it is.
    pub kind: Kind,
    /// The stage's peak with it.
    pub peak: String,
    /// The largest peak of any GPU with it, with a remark where that does not fit.
    pub fullest: String,
    /// Whether the largest peak does not fit the GPU.
    pub too_large: bool,
    /// The recomputed operations in percent of those of the forward pass.
    pub again: String,
    /// How much longer or shorter a step gets than in the job as it is; empty where no time is predicted.
    pub step: String,
}

/// How a choice compares with the job as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The choice needs less memory.
    Less,
    /// The choice needs the same memory.
    Same,
    /// The choice needs more memory.
    More,
    /// Megatron refuses the choice.
    Refused,
}

/// The rows of the table: choices that fit the GPU first, then by saved memory, refused choices last.
#[must_use]
pub fn rows(savings: &[Saving], scale: Scale) -> Vec<SavingsRow> {
    let saved_now = savings.iter().find(|saving| saving.current);
    let now = saved_now.and_then(|saving| saving.result.as_ref().ok()?.step_nanoseconds);
    let mut savings: Vec<&Saving> = savings.iter().collect();
    savings.sort_by_key(|row| {
        let saved = row.result.as_ref();
        saved.map_or((true, i64::MAX), |saved| (saved.is_too_large(), -saved.saves))
    });
    savings.into_iter().map(|saving| row(saving, now, scale)).collect()
}

/// The row of a choice, beside a job whose step takes `now` nanoseconds.
fn row(saving: &Saving, now: Option<u64>, scale: Scale) -> SavingsRow {
    let mut row = SavingsRow {
        choice: saving.choice,
        name: saving.choice.label(),
        current: saving.current,
        saves: String::new(),
        kind: Kind::Refused,
        peak: String::new(),
        fullest: String::new(),
        too_large: false,
        again: String::new(),
        step: String::new(),
    };
    match &saving.result {
        Err(reason) => row.saves.clone_from(reason),
        Ok(saved) => {
            let amount = scale.amount(Bytes(saved.saves.unsigned_abs()));
            (row.kind, row.saves) = match saved.saves {
                0 => (Kind::Same, String::from("nothing")),
                1.. => (Kind::Less, amount),
                _ => (Kind::More, format!("+{amount}")),
            };
            row.peak = scale.amount(saved.peak);
            row.fullest = scale.amount(saved.standing.total);
            row.too_large = saved.is_too_large();
            if row.too_large {
                row.fullest.push_str(", does not fit");
            }
            let tenths = saved.recomputed_ppm / 1000;
            row.again = format!("{}.{} %", tenths / 10, tenths % 10);
            row.step = now
                .zip(saved.step_nanoseconds)
                .map_or_else(String::new, |(now, then)| longer(now, then));
        }
    }
    row
}
