//! The micro batches in flight in each chunk of a stage, and the memory that they keep.

use super::amount::Scale;
use super::charts::Subject;

/// One chunk of the chosen stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlightRow {
    /// The chunk's index, counted from 0.
    pub chunk: String,
    /// The chunk's decoder layers, such as `4 to 7`.
    pub layers: String,
    /// The number of micro batches in flight, at the peak of the forward and backward passes.
    pub alive: String,
    /// The memory that one micro batch keeps.
    pub each: String,
    /// The memory that all of them keep.
    pub all: String,
}

/// The chunks of the chosen stage.
#[must_use]
pub fn rows(subject: &Subject<'_>) -> Vec<InFlightRow> {
    let Some(stage) = subject.estimate.stage(subject.stage) else {
        return Vec::new();
    };
    let scale = Scale::fine(subject.unit);
    let chunks = stage.chunks.iter().zip(&stage.in_flight);
    let rows = chunks.enumerate().map(|(i, (chunk, alive))| InFlightRow {
        chunk: i.to_string(),
        layers: match chunk.layers.len() {
            0 => String::from("none"),
            1 => chunk.layers.start.to_string(),
            _ => format!("{} to {}", chunk.layers.start, chunk.layers.end - 1),
        },
        alive: alive.to_string(),
        each: scale.amount(chunk.kept),
        all: scale.amount(chunk.kept * u64::from(*alive)),
    });
    rows.collect()
}
