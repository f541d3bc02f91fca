//! Exports a job as text: a file, or its link in some form.

use thiserror::Error;

use super::{EmbedView, ExportFormat, LinkForm, Refusal, links};
use crate::config::check;
use crate::config::problem::Problem;
use crate::formats::state::{PresetRef, Setup, ShareState};
use crate::memory::estimate;
use crate::report::amount::{Scale, Unit};
use crate::report::summary::{Summary, stage_name};

/// What an export leaves to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// The calculator's address, for links; whatever follows `?` or `#` in it is ignored.
    pub page: String,
    /// Name of the module that a format for one model shows; such a format needs it where the job has several modules.
    pub module: Option<String>,
    /// The text of a link, or the title of an embed; named after the preset where it is `None`.
    pub label: Option<String>,
    /// What an embed shows.
    pub view: EmbedView,
}

/// Why a job was not exported.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ExportError {
    /// The options name a module that the job does not have.
    #[error("the job has no module {0}")]
    UnknownModule(String),
    /// The format shows a result, and the job has these problems.
    #[error("{}", messages(.0))]
    Invalid(Vec<Problem>),
    /// The format cannot say what the job is.
    #[error("{0}")]
    Refused(Refusal),
}

/// A job as text in some format.
///
/// # Errors
/// When the format shows a result and the job has none, or when it has no word for what the job is.
pub fn export_text(
    share: &ShareState,
    format: ExportFormat,
    options: &ExportOptions,
) -> Result<String, ExportError> {
    let page = options.page.split(['#', '?']).next().unwrap_or_default();
    let checked = check(&share.setup.job);
    let estimate = checked.config.as_ref().map(estimate);
    let result = checked.config.as_ref().zip(estimate.as_ref());
    let label = || {
        let label = options.label.clone();
        label.unwrap_or_else(|| default_label(&share.setup))
    };
    let view = options.view.id();
    Ok(match format {
        ExportFormat::File(export) => {
            let module = options.module.as_deref();
            let module = module.map(|name| module_index(share, name)).transpose()?;
            let text = export
                .write(share, module, result)
                .map_err(|refusal| match refusal {
                    Refusal::NoResult => ExportError::Invalid(checked.problems.clone()),
                    other => ExportError::Refused(other),
                })?;
            let text = export.warned(&text, &checked.problems);
            export.signed(&text, &links::plain(page, share))
        }
        ExportFormat::Link(LinkForm::Plain) => links::plain(page, share) + "\n",
        ExportFormat::Link(LinkForm::Pinned) => links::pinned(page, share) + "\n",
        ExportFormat::Link(LinkForm::Markdown) => links::markdown(page, share, &label()) + "\n",
        ExportFormat::Link(LinkForm::Summary) => {
            let Some((config, estimate)) = result else {
                return Err(ExportError::Invalid(checked.problems));
            };
            let summary = Summary::new(config, estimate);
            let amount = Scale::coarse(Unit::Gib).amount(summary.total);
            let stage = stage_name(config, summary.worst);
            let verdict = summary.verdict.words();
            let text = format!("{}: {amount} on {stage}. {verdict}.", label());
            links::with_summary(page, share, &text)
        }
        ExportFormat::Link(LinkForm::Frame) => links::embed(page, share, &label(), view),
        ExportFormat::Link(LinkForm::Element) => links::element(page, share, &label(), view),
    })
}

fn module_index(share: &ShareState, name: &str) -> Result<usize, ExportError> {
    let modules = &share.setup.job.modules;
    let found = modules.iter().position(|module| module.name == name);
    found.ok_or_else(|| ExportError::UnknownModule(name.to_owned()))
}

/// The label of a link where the options have none.
fn default_label(setup: &Setup) -> String {
    let preset = setup.preset.as_ref().and_then(PresetRef::label);
    let model = preset.unwrap_or("a Megatron training job");
    format!("GPU memory of {model}")
}

/// The messages of all problems, as one.
pub(super) fn messages(problems: &[Problem]) -> String {
    let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    messages.join("; ")
}
