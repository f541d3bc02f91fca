//! The setting that memory is plotted against.

use leptos::prelude::*;

use super::ViewState;
use megatron_memory::config::fields::FieldId;

/// The id of the title of the panel with the plot.
pub const PLOT_TITLE: &str = "plot-title";

/// The setting that the plot's panel is about; none before the reader asks for one, and nothing is worked out then.
/// Provided as context where there is such a panel.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlottedField(pub RwSignal<Option<FieldId>>);

impl PlottedField {
    /// Plots a setting, and goes to the plot.
    pub fn show(self, view: ViewState, id: FieldId) {
        self.0.set(Some(id));
        view.go_to(PLOT_TITLE);
    }

    /// Whether this setting is plotted.
    #[must_use]
    pub fn is(self, id: FieldId) -> bool {
        self.0.get() == Some(id)
    }
}
