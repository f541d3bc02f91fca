//! Jobs to texts.

use super::data::{Failure, text, text_option};
use super::job::state;
use crate::config::{Checked, check};
use crate::export::{EXPORTS, Outcome, links};
use crate::formats::state::{PresetRef, Setup, ShareState};
use crate::memory::{Estimate, estimate};
use crate::report::amount::{Scale, Unit};
use crate::report::summary::{Summary, stage_name};
use crate::value::Value;

/// A dressing of the link.
pub(super) struct Dressing {
    pub(super) id: &'static str,
    pub(super) label: &'static str,
    pub(super) extension: &'static str,
}

/// The dressings of the link, in the order of the menu.
pub(super) const DRESSINGS: &[Dressing] = &[
    Dressing {
        id: "link",
        label: "Link",
        extension: "txt",
    },
    Dressing {
        id: "link_pinned",
        label: "Link to this version",
        extension: "txt",
    },
    Dressing {
        id: "link_markdown",
        label: "Link in Markdown",
        extension: "md",
    },
    Dressing {
        id: "link_summary",
        label: "Link with the result",
        extension: "txt",
    },
    Dressing {
        id: "embed",
        label: "Frame for a web page",
        extension: "html",
    },
    Dressing {
        id: "element",
        label: "Element for a web page",
        extension: "html",
    },
];

/// A job as text in one of the formats. `options` may name the `module` that a format for one model is to show, the
/// calculator's address as `page`, a `label`, and the `view` of an embed.
///
/// # Errors
/// A [`Failure`] when there is no such format, or when it cannot say what the job is.
pub fn export_text(job: &Value, format: &str, options: &Value) -> Result<Value, Failure> {
    // A link's own view is no view of an embed.
    let share = match job {
        Value::Map(_) => state(job, &without_view(options))?,
        _ => state(job, options)?,
    };
    let checked = check(&share.setup.job);
    let estimate = checked.config.as_ref().map(estimate);
    let result: Option<Outcome<'_>> = checked.config.as_ref().zip(estimate.as_ref());
    if let Some(export) = EXPORTS.iter().find(|export| export.id == format) {
        let module = match text_option(options, "module")? {
            None => None,
            Some(name) => Some(module(&share, name)?),
        };
        let written = export.write(&share, module, result);
        return match written {
            Ok(written) => {
                let page = before_hash(text_option(options, "page")?.unwrap_or_default());
                let written = export.warned(&written, &checked.problems);
                Ok(text(export.signed(&written, &links::plain(page, &share))))
            }
            Err(crate::export::Refusal::NoResult) => Err(Failure::config(&checked.problems)),
            Err(refusal) => Err(Failure::new("ExportError", refusal.to_string())),
        };
    }
    link(&share, &checked, estimate.as_ref(), format, options)
}

fn without_view(options: &Value) -> Value {
    match options {
        Value::Map(entries) => {
            let kept = entries.iter().filter(|(key, _)| key != "view");
            Value::Map(kept.cloned().collect())
        }
        other => other.clone(),
    }
}

fn module(share: &ShareState, name: &str) -> Result<usize, Failure> {
    let modules = &share.setup.job.modules;
    let found = modules.iter().position(|module| module.name == name);
    found.ok_or_else(|| Failure::new("ExportError", format!("the job has no module {name}")))
}

fn link(
    share: &ShareState,
    checked: &Checked,
    estimate: Option<&Estimate>,
    format: &str,
    options: &Value,
) -> Result<Value, Failure> {
    let page = before_hash(text_option(options, "page")?.unwrap_or_default());
    let label = match text_option(options, "label")? {
        Some(label) => label.to_owned(),
        None => label_of(&share.setup),
    };
    let view = text_option(options, "view")?.unwrap_or("compact");
    if !matches!(view, "full" | "compact" | "bar" | "table" | "timeline") {
        let message = "view must be full, compact, bar, table or timeline";
        return Err(Failure::wrong_type(message));
    }
    Ok(text(match format {
        "link" => links::plain(page, share) + "\n",
        "link_pinned" => links::pinned(page, share) + "\n",
        "link_markdown" => links::markdown(page, share, &label) + "\n",
        "link_summary" => {
            let result = checked.config.as_ref().zip(estimate);
            let Some((config, estimate)) = result else {
                return Err(Failure::config(&checked.problems));
            };
            let summary = Summary::new(config, estimate);
            let amount = Scale::coarse(Unit::Gib).amount(summary.total);
            let place = stage_name(config, summary.worst);
            let verdict = summary.verdict.words();
            links::with_summary(
                page,
                share,
                &format!("{label}: {amount} on {place}. {verdict}."),
            )
        }
        "embed" => links::embed(page, share, &label, view),
        "element" => links::element(page, share, &label, view),
        _ => {
            let texts = EXPORTS.iter().map(|export| export.id);
            let known: Vec<&str> = texts.chain(DRESSINGS.iter().map(|d| d.id)).collect();
            let message = format!(
                "no format is called {format}; there are {}",
                known.join(", ")
            );
            return Err(Failure::new("ExportError", message));
        }
    }))
}

/// The calculator's own address, without what a visit adds.
fn before_hash(page: &str) -> &str {
    page.split(['#', '?']).next().unwrap_or_default()
}

/// What a job is called where nobody names it.
fn label_of(setup: &Setup) -> String {
    let preset = setup.preset.as_ref().and_then(PresetRef::label);
    let model = preset.unwrap_or("a Megatron training job");
    format!("GPU memory of {model}")
}
