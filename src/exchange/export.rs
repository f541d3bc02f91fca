//! Jobs to texts.

use super::data::{Failure, text, text_option};
use super::job::state;
use crate::export::{EmbedView, ExportError, ExportFormat, ExportOptions};
use crate::value::Value;

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
    let Some(known) = ExportFormat::by_id(format) else {
        let known: Vec<&str> = ExportFormat::all().map(ExportFormat::id).collect();
        let message = format!(
            "no format is called {format}; there are {}",
            known.join(", ")
        );
        return Err(Failure::new("ExportError", message));
    };
    let view = match text_option(options, "view")? {
        _ if matches!(known, ExportFormat::File(_)) => EmbedView::default(),
        None => EmbedView::default(),
        Some(view) => EmbedView::by_id(view).ok_or_else(|| {
            Failure::wrong_type("view must be full, compact, bar, table or timeline")
        })?,
    };
    let options = ExportOptions {
        page: text_option(options, "page")?.unwrap_or_default().to_owned(),
        module: text_option(options, "module")?.map(str::to_owned),
        label: text_option(options, "label")?.map(str::to_owned),
        view,
    };
    let written = crate::export::export_text(&share, known, &options);
    written.map(text).map_err(|error| match &error {
        ExportError::Invalid(problems) => Failure::config(problems),
        _ => Failure::new("ExportError", error.to_string()),
    })
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
