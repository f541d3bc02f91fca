//! The training log that the reader brought.

use std::sync::Arc;

use leptos::prelude::*;

use megatron_memory::formats::training_log::{self, LogMeasurements};

/// The id of the title of the panel that shows them.
pub const MEASURED_TITLE: &str = "measured-title";

/// The measurements of the log; none before the reader brings one. Provided as context on the calculator's own page.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeasuredLog(pub RwSignal<Option<Arc<LogMeasurements>>>);

impl MeasuredLog {
    /// Reads a log. Returns whether it has measurements.
    pub fn read(self, text: &str) -> bool {
        let measured = training_log::read(text).measured;
        let is_useful = !measured.is_empty();
        if is_useful {
            self.0.set(Some(Arc::new(measured)));
        }
        is_useful
    }
}
