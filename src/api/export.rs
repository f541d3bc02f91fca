//! Jobs to texts.

use serde::Deserialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::error::{self, type_error};
use super::{arguments, job};
use crate::export::{self, EmbedView, ExportError};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
export type ExportFormat =
  | "json" | "megatron_args" | "model_args" | "bridge" | "bridge_recipe" | "one_gpu" | "csv"
  | "markdown" | "link" | "link_pinned" | "link_markdown" | "link_summary" | "embed" | "element";
"#;

/// What an export leaves to choose.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct ExportOptions {
    /// The preset that the job starts from, such as `deepseek-v3@1`; links and JSON then say what differs.
    preset: Option<String>,
    /// The module that a format for one model shows, by name.
    module: Option<String>,
    /// The calculator's address, for links.
    page: Option<String>,
    /// What links are called.
    label: Option<String>,
    /// What an embed shows; `compact` unless told.
    #[tsify(type = "\"full\" | \"compact\" | \"bar\" | \"table\" | \"timeline\" | null")]
    view: Option<String>,
}

/// A job, or the job of a link, as text.
///
/// # Errors
/// Throws an `ExportError` where the format has no word for the job, a `ConfigError` where it shows a result and the job has
/// none.
#[wasm_bindgen(js_name = exportText)]
pub fn export_text(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "ExportFormat")] format: &JsValue,
    options: Option<Ts<ExportOptions>>,
) -> Result<String, JsValue> {
    let format = arguments::text(format, "format")?;
    let options = arguments::options(options)?;
    let share = job::read_state(job, options.preset.as_deref())?;
    let Some(format) = export::ExportFormat::by_id(&format) else {
        let known: Vec<&str> = export::ExportFormat::all()
            .map(export::ExportFormat::id)
            .collect();
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
    /// The same options as the core takes them.
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
        })
    }
}
