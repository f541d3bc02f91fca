//! `fit` and `limits`: changes with which a job fits its GPU, and how far it can go on it.

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::job::Given;
use super::plain_data::PlainData;
use super::{Exact, arguments, error, to_ts};
use megatron_memory::fit::{self, FitError};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::ShareState;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::report::offers::OfferRow;
use megatron_memory::value::Value;

/// The options of `fit` and `limits`.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct FitOptions {
    /// The preset that the job starts from, such as `deepseek-v3@1`.
    preset: Option<String>,
}

/// The changes with which a job fits its GPU.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Fit {
    /// The verdict on the job as it is, as `estimate` gives it.
    #[tsify(type = "\"fits\" | \"tight\" | \"does_not_fit\" | \"not_this_job\" | \"cannot_run\" | null")]
    verdict: Option<&'static str>,
    /// The largest peak of a stage of the job as it is.
    peak_bytes: Exact,
    /// The changes, those that cost least first. For a job that fits as it is, changes with which it pays less than now
    /// and still fits.
    offers: Vec<Offer>,
    /// Of the changes that are not enough, the one with the smallest peak; `null` where no change saves memory.
    closest: Option<Offer>,
}

/// A change, or a pair of changes, of a job.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Offer {
    /// The change in words.
    change: String,
    /// What it costs, in words.
    cost: String,
    /// The name of the module that it is made in; `null` for a job without modules of its own.
    module: Option<String>,
    /// The arguments that it sets; `null` stands for a default.
    #[tsify(type = "Job")]
    settings: PlainData,
    /// The largest peak of a stage with the change.
    peak_bytes: Exact,
    /// The memory that the device may show with it, from the least to the most.
    device_bytes: [Exact; 2],
    /// The peak of the job as it is minus that with the change, negative where it grows.
    saves_bytes: Exact,
    /// The changed job as a link: the part of the calculator's address from the `#`.
    link: String,
}

/// How far a job can go on its GPU, each while all else stays as it is; `null` where it fits with no value.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Limits {
    /// The longest sequence, in tokens.
    longest_sequence: Option<Limit>,
    /// The largest micro batch, with the same global batch.
    largest_micro_batch: Option<Limit>,
    /// The fewest GPUs, with the same layout of a replica and the same global batch.
    fewest_gpus: Option<Limit>,
}

/// The largest or smallest value of a setting with which a job fits.
#[derive(Debug, Serialize, Tsify)]
pub struct Limit {
    #[tsify(type = "number")]
    value: Exact,
    /// The job with the value as a link: the part of the calculator's address from the `#`.
    link: String,
}

/// The changes with which a job fits its GPU, each with what it costs and what is needed with it.
///
/// # Errors
/// Throws a `ConfigError` for a job that Megatron refuses, a `SearchError` for a job without a GPU.
#[wasm_bindgen]
pub fn fit(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    options: Option<Ts<FitOptions>>,
) -> Result<Ts<Fit>, JsValue> {
    let share = read(job, options)?;
    let found = fit::offers(&share.setup.job).map_err(|why| refused(&why))?;
    let offer = |offer: &fit::Offer| Offer::new(&share, offer);
    to_ts(&Fit {
        verdict: found.now.verdict.id(),
        peak_bytes: found.now.total.into(),
        offers: found.offers.iter().map(offer).collect(),
        closest: found.closest.as_ref().map(offer),
    })
}

/// The longest sequence, the largest micro batch and the fewest GPUs with which a job fits its GPU even with the largest
/// overheads.
///
/// # Errors
/// Throws a `ConfigError` for a job that Megatron refuses, a `SearchError` for a job without a GPU.
#[wasm_bindgen]
pub fn limits(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    options: Option<Ts<FitOptions>>,
) -> Result<Ts<Limits>, JsValue> {
    let share = read(job, options)?;
    let found = fit::limits(&share.setup.job).map_err(|why| refused(&why))?;
    let limit = |limit: &fit::Limit| Limit::new(&share, limit);
    to_ts(&Limits {
        longest_sequence: found.longest_sequence.as_ref().map(limit),
        largest_micro_batch: found.largest_micro_batch.as_ref().map(limit),
        fewest_gpus: found.fewest_gpus.as_ref().map(limit),
    })
}

fn read(job: &JsValue, options: Option<Ts<FitOptions>>) -> Result<ShareState, JsValue> {
    let options = arguments::options(options)?;
    Ok(Given::read(job, options.preset.as_deref())?.state)
}

/// The error for a job that cannot be asked what makes it fit.
fn refused(why: &FitError) -> JsValue {
    match why {
        FitError::Refused(problems) => error::config(problems),
        FitError::NoGpu => error::search(&why.to_string()),
    }
}

impl Offer {
    fn new(share: &ShareState, offer: &fit::Offer) -> Self {
        let row = OfferRow::new(offer.clone(), Scale::coarse(Unit::Gib));
        let mut changed = share.clone();
        offer.apply(&mut changed.setup.job);
        let module = share.setup.job.modules.get(offer.module);
        let settings = offer.changes.iter().flat_map(|change| &change.settings);
        let settings = settings.map(|(id, value)| (id.field().name.to_owned(), value.clone()));
        let (low, high) = offer.measured.device;
        Self {
            change: row.name,
            cost: row.cost,
            module: module.map(|module| module.name.clone()),
            settings: PlainData(Value::Map(settings.collect())),
            peak_bytes: offer.measured.total.into(),
            device_bytes: [low.into(), high.into()],
            saves_bytes: offer.saves.into(),
            link: share_url::encode(&changed),
        }
    }
}

impl Limit {
    fn new(share: &ShareState, limit: &fit::Limit) -> Self {
        let mut changed = share.clone();
        limit.apply(&mut changed.setup.job);
        Self {
            value: limit.value.into(),
            link: share_url::encode(&changed),
        }
    }
}
