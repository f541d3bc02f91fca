//! `encodeLink` and `decodeLink`: jobs as links.

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::job::Given;
use super::plain_data::PlainData;
use super::{arguments, job, to_ts};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::{Place, Setup, View};
use megatron_memory::value::Value;

/// The options of `encodeLink`: what a link holds besides the job.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct LinkOptions {
    /// The preset that the job starts from, such as `deepseek-v3@1`. The link then holds only the differences to it.
    preset: Option<String>,
    /// A job to compare with.
    #[tsify(type = "{ job: Job; preset?: string | null } | null")]
    compare: Option<Compared>,
    /// More jobs to compare with.
    #[tsify(type = "{ job: Job; preset?: string | null }[] | null")]
    also_compare: Option<Vec<Compared>>,
    /// The tab and the stage that the page opens with.
    #[tsify(type = "{ tab?: string | null; stage?: StagePlace | null } | null")]
    view: Option<ViewOption>,
}

/// A job to compare with.
#[derive(Debug, Deserialize)]
struct Compared {
    job: Value,
    preset: Option<String>,
}

/// The tab and the stage that the page opens with.
#[derive(Debug, Deserialize)]
struct ViewOption {
    tab: Option<String>,
    stage: Option<StageOption>,
}

/// A [`StagePlace`] in an options object. A missing number is 0.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StageOption {
    pub(super) module: u16,
    pub(super) pp_rank: u16,
}

/// A pipeline stage: the index of its module and its pipeline rank, both counted from 0.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct StagePlace {
    module: u16,
    pp_rank: u16,
}

/// The contents of a link. Passed as options of `encodeLink` with its `job`, it gives the same link again.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Link {
    /// The whole job, with the preset's values.
    #[tsify(type = "Job")]
    job: PlainData,
    preset: Option<String>,
    compare: Option<LinkedJob>,
    /// The other jobs that the link compares with, where there are several.
    also_compare: Vec<LinkedJob>,
    view: Option<LinkedView>,
    /// Messages about parts of the link that were ignored or changed.
    notices: Vec<String>,
}

/// A job that a link compares with.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct LinkedJob {
    #[tsify(type = "Job")]
    job: PlainData,
    preset: Option<String>,
}

/// The tab and the stage that a link opens the page with.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct LinkedView {
    tab: Option<String>,
    stage: Option<StagePlace>,
}

/// The fragment of a job's link, from its `#` on. Equal jobs have equal links.
///
/// # Errors
/// Throws a `TypeError` for an argument of the wrong type, a `LinkError` for an unknown preset.
#[wasm_bindgen(js_name = encodeLink)]
pub fn encode_link(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    options: Option<Ts<LinkOptions>>,
) -> Result<String, JsValue> {
    // The result of `decodeLink` is such options too.
    let options = arguments::options_beside(options, &["job", "notices"])?;
    let mut share = Given::read(job, options.preset.as_deref())?.state;
    // Where the job is a link or a JSON document, its own comparison and view win over the options.
    if share.pinned.is_empty() {
        let others = options.also_compare.unwrap_or_default();
        let compared = options.compare.into_iter().chain(others);
        let setup = |one: Compared| job::setup(&one.job, one.preset.as_deref());
        share.pinned = compared.map(setup).collect::<Result<_, _>>()?;
    }
    if let (Some(view), true) = (options.view, share.view == View::default()) {
        share.view = view.into();
    }
    Ok(share_url::encode(&share))
}

/// Decodes a link: its fragment, or a whole URL with one.
///
/// # Errors
/// Throws a `LinkError` for a text that is no link, and for a link of a newer version. Mistakes in single settings and
/// parts that are damaged are `notices` of the result.
#[wasm_bindgen(js_name = decodeLink)]
pub fn decode_link(#[wasm_bindgen(unchecked_param_type = "string")] link: &JsValue) -> Result<Ts<Link>, JsValue> {
    let link = arguments::text(link, "link")?;
    let Given { state: share, notices } = Given::of_link(&link)?;
    let View { tab, stage } = share.view;
    let shows = tab.is_some() || stage.is_some();
    to_ts(&Link {
        job: job::canonical(&share.setup.job),
        preset: job::preset(&share.setup),
        compare: share.pinned.first().map(LinkedJob::from),
        also_compare: share.pinned.iter().skip(1).map(LinkedJob::from).collect(),
        view: shows.then(|| LinkedView {
            tab,
            stage: stage.map(StagePlace::from),
        }),
        notices,
    })
}

impl From<&Setup> for LinkedJob {
    fn from(setup: &Setup) -> Self {
        Self {
            job: job::canonical(&setup.job),
            preset: job::preset(setup),
        }
    }
}

impl From<ViewOption> for View {
    fn from(view: ViewOption) -> Self {
        Self {
            tab: view.tab,
            stage: view.stage.map(|stage| Place {
                module: stage.module,
                pp_rank: stage.pp_rank,
            }),
        }
    }
}

impl From<Place> for StagePlace {
    fn from(place: Place) -> Self {
        Self {
            module: place.module,
            pp_rank: place.pp_rank,
        }
    }
}
