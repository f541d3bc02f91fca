//! Results on their way out: the same pictures and numbers as on the page, as files.

mod arguments;
pub mod bridge;
pub mod bridge_recipe;
mod chart_file;
mod export_text;
mod format;
pub mod json;
mod launcher;
pub mod links;
pub mod megatron_args;
pub mod one_gpu;
pub mod pictures;
pub mod provenance;
pub mod rank_map;
pub mod style;
pub mod svg;
pub mod tables;

pub use chart_file::{CHART_WIDTHS, ChartError, ChartOptions, chart_file};
pub use export_text::{ExportError, ExportOptions, export_text};
pub use format::{EmbedView, ExportFormat, LinkForm};

use core::fmt;

use crate::config::fields::FieldId;
use crate::config::job::Config;
use crate::config::problem::Problem;
use crate::config::raw::RawJob;
use crate::formats::state::ShareState;
use crate::memory::Estimate;
use crate::value::Value;
use provenance::{Remark, signed, warned};

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
    /// Whether the whole of a job comes back when it is imported; if not, what the format cannot say is lost.
    pub complete: bool,
    remark: Remark,
    text: Text,
}

/// What a text is made of.
#[derive(Clone, Copy, Debug)]
enum Text {
    /// Everything that there is.
    State(fn(&ShareState, Option<Outcome<'_>>) -> String),
    /// The result.
    Result(fn(&Config, &Estimate) -> String),
    /// The settings of one model.
    Model(fn(&RawJob) -> String),
    /// The settings of a job of one model, with the result.
    Measurable(fn(&RawJob, &Config, &Estimate) -> String),
}

/// Why there is no such text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It shows a result, and the job has none.
    NoResult,
    /// It says how one model is trained, and the job has several modules: these.
    SeveralModules(Vec<String>),
    /// It is for jobs of one model alone, and this one has several modules: these.
    OneModelOnly(Vec<String>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoResult => {
                f.write_str("There is no result to show: the job has problems, which come first.")
            }
            Self::SeveralModules(names) => write!(
                f,
                "This format says how one model is trained, and the job has {}. Choose one of them, or \
                 a format for whole jobs: JSON or a link.",
                names.join(" and ")
            ),
            Self::OneModelOnly(names) => write!(
                f,
                "Megatron-LM's pretrain_gpt.py trains one model, and the job has {}.",
                names.join(" and ")
            ),
        }
    }
}

impl Export {
    /// The text. For a format that has no word for modules, `module` chooses one.
    ///
    /// # Errors
    /// When the format cannot say what the job is.
    pub fn write(
        &self,
        state: &ShareState,
        module: Option<usize>,
        result: Option<Outcome<'_>>,
    ) -> Result<String, Refusal> {
        let job = &state.setup.job;
        match self.text {
            Text::State(write) => Ok(write(state, result)),
            Text::Result(write) => {
                let (config, estimate) = result.ok_or(Refusal::NoResult)?;
                Ok(write(config, estimate))
            }
            Text::Measurable(_) if !job.modules.is_empty() => {
                Err(Refusal::OneModelOnly(names(job)))
            }
            Text::Measurable(write) => {
                let (config, estimate) = result.ok_or(Refusal::NoResult)?;
                Ok(write(job, config, estimate))
            }
            Text::Model(write) if job.modules.is_empty() => Ok(write(job)),
            Text::Model(write) => {
                let one = module.and_then(|index| {
                    let ranks = result.and_then(|(config, _)| config.modules().get(index));
                    let ranks = ranks.map(crate::config::job::Module::ranks);
                    Some((job.modules.get(index)?, only(job, index, ranks)?))
                });
                let (module, one) = one.ok_or_else(|| Refusal::SeveralModules(names(job)))?;
                let (name, count) = (&module.name, job.modules.len());
                let name: String = name.chars().filter(|c| !c.is_control()).collect();
                Ok(format!(
                    "# Only {name}, one of {count} modules.\n{}",
                    write(&one)
                ))
            }
        }
    }

    /// A text of this format with a remark of what keeps the job from running, where it has a place for one.
    #[must_use]
    pub fn warned(&self, text: &str, problems: &[Problem]) -> String {
        warned(self.remark, text, problems)
    }

    /// A text of this format with a remark that says which version made it, and from which job.
    #[must_use]
    pub fn signed(&self, text: &str, link: &str) -> String {
        signed(self.remark, text, link)
    }

    /// Whether it can say nothing but how one model is trained.
    #[must_use]
    pub fn is_of_one_model(&self) -> bool {
        matches!(self.text, Text::Model(_))
    }
}

fn names(job: &RawJob) -> Vec<String> {
    let names = job.modules.iter().map(|module| module.name.clone());
    names.collect()
}

/// One module as a job of its own, on its ranks where those are known.
fn only(job: &RawJob, index: usize, ranks: Option<u64>) -> Option<RawJob> {
    let module = job.modules.get(index)?;
    let mut shared = job.shared.clone();
    shared.overlay(&module.settings);
    if let Some(ranks) = ranks {
        shared.set(FieldId::world_size, Value::Int(ranks.into()));
    }
    Some(RawJob {
        shared,
        ..RawJob::default()
    })
}

/// Every text export, in the order of the menu.
pub const EXPORTS: &[Export] = &[
    Export {
        id: "json",
        label: "JSON with the result",
        extension: "json",
        complete: true,
        remark: Remark::None,
        text: Text::State(json::write),
    },
    Export {
        id: "megatron_args",
        label: "Megatron-LM flags",
        extension: "sh",
        complete: false,
        remark: Remark::Hash,
        text: Text::Model(megatron_args::script),
    },
    Export {
        id: "model_args",
        label: "MODEL_ARGS YAML",
        extension: "yaml",
        complete: false,
        remark: Remark::Hash,
        text: Text::Model(megatron_args::yaml),
    },
    Export {
        id: "bridge",
        label: "Megatron-Bridge overrides",
        extension: "txt",
        complete: false,
        remark: Remark::Hash,
        text: Text::Model(bridge::overrides),
    },
    Export {
        id: "bridge_recipe",
        label: "Megatron-Bridge recipe",
        extension: "py",
        complete: false,
        remark: Remark::Hash,
        text: Text::Model(bridge_recipe::recipe),
    },
    Export {
        id: "one_gpu",
        label: "Check on one GPU",
        extension: "sh",
        complete: false,
        remark: Remark::Hash,
        text: Text::Measurable(one_gpu::script),
    },
    Export {
        id: "csv",
        label: "CSV by stage and bucket",
        extension: "csv",
        complete: false,
        remark: Remark::None,
        text: Text::Result(tables::csv),
    },
    Export {
        id: "markdown",
        label: "Markdown table",
        extension: "md",
        complete: false,
        remark: Remark::Markdown,
        text: Text::Result(tables::markdown),
    },
];
