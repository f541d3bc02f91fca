//! Exports a job as text: a file, or its link in some form.

use thiserror::Error;

use super::{EmbedView, ExportFormat, LinkForm, Refusal, links};
use crate::config::check;
use crate::config::not_modelled::{self, NotModelled};
use crate::config::problem::Problem;
use crate::formats::state::{PresetRef, Setup, ShareState};
use crate::memory::estimate;
use crate::report::amount::{Scale, Unit};
use crate::report::summary::{Standing, stage_name};
use crate::report::verdict;

/// The options of [`export_text`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// The calculator's URL, for links. Its query and fragment are ignored.
    pub page: String,
    /// The name of the module to export. Required where the format holds one model and the job has several modules.
    pub module: Option<String>,
    /// The text of a link, or the title of an embed. By default it names the preset.
    pub label: Option<String>,
    /// The view of an embed.
    pub view: EmbedView,
    /// The unit of amounts in texts and tables for people. Files for programs are in bytes.
    pub unit: Unit,
}

/// Why a job was not exported.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ExportError {
    /// The options name a module that the job does not have.
    #[error("the job has no module {0}")]
    UnknownModule(String),
    /// The format holds a result, and the job has none because of these problems.
    #[error("{}", messages(.0))]
    Invalid(Vec<Problem>),
    /// The format cannot express the job.
    #[error("{0}")]
    Refused(Refusal),
}

/// Writes a job in a format.
///
/// # Errors
/// When the format holds a result and the job has none, or when the format cannot express the job.
pub fn export_text(share: &ShareState, format: ExportFormat, options: &ExportOptions) -> Result<String, ExportError> {
    let page = options.page.split(['#', '?']).next().unwrap_or_default();
    let checked = check(&share.setup.job);
    let estimate = checked.config.as_ref().map(estimate);
    let result = checked.config.as_ref().zip(estimate.as_ref());
    let marks = match &checked.config {
        Some(config) => config.not_modelled().to_vec(),
        None => not_modelled::canonical(&share.setup.job.not_modelled),
    };
    let marks = marks.as_slice();
    let label = || {
        let label = options.label.clone();
        label.unwrap_or_else(|| default_label(&share.setup, checked.config.is_some(), marks))
    };
    let view = options.view.id();
    Ok(match format {
        ExportFormat::File(export) => {
            let module = options.module.as_deref();
            let module = module.map(|name| module_index(share, name)).transpose()?;
            let text = export
                .write(share, module, result, options.unit)
                .map_err(|refusal| match refusal {
                    Refusal::NoResult => ExportError::Invalid(checked.problems.clone()),
                    other => ExportError::Refused(other),
                })?;
            let text = export.with_marks(&text, marks);
            let text = export.with_errors(&text, &checked.problems);
            export.with_provenance(&text, &links::plain(page, share))
        }
        ExportFormat::Link(LinkForm::Plain) => links::plain(page, share) + "\n",
        ExportFormat::Link(LinkForm::Pinned) => links::pinned(page, share) + "\n",
        ExportFormat::Link(LinkForm::Markdown) => links::markdown(page, share, &label()) + "\n",
        ExportFormat::Link(LinkForm::Summary) => {
            let Some((config, estimate)) = result else {
                return Err(ExportError::Invalid(checked.problems));
            };
            let summary = Standing::new(config, estimate);
            let stage = stage_name(config, summary.worst);
            let sentence = summary.sentence(config, Scale::coarse(options.unit));
            let name = options.label.clone();
            let name = name.unwrap_or_else(|| preset_label(&share.setup));
            let text = format!("{name}, {stage}. {sentence}");
            links::with_summary(page, share, &text)
        }
        ExportFormat::Link(LinkForm::Frame) => links::embed(page, share, &label(), view),
        ExportFormat::Link(LinkForm::Element) => links::element(page, share, &label(), view),
    })
}

/// The index of the module with this name.
fn module_index(share: &ShareState, name: &str) -> Result<usize, ExportError> {
    let modules = &share.setup.job.modules;
    let found = modules.iter().position(|module| module.name == name);
    found.ok_or_else(|| ExportError::UnknownModule(name.to_owned()))
}

/// The default of [`ExportOptions::label`]. It says where the job has no number, or only that of another job.
fn default_label(setup: &Setup, is_legal: bool, marks: &[NotModelled]) -> String {
    let name = preset_label(setup);
    match verdict::headline(marks) {
        _ if !is_legal => format!("{name}: cannot run"),
        Some(headline) => format!("{name}. {headline}"),
        None => name,
    }
}

/// What a link leads to, by the preset's name.
fn preset_label(setup: &Setup) -> String {
    let preset = setup.preset.as_ref().and_then(PresetRef::label);
    let model = preset.unwrap_or("a Megatron training job");
    format!("GPU memory of {model}")
}

/// The messages of all problems, joined by semicolons.
pub(super) fn messages(problems: &[Problem]) -> String {
    let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    messages.join("; ")
}
