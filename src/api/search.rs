//! The search for layouts of a job.

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::error::{self, type_error};
use super::plain_data::{Entries, PlainData};
use super::{Exact, arguments, job, to_ts};
use crate::config::raw::RawJob;
use crate::memory::savings::Choice;
use crate::search::{
    self, Axis, Candidate, Dimension, Keep, Options, Pick, Slice, Space, Split, Unsearchable,
};
use crate::value::Value;

/// The most jobs that a call asks about where the options do not say.
const STEPS: u64 = 1_000;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** What a search can vary. */
export type SearchAxis =
  | "pipeline_model_parallel_size" | "virtual_pipeline_model_parallel_size" | "tensor_model_parallel_size"
  | "context_parallel_size" | "expert_model_parallel_size" | "expert_tensor_parallel_size" | "micro_batch_size"
  | "recompute_granularity";
"#;

/// What a search varies, and which part of it a call does.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct SearchOptions {
    /// The preset that the job starts from.
    preset: Option<String>,
    /// What varies; unless told TP, PP, with experts EP, and what else of these the job splits by. GPUs, global batch and all
    /// else stay as in the job.
    #[tsify(type = "SearchAxis[] | null")]
    vary: Option<Vec<String>>,
    /// The most that a size may be; TP at most the GPUs of a node unless told.
    #[tsify(type = "Partial<Record<SearchAxis, number>> | null")]
    at_most: Option<Entries<u64>>,
    /// Layers of stages: as the job says, or evenly with fewer in the last stage where that does not come out even.
    #[tsify(type = "\"as_given\" | \"rest_in_last_stage\" | null")]
    split: Option<String>,
    /// Which layouts are listed: all that Megatron runs, or those that fit the GPU.
    #[tsify(type = "\"legal\" | \"fitting\" | null")]
    keep: Option<String>,
    /// The number of the first combination, from 0.
    #[tsify(type = "Exact | null")]
    from: Option<u64>,
    /// The number of the first combination that is left out; all unless told.
    #[tsify(type = "Exact | null")]
    until: Option<u64>,
    /// The most jobs to ask about, 1000 unless told; the result says where to go on.
    steps: Option<u64>,
    /// The number of a combination of which the result says what would make it fit.
    #[tsify(type = "Exact | null")]
    explain: Option<u64>,
}

/// What `search` found in a part of all combinations.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Layouts {
    /// All combinations: the product of the numbers of values.
    total: Exact,
    /// Where to go on, as `from`; `null` at the end.
    next: Option<Exact>,
    /// Combinations that this part dealt with: `legal` and those of `refused` and `out_of_bounds`.
    looked_at: Exact,
    /// Those that Megatron runs, within the bounds.
    legal: Exact,
    /// Of these, those that need more than the GPU has.
    too_large: Exact,
    vary: Vec<VariedSize>,
    /// Combinations that Megatron refuses, by the name of the first rule that they break.
    refused: Vec<RefusedBy>,
    /// Combinations above a bound of `at_most`.
    out_of_bounds: Vec<OutOfBounds>,
    /// In the order of their numbers.
    candidates: Vec<Layout>,
    /// Of those that are too large, the one that needs least.
    closest: Option<Layout>,
    /// With `explain`; `null` where Megatron refuses that combination.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(type = "Remedy | null")]
    #[allow(
        clippy::option_option,
        reason = "no key without `explain`, null for a combination that is refused"
    )]
    remedy: Option<Option<Remedy>>,
}

/// A size that varies, and its values.
#[derive(Debug, Serialize, Tsify)]
pub struct VariedSize {
    #[tsify(type = "SearchAxis")]
    name: &'static str,
    /// Such as `TP`.
    symbol: &'static str,
    values: Vec<VariedValue>,
}

