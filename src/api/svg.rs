//! `svg`: a chart as an SVG file.

use serde::Deserialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::arguments;
use super::error::{self, type_error};
use super::job::Given;
use super::links::StageOption;
use megatron_memory::export::{ChartError, ChartOptions, chart_file};
use megatron_memory::memory::StageRef;
use megatron_memory::report::rank_map::Coloring;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
export type ChartName = "bucket_bar" | "stage_bars" | "buckets" | "components" | "timeline" | "rank_map" | "card" | (string & {});
"#;

/// The options of `svg`.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct SvgOptions {
    /// The preset that the job starts from, such as `deepseek-v3@1`.
    preset: Option<String>,
    /// The width in pixels, from 200 to 4000; 720 by default.
    width: Option<u64>,
    /// The unit of memory; `GiB` by default.
    #[tsify(type = "\"GiB\" | \"GB\" | null")]
    unit: Option<String>,
    /// The stage that the chart shows. The default is the one with the largest peak.
    #[tsify(type = "StagePlace | null")]
    stage: Option<StageOption>,
    /// The quantity that the rank map shows as color; `memory` by default.
    #[tsify(type = "\"module\" | \"stage\" | \"memory\" | null")]
    color: Option<String>,
}

/// Draws a chart of a job, or of the job of a link, as the text of a self-contained SVG file.
///
/// # Errors
/// Throws a `ConfigError` for a job with mistakes, an `ExportError` for an unknown chart or stage.
#[wasm_bindgen]
pub fn svg(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    #[wasm_bindgen(unchecked_param_type = "ChartName")] chart: &JsValue,
    options: Option<Ts<SvgOptions>>,
) -> Result<String, JsValue> {
    let chart = arguments::text(chart, "chart")?;
    let options = arguments::options(options)?;
    let share = Given::read(job, options.preset.as_deref())?.state;
    let drawn = chart_file(&share, &chart, &options.checked()?);
    drawn.map_err(|why| match &why {
        ChartError::Invalid(problems) => error::config(problems),
        ChartError::Width => type_error(&why.to_string()),
        _ => error::export(&why.to_string()),
    })
}

impl SvgOptions {
    /// Checks the options and converts them to those of the core.
    fn checked(self) -> Result<ChartOptions<'static>, JsValue> {
        let usual = ChartOptions::default();
        let coloring = |id: String| {
            let known = Coloring::by_id(&id);
            known.ok_or_else(|| type_error("color must be module, stage or memory"))
        };
        Ok(ChartOptions {
            width: self.width.unwrap_or(usual.width),
            unit: arguments::unit(self.unit.as_deref())?,
            stage: self.stage.map(|stage| StageRef {
                module: stage.module.into(),
                pp_rank: stage.pp_rank.into(),
            }),
            coloring: self.color.map(coloring).transpose()?.unwrap_or(usual.coloring),
            page: usual.page,
        })
    }
}
