//! The review of submitted records: what is wrong with them, and what is predicted for them now.

use std::collections::BTreeSet;

use super::compare::{Error, compare};
use super::markdown::{in_mib, percent};
use super::record::{self, FieldError};
use super::run::Run;
use super::submission::{mistakes, predicted};
use crate::units::Bytes;

/// The review of a file of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// The ids of the file's runs that can be taken.
    pub accepted: Vec<String>,
    /// The mistakes, one line each.
    pub mistakes: Vec<String>,
    /// What was measured and is predicted, one line a number, and where the prediction is no longer the record's.
    pub remarks: Vec<String>,
}

/// Reviews the text of a file. `taken` are the ids of the runs that are there already.
#[must_use]
pub fn review(text: &str, taken: &BTreeSet<String>) -> Review {
    let mut review = Review::default();
    let runs = match record::read(text) {
        Ok(runs) => runs,
        Err(error) => {
            review.mistakes.push(error.to_string());
            return review;
        }
    };
    for run in &runs {
        let mut found = mistakes(run);
        if taken.contains(&run.id) || review.accepted.contains(&run.id) {
            found.push(FieldError {
                field: "id".to_owned(),
                rule: format!("must be new: there is a run {0} already. {0}-2 would do", run.id),
            });
        }
        let named = |what: String| format!("{}: {what}", run.id);
        review.remarks.extend(remarks(run).into_iter().map(named));
        if found.is_empty() {
            review.accepted.push(run.id.clone());
        }
        let found = found.iter().map(ToString::to_string);
        review.mistakes.extend(found.map(named));
    }
    review
}

/// The measured numbers of a run with their predictions, and how the prediction differs from the record's.
fn remarks(run: &Run) -> Vec<String> {
    let (Some(now), Some(compared)) = (predicted(run), compare(run)) else {
        return Vec::new();
    };
    let m = &run.measured;
    let measured = [
        ("steady", m.steady_allocated, compared.steady),
        ("peak", m.peak_allocated, compared.peak),
    ];
    let measured = measured.into_iter().filter_map(|(name, measured, predicted)| {
        let measured = measured?;
        let error = percent(Error::new(predicted, measured)?.ppm);
        let (measured, predicted) = (in_mib(measured), in_mib(predicted));
        Some(format!(
            "{name} {measured} MiB measured, {predicted} MiB predicted: {error}"
        ))
    });
    let mut remarks: Vec<String> = measured.collect();
    let Some(then) = &run.predicted else {
        return remarks;
    };
    let numbers = [
        ("steady", then.steady_allocated, now.steady_allocated),
        ("peak", then.peak_allocated, now.peak_allocated),
    ];
    let differs = |before: Bytes, after: Bytes| Error::new(after, before).filter(|error| error.bytes != 0);
    let differences = numbers.into_iter().filter_map(|(name, before, after)| {
        let error = differs(before, after)?;
        let (version, before) = (&then.version, before.0);
        Some(format!(
            "{name} was predicted as {before} bytes by version {version}, {} bytes now: {}",
            after.0,
            percent(error.ppm)
        ))
    });
    remarks.extend(differences);
    remarks
}
