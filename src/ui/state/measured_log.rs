//! The training log that the reader brought.

use std::sync::Arc;

use leptos::prelude::*;

use megatron_memory::formats::training_log::LogMeasurements;

/// The id of the title of the panel that shows them.
pub const MEASURED_TITLE: &str = "measured-title";

/// The measurements of the log; none before the reader brings one. Provided as context on the calculator's own page.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeasuredLog(pub RwSignal<Option<Arc<LogMeasurements>>>);

impl MeasuredLog {
    /// Takes the measurements of a log. Returns whether it has some.
    pub fn take(self, measured: Option<LogMeasurements>) -> bool {
        let is_useful = measured.is_some();
        if is_useful {
            self.0.set(measured.map(Arc::new));
        }
        is_useful
    }
}
