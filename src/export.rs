//! Exports of jobs and results as files and links: configurations for other programs, tables, pictures.

mod arguments;
pub mod bridge;
pub mod bridge_recipe;
mod chart_file;
mod export_text;
mod format;
mod heterogeneous;
pub mod json;
mod launcher;
pub mod launcher_changes;
pub mod links;
pub mod megatron_args;
pub mod one_gpu;
pub mod pictures;
mod plot_file;
pub mod provenance;
pub mod rank_map;
pub mod style;
pub mod svg;
pub mod tables;

pub use chart_file::{CHART_WIDTHS, ChartError, ChartOptions, chart_file};
pub use export_text::{ExportError, ExportOptions, export_text};
pub use format::{EmbedView, ExportFormat, LinkForm};
pub use plot_file::{plot_csv, plot_svg};

use thiserror::Error;

use crate::config::fields::FieldId;
use crate::config::job::Config;
use crate::config::not_modelled::NotModelled;
use crate::config::problem::Problem;
use crate::config::raw::RawJob;
use crate::formats::state::ShareState;
use crate::memory::Estimate;
use crate::report::amount::Unit;
use crate::value::Value;
use provenance::{CommentStyle, with_errors, with_marks, with_provenance};

/// A checked job with its estimate.
pub type Outcome<'r> = (&'r Config, &'r Estimate);

/// A format of text that a job can be exported in.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// The format's id, in the JavaScript API and on the command line.
    pub id: &'static str,
    /// The format's name in menus.
    pub label: &'static str,
    /// The extension of the file's name, without the dot.
    pub extension: &'static str,
    /// Whether importing the file gives the whole job again. Other formats lose the settings that they cannot express.
    pub complete: bool,
    comments: CommentStyle,
    writer: Writer,
}

/// The function that writes a format, by what the format holds.
#[derive(Clone, Copy, Debug)]
enum Writer {
    /// A whole job with its result, where it has one.
    Job(fn(&ShareState, Option<Outcome<'_>>) -> String),
    /// The result of a job.
    Result(fn(&Config, &Estimate) -> String),
    /// The result of a job in a unit.
    ResultInUnit(fn(&Config, &Estimate, Unit) -> String),
    /// The settings of one model.
    Model(fn(&RawJob) -> String),
    /// The settings and the result of a job of one model.
    ModelWithResult(fn(&RawJob, &Config, &Estimate) -> String),
}

/// Why a job cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The format holds a result, and the job has none.
    #[error("There is no result to show: the job has problems, which come first.")]
    NoResult,
    /// The format holds one model, and the job has the modules of these names.
    #[error(
        "This format says how one model is trained, and the job has {}. Choose one of them, or a format for whole jobs: \
         JSON or a link.",
        .0.join(" and ")
    )]
    SeveralModules(Vec<String>),
    /// The format is for jobs of one model, and the job has the modules of these names.
    #[error("Megatron-LM's pretrain_gpt.py trains one model, and the job has {}.", .0.join(" and "))]
    OneModelOnly(Vec<String>),
}

impl Export {
    /// Writes the job in this format. `module` is the index of the module to write, for formats that hold one model;
    /// `unit` is the unit of amounts, for formats that people read.
    ///
    /// # Errors
    /// When the format cannot express the job.
    pub fn write(
        &self,
        state: &ShareState,
        module: Option<usize>,
        result: Option<Outcome<'_>>,
        unit: Unit,
    ) -> Result<String, Refusal> {
        let job = &state.setup.job;
        match self.writer {
            Writer::Job(write) => Ok(write(state, result)),
            Writer::Result(write) => {
                let (config, estimate) = result.ok_or(Refusal::NoResult)?;
                Ok(write(config, estimate))
            }
            Writer::ResultInUnit(write) => {
                let (config, estimate) = result.ok_or(Refusal::NoResult)?;
                Ok(write(config, estimate, unit))
            }
            Writer::ModelWithResult(_) if !job.modules.is_empty() => Err(Refusal::OneModelOnly(names(job))),
            Writer::ModelWithResult(write) => {
                let (config, estimate) = result.ok_or(Refusal::NoResult)?;
                Ok(write(job, config, estimate))
            }
            Writer::Model(write) if job.modules.is_empty() => Ok(write(job)),
            Writer::Model(write) => {
                let one = module.and_then(|index| {
                    let ranks = result.and_then(|(config, _)| config.modules().get(index));
                    let ranks = ranks.map(crate::config::job::Module::ranks);
                    Some((job.modules.get(index)?, job_of_module(job, index, ranks)?))
                });
                let (module, one) = one.ok_or_else(|| Refusal::SeveralModules(names(job)))?;
                let (name, count) = (&module.name, job.modules.len());
                let name: String = name.chars().filter(|c| !c.is_control()).collect();
                Ok(format!("# Only {name}, one of {count} modules.\n{}", write(&one)))
            }
        }
    }

