//! Jobs as links.

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::plain_data::PlainData;
use super::{arguments, job, to_ts};
use crate::formats::share_url;
use crate::formats::state::{Place, Setup, View};
use crate::value::Value;

/// What a link says beside the job.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct LinkOptions {
    /// The preset that the job starts from, such as `deepseek-v3@1`: the link then says what differs.
    preset: Option<String>,
    /// A job to compare with.
    #[tsify(type = "{ job: Job; preset?: string | null } | null")]
    compare: Option<Compared>,
    /// What is shown.
    #[tsify(type = "{ tab?: string | null; stage?: StagePlace | null } | null")]
    view: Option<Shown>,
}

/// A job to compare with.
#[derive(Debug, Deserialize)]
struct Compared {
    job: Value,
    preset: Option<String>,
}

/// What is shown.
#[derive(Debug, Deserialize)]
struct Shown {
    tab: Option<String>,
    stage: Option<StageOption>,
}

/// A [`StagePlace`] as an option; 0 where a number is missing.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StageOption {
    pub(super) module: u16,
    pub(super) pp_rank: u16,
}

/// The stage of a module, counted from 0.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct StagePlace {
    module: u16,
    pp_rank: u16,
}

/// What a link says; as options of `encodeLink` it gives the same link again.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Link {
    /// The whole job, with the preset's values.
    #[tsify(type = "Job")]
    job: PlainData,
    preset: Option<String>,
    compare: Option<LinkedJob>,
    view: Option<LinkedView>,
    /// What in the link was not used, or not as it stands.
    notices: Vec<String>,
}

/// The job that a link compares with.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct LinkedJob {
    #[tsify(type = "Job")]
    job: PlainData,
    preset: Option<String>,
}

/// What a link shows.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct LinkedView {
    tab: Option<String>,
    stage: Option<StagePlace>,
}

/// The link of a job, from its `#` on. Equal jobs have equal links.
///
/// # Errors
/// Throws a `TypeError` where an argument has the wrong form, a `LinkError` where there is no such preset.
#[wasm_bindgen(js_name = encodeLink)]
pub fn encode_link(
    #[wasm_bindgen(unchecked_param_type = "Job")] job: &JsValue,
    options: Option<Ts<LinkOptions>>,
) -> Result<String, JsValue> {
    let options = arguments::options(options)?;
    let mut share = job::read_state(job, options.preset.as_deref())?;
    // A link and a document of ours say these themselves.
    if let Some(compared) = options.compare {
        let compare = || job::setup(&compared.job, compared.preset.as_deref());
        share.compare = Some(share.compare.map_or_else(compare, Ok)?);
    }
    if let (Some(shown), true) = (options.view, share.view == View::default()) {
        share.view = shown.into();
    }
    Ok(share_url::encode(&share))
}

/// What a link says; an address with one will do.
///
/// # Errors
/// Throws a `LinkError` where it is none, or of a newer version. What single settings have wrong is in the notices.
#[wasm_bindgen(js_name = decodeLink)]
pub fn decode_link(
    #[wasm_bindgen(unchecked_param_type = "string")] link: &JsValue,
) -> Result<Ts<Link>, JsValue> {
    let link = arguments::text(link, "link")?;
    let share = job::decode(&link)?;
    let notices = share_url::decode(&link).1;
    let View { tab, stage } = share.view;
    let shows = tab.is_some() || stage.is_some();
    to_ts(&Link {
        job: job::canonical(&share.setup.job),
        preset: job::preset(&share.setup),
        compare: share.compare.as_ref().map(LinkedJob::from),
        view: shows.then(|| LinkedView {
            tab,
            stage: stage.map(StagePlace::from),
        }),
        notices: notices.iter().map(ToString::to_string).collect(),
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

impl From<Shown> for View {
    fn from(shown: Shown) -> Self {
        Self {
            tab: shown.tab,
            stage: shown.stage.map(|stage| Place {
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