/// A size, or what is recomputed.
#[derive(Debug, Serialize, Tsify)]
#[serde(untagged)]
pub enum VariedValue {
    /// A size.
    Size(#[tsify(type = "number")] Exact),
    /// What is recomputed, in words.
    Recompute(String),
}

/// Combinations that one rule refuses.
#[derive(Debug, Serialize, Tsify)]
pub struct RefusedBy {
    rule: String,
    combinations: Exact,
}

/// Combinations above one bound.
#[derive(Debug, Serialize, Tsify)]
pub struct OutOfBounds {
    #[tsify(type = "SearchAxis")]
    name: &'static str,
    combinations: Exact,
}

/// A layout that Megatron runs.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Layout {
    /// Its number among the combinations.
    index: Exact,
    /// What it changes in the job; `null` goes back to a default. `{ ...job, ...settings }` is the layout as a job.
    #[tsify(type = "Job")]
    settings: PlainData,
    /// What `estimate` says for that job: the peak of the stage that needs most.
    peak_bytes: Exact,
    /// The least that the device shows for it: with the allocator's gaps, the CUDA context and CUDA graphs. It fits where the
    /// GPU has as much.
    device_bytes: Exact,
    /// What PyTorch leaves of the GPU, negative where it has too little; `null` where none was chosen.
    headroom_bytes: Option<Exact>,
    worst_stage: usize,
    /// TP · PP · CP.
    #[tsify(type = "number")]
    gpus_per_copy: Exact,
    /// Chunks of layers on each pipeline rank; they follow from the pipeline layout where the job has one.
    #[tsify(type = "number")]
    virtual_pipeline_model_parallel_size: Exact,
    #[tsify(type = "number")]
    data_parallel_size: Exact,
    #[tsify(type = "number")]
    expert_data_parallel_size: Exact,
    #[tsify(type = "number")]
    num_microbatches: Exact,
    /// Time in which a stage waits over time in which it works, in millionths: (PP - 1) / (VPP · micro batches), from arXiv
    /// 2104.04473.
    #[tsify(type = "number")]
    pipeline_bubble_ppm: Exact,
    /// Matrix products of the worst stage that run a second time, in millionths of those of its forward pass.
    #[tsify(type = "number")]
    recomputed_ppm: Exact,
    /// The same as floating-point operations of one GPU in one iteration.
    recomputed_flops: Exact,
}

/// What would make a combination fit.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Remedy {
    index: Exact,
    /// What would have to be recomputed or offloaded.
    recompute: Option<String>,
    /// The smallest GPU that would hold it as it is.
    gpu: Option<&'static str>,
}

/// A part of the layouts of a job: which combinations of parallel sizes Megatron runs, and what they need. Goes through them
/// in order; pass `next` as `from` to go on.
///
/// # Errors
/// Throws a `ConfigError` for a job whose problems are not its layout, a `SearchError` where there is nothing to search.
#[wasm_bindgen]
pub fn search(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    options: Option<Ts<SearchOptions>>,
) -> Result<Ts<Layouts>, JsValue> {
    let options = arguments::options(options)?;
    let job = job::read_state(job, options.preset.as_deref())?.setup.job;
    let space = Space::new(&job, &options.checked(&job)?).map_err(|why| refusal(&why))?;
    let range = options.from.unwrap_or(0)..options.until.unwrap_or(space.total());
    let steps = u32::try_from(options.steps.unwrap_or(STEPS).max(1)).unwrap_or(u32::MAX);
    let slice = search::search(&space, range, steps, options.keep()?);
    let explained = options.explain.filter(|index| *index < space.total());
    let mut layouts = Layouts::new(&space, &slice);
    layouts.remedy = explained.map(|index| Remedy::new(&space, index));
    to_ts(&layouts)
}

/// The error for a job that has nothing to search.
fn refusal(why: &Unsearchable) -> JsValue {
    match why {
        Unsearchable::Problems(problems) => error::config(problems),
        Unsearchable::SeveralModules => error::search("layouts are searched for jobs of one model"),
        Unsearchable::TooMany => error::search("there are more than 2^64 layouts"),
    }
}

