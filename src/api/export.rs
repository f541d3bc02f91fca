//! `exportText`: a job as text in one of the export formats.

use serde::Deserialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::arguments;
use super::error::{self, type_error};
use super::job::Given;
use megatron_memory::export::{self, EmbedView, ExportError};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
export type ExportFormat =
  | "json" | "megatron_args" | "model_args" | "bridge" | "bridge_recipe" | "one_gpu" | "csv"
  | "markdown" | "link" | "link_pinned" | "link_markdown" | "link_summary" | "embed" | "element";
"#;

/// The options of `exportText`.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct ExportOptions {
    /// The preset that the job starts from, such as `deepseek-v3@1`. Links and JSON then hold only the differences to
    /// it.
    preset: Option<String>,
    /// The name of the module to export, for formats that hold one model.
    module: Option<String>,
    /// The calculator's address, for links.
    page: Option<String>,
    /// The text of links in Markdown and HTML.
    label: Option<String>,
    /// The view of an embed; `compact` by default.
    #[tsify(type = "\"full\" | \"compact\" | \"bar\" | \"table\" | \"timeline\" | null")]
    view: Option<String>,
    /// The unit of amounts in texts and tables for people; `GiB` by default. Files for programs are in bytes.
    #[tsify(type = "\"GiB\" | \"GB\" | null")]
    unit: Option<String>,
}

/// Writes a job, or the job of a link, as text.
///
/// # Errors
/// Throws an `ExportError` for an unknown format and for a job that the format cannot express, and a `ConfigError`
/// where the format holds results and the job has mistakes.
#[wasm_bindgen(js_name = exportText)]
pub fn export_text(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "ExportFormat")] format: &JsValue,
    options: Option<Ts<ExportOptions>>,
) -> Result<String, JsValue> {
    let format = arguments::text(format, "format")?;
    let options = arguments::options(options)?;
    let share = Given::read(job, options.preset.as_deref())?.state;
    let Some(format) = export::ExportFormat::by_id(&format) else {
        let known: Vec<&str> = export::ExportFormat::all().map(export::ExportFormat::id).collect();
        let known = known.join(", ");
        return Err(error::export(&format!(
            "no format is called {format}; there are {known}"
        )));
    };
    let exported = export::export_text(&share, format, &options.checked()?);
    exported.map_err(|why| match &why {
        ExportError::Invalid(problems) => error::config(problems),
        _ => error::export(&why.to_string()),
    })
}

impl ExportOptions {
    /// Checks the options and converts them to those of the core.
    fn checked(self) -> Result<export::ExportOptions, JsValue> {
        let view = |id: String| {
            let wrong = "view must be full, compact, bar, table or timeline";
            EmbedView::by_id(&id).ok_or_else(|| type_error(wrong))
        };
        Ok(export::ExportOptions {
            page: self.page.unwrap_or_default(),
            module: self.module,
            label: self.label,
            view: self.view.map(view).transpose()?.unwrap_or_default(),
            unit: arguments::unit(self.unit.as_deref())?,
        })
    }
}