    /// A text of this format after a comment that lists the errors of the job. Formats without comments stay as they
    /// are.
    #[must_use]
    pub fn with_errors(&self, text: &str, problems: &[Problem]) -> String {
        with_errors(self.comments, text, problems)
    }

    /// A text of this format after a comment that names what of the job is not modelled. Formats without comments stay
    /// as they are.
    #[must_use]
    pub fn with_marks(&self, text: &str, marks: &[NotModelled]) -> String {
        with_marks(self.comments, text, marks)
    }

    /// A text of this format with a comment that names the version that made it and the link of the job. Formats
    /// without comments stay as they are.
    #[must_use]
    pub fn with_provenance(&self, text: &str, link: &str) -> String {
        with_provenance(self.comments, text, link)
    }

    /// Whether the format holds one model, so that a job with several modules needs one chosen.
    #[must_use]
    pub fn is_of_one_model(&self) -> bool {
        matches!(self.writer, Writer::Model(_))
    }
}

/// The names of the job's modules.
fn names(job: &RawJob) -> Vec<String> {
    let names = job.modules.iter().map(|module| module.name.clone());
    names.collect()
}

/// One module as a job of its own, with `ranks` as its world size where they are known.
fn job_of_module(job: &RawJob, index: usize, ranks: Option<u64>) -> Option<RawJob> {
    let module = job.modules.get(index)?;
    let mut shared = job.shared.clone();
    shared.overlay(&module.settings);
    if let Some(ranks) = ranks {
        shared.set(FieldId::world_size, Value::Int(ranks.into()));
    }
    Some(RawJob {
        shared,
        not_modelled: job.not_modelled.clone(),
        ..RawJob::default()
    })
}

/// All formats of text, in the order of the menu.
pub const EXPORTS: &[Export] = &[
    Export {
        id: "json",
        label: "JSON with the result",
        extension: "json",
        complete: true,
        comments: CommentStyle::None,
        writer: Writer::Job(json::write),
    },
    Export {
        id: "megatron_args",
        label: "Megatron-LM flags",
        extension: "sh",
        complete: false,
        comments: CommentStyle::Hash,
        writer: Writer::Model(megatron_args::script),
    },
    Export {
        id: "model_args",
        label: "MODEL_ARGS YAML",
        extension: "yaml",
        complete: false,
        comments: CommentStyle::Hash,
        writer: Writer::Model(megatron_args::yaml),
    },
    Export {
        id: "bridge",
        label: "Megatron-Bridge overrides",
        extension: "txt",
        complete: false,
        comments: CommentStyle::Hash,
        writer: Writer::Model(bridge::overrides),
    },
    Export {
        id: "bridge_recipe",
        label: "Megatron-Bridge recipe",
        extension: "py",
        complete: false,
        comments: CommentStyle::Hash,
        writer: Writer::Model(bridge_recipe::recipe),
    },
    Export {
        id: "one_gpu",
        label: "Check on one GPU",
        extension: "sh",
        complete: false,
        comments: CommentStyle::Hash,
        writer: Writer::ModelWithResult(one_gpu::script),
    },
    Export {
        id: "csv",
        label: "CSV by stage and bucket",
        extension: "csv",
        complete: false,
        comments: CommentStyle::Column,
        writer: Writer::Result(tables::csv),
    },
    Export {
        id: "markdown",
        label: "Markdown table",
        extension: "md",
        complete: false,
        comments: CommentStyle::Markdown,
        writer: Writer::ResultInUnit(tables::markdown),
    },
];
