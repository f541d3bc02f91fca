//! Results on their way out: the same pictures and numbers as on the page, as files.

mod arguments;
pub mod bridge;
pub mod json;
pub mod links;
pub mod megatron_args;
pub mod style;
pub mod svg;
pub mod tables;

use crate::config::job::Config;
use crate::formats::state::ShareState;
use crate::memory::Estimate;

/// A checked job with its estimate.
pub type Outcome<'r> = (&'r Config, &'r Estimate);

/// A text that a job can be saved as.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// Name in programs.
    pub id: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// How its file's name ends.
    pub extension: &'static str,
    /// Whether the whole of a plain job comes back when it is imported; if not, what the format cannot say is lost.
    pub complete: bool,
    write: fn(&ShareState, Option<Outcome<'_>>) -> Option<String>,
}

impl Export {
    /// The text; none when it needs a result and there is none.
    #[must_use]
    pub fn write(&self, state: &ShareState, result: Option<Outcome<'_>>) -> Option<String> {
        (self.write)(state, result)
    }
}

/// Every text export, in the order of the menu.
pub const EXPORTS: &[Export] = &[
    Export {
        id: "json",
        label: "JSON with the result",
        extension: "json",
        complete: true,
        write: |state, result| Some(json::write(state, result)),
    },
    Export {
        id: "megatron_args",
        label: "Megatron-LM flags",
        extension: "sh",
        complete: false,
        write: |state, _| Some(megatron_args::script(&state.setup.job)),
    },
    Export {
        id: "model_args",
        label: "MODEL_ARGS YAML",
        extension: "yaml",
        complete: false,
        write: |state, _| Some(megatron_args::yaml(&state.setup.job)),
    },
    Export {
        id: "bridge",
        label: "Megatron-Bridge overrides",
        extension: "txt",
        complete: false,
        write: |state, _| Some(bridge::overrides(&state.setup.job)),
    },
    Export {
        id: "csv",
        label: "CSV by stage and bucket",
        extension: "csv",
        complete: false,
        write: |_, result| result.map(|(config, estimate)| tables::csv(config, estimate)),
    },
    Export {
        id: "markdown",
        label: "Markdown table",
        extension: "md",
        complete: false,
        write: |_, result| result.map(|(config, estimate)| tables::markdown(config, estimate)),
    },
];