impl SearchOptions {
    /// What varies, as the core takes it; the usual where nothing is said.
    fn checked(&self, job: &RawJob) -> Result<Options, JsValue> {
        let axis = |name: &String| {
            let unknown = || type_error(&format!("{name} is nothing that a search varies"));
            Axis::by_name(name).ok_or_else(unknown)
        };
        let mut checked = Options::usual(job);
        if let Some(vary) = &self.vary {
            checked.vary = vary.iter().map(axis).collect::<Result<_, _>>()?;
        }
        if let Some(Entries(bounds)) = &self.at_most {
            let bounds = bounds.iter().map(|(name, most)| Ok((axis(name)?, *most)));
            checked.at_most = bounds.collect::<Result<_, JsValue>>()?;
        }
        checked.split = match self.split.as_deref() {
            None | Some("as_given") => Split::AsGiven,
            Some("rest_in_last_stage") => Split::RestInLastStage,
            Some(_) => return Err(type_error("split must be as_given or rest_in_last_stage")),
        };
        Ok(checked)
    }

    fn keep(&self) -> Result<Keep, JsValue> {
        match self.keep.as_deref() {
            None | Some("legal") => Ok(Keep::Legal),
            Some("fitting") => Ok(Keep::Fitting),
            Some(_) => Err(type_error("keep must be legal or fitting")),
        }
    }
}

/// The name of the argument that an axis sets.
fn name(axis: Axis) -> &'static str {
    axis.field().field().name
}

impl Layouts {
    fn new(space: &Space, slice: &Slice) -> Self {
        let refused = slice.refused.iter().map(|(rule, combinations)| RefusedBy {
            rule: rule.clone(),
            combinations: (*combinations).into(),
        });
        let out_of_bounds = slice.out_of_bounds.iter();
        let out_of_bounds = out_of_bounds.map(|(axis, combinations)| OutOfBounds {
            name: name(*axis),
            combinations: (*combinations).into(),
        });
        let candidates = slice.candidates.iter();
        Self {
            total: space.total().into(),
            next: slice.next.map(Exact::from),
            looked_at: slice.looked_at.into(),
            legal: slice.legal.into(),
            too_large: slice.too_large.into(),
            vary: space.dimensions().iter().map(VariedSize::from).collect(),
            refused: refused.collect(),
            out_of_bounds: out_of_bounds.collect(),
            candidates: candidates.map(|c| Layout::new(space, c)).collect(),
            closest: slice.closest.as_ref().map(|c| Layout::new(space, c)),
            remedy: None,
        }
    }
}

impl From<&Dimension> for VariedSize {
    fn from(dimension: &Dimension) -> Self {
        let value = |pick: &Pick| match pick {
            Pick::Size(size) => VariedValue::Size((*size).into()),
            Pick::Recompute(_) => VariedValue::Recompute(pick.label()),
        };
        Self {
            name: name(dimension.axis),
            symbol: dimension.axis.symbol(),
            values: dimension.values.iter().map(value).collect(),
        }
    }
}

impl Layout {
    fn new(space: &Space, candidate: &Candidate) -> Self {
        let settings = space.settings(candidate.index).into_iter();
        let settings = settings.map(|(id, value)| (id.field().name.to_owned(), value));
        Self {
            index: candidate.index.into(),
            settings: PlainData(Value::Map(settings.collect())),
            peak_bytes: candidate.peak.into(),
            device_bytes: candidate.least.into(),
            headroom_bytes: candidate.headroom().map(Exact::from),
            worst_stage: candidate.worst.pp_rank,
            gpus_per_copy: candidate.copy.into(),
            virtual_pipeline_model_parallel_size: candidate.vpp.into(),
            data_parallel_size: candidate.dp.into(),
            expert_data_parallel_size: candidate.edp.into(),
            num_microbatches: candidate.num_microbatches.into(),
            pipeline_bubble_ppm: candidate.bubble_ppm.into(),
            recomputed_ppm: candidate.recomputed_ppm.into(),
            recomputed_flops: candidate.recomputed_flops.into(),
        }
    }
}

impl Remedy {
    /// What would make a combination fit; `None` where Megatron refuses it.
    fn new(space: &Space, index: u64) -> Option<Self> {
        let alone = search::search(space, index..index + 1, u32::MAX, Keep::Legal);
        let remedy = search::suggestion(space, alone.candidates.first()?);
        Some(Self {
            index: index.into(),
            recompute: remedy.recompute.map(Choice::label),
            gpu: remedy.gpu.map(|gpu| gpu.id),
        })
    }
}
