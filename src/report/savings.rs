//! What each way of recomputing or offloading would save, in words.

use super::amount::Scale;
use crate::memory::savings::{Choice, Saving};
use crate::units::Bytes;

/// A row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The choice, whose settings make it so.
    pub choice: Choice,
    /// The choice in words.
    pub name: String,
    /// Whether the job has it now.
    pub current: bool,
    /// What it saves, or why it is refused.
    pub saves: String,
    /// Whether that is nothing, more than now, or refused.
    pub kind: Kind,
    /// The peak of the stage then.
    pub peak: String,
    /// The peak of the fullest GPU of all then, and that it does not fit where it does not.
    pub fullest: String,
    /// Whether it does not.
    pub too_large: bool,
    /// What runs a second time, as a part of the forward pass.
    pub again: String,
}

/// How a choice compares with the job as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It needs less.
    Less,
    /// It needs the same.
    Same,
    /// It needs more.
    More,
    /// Megatron refuses it.
    Refused,
}

/// The rows: what fits the GPU first, and of that what saves most.
#[must_use]
pub fn rows(ledger: &[Saving], scale: Scale) -> Vec<Row> {
    let mut ledger: Vec<&Saving> = ledger.iter().collect();
    ledger.sort_by_key(|row| {
        let saved = row.result.as_ref();
        saved.map_or((true, i64::MAX), |saved| (saved.too_large, -saved.saves))
    });
    ledger
        .into_iter()
        .map(|saving| row(saving, scale))
        .collect()
}

fn row(saving: &Saving, scale: Scale) -> Row {
    let mut row = Row {
        choice: saving.choice,
        name: saving.choice.label(),
        current: saving.current,
        saves: String::new(),
        kind: Kind::Refused,
        peak: String::new(),
        fullest: String::new(),
        too_large: false,
        again: String::new(),
    };
    match &saving.result {
        Err(reason) => row.saves.clone_from(reason),
        Ok(saved) => {
            let amount = scale.amount(Bytes(saved.saves.unsigned_abs()));
            (row.kind, row.saves) = match saved.saves {
                0 => (Kind::Same, String::from("nothing")),
                1.. => (Kind::Less, amount),
                _ => (Kind::More, format!("gets worse: {amount} more")),
            };
            row.peak = scale.amount(saved.peak);
            row.fullest = scale.amount(saved.worst);
            row.too_large = saved.too_large;
            if saved.too_large {
                row.fullest.push_str(", does not fit");
            }
            let tenths = saved.recomputed_ppm / 1000;
            row.again = format!("{}.{} %", tenths / 10, tenths % 10);
        }
    }
    row
}
