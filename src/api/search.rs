//! `search`: the layouts of a job that Megatron runs.

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::error::{self, type_error};
use super::estimate::NotModelled;
use super::job::Given;
use super::plain_data::{Entries, PlainData};
use super::{Exact, arguments, to_ts};
use megatron_memory::config::raw::RawJob;
use megatron_memory::memory::savings::Choice;
use megatron_memory::report::amount::{Scale, Unit};
use megatron_memory::search::{
    self, Axis, Candidate, Dimension, Keep, LayoutRank, Options, Order, Pick, Slice, Space, Split, Unsearchable,
};
use megatron_memory::value::Value;

/// The default of the option `steps`.
const STEPS: u64 = 1_000;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** An argument that a search can vary. */
export type SearchAxis =
  | "world_size" | "pipeline_model_parallel_size" | "virtual_pipeline_model_parallel_size" | "tensor_model_parallel_size"
  | "context_parallel_size" | "expert_model_parallel_size" | "expert_tensor_parallel_size" | "micro_batch_size"
  | "recompute_granularity" | "peft_type";

/** A process group inside layers. */
export type LayoutGroup = "TP" | "ETP" | "CP" | "EP";
"#;

/// The options of `search`: the arguments that it varies, and the combinations of their values that this call tries.
#[derive(Debug, Default, Deserialize, Tsify)]
#[serde(default)]
#[tsify(missing_as_null)]
pub struct SearchOptions {
    /// The preset that the job starts from, such as `deepseek-v3@1`.
    preset: Option<String>,
    /// The arguments to vary. `recompute_granularity` stands for all settings of recomputation, and `peft_type` for the
    /// ways to train: in full, with adapters alone, and with each sharding strategy of Megatron FSDP. The default is TP
    /// and PP, EP where the job has experts, and each other parallel size that the job sets above 1. The global batch
    /// and everything else stay as in the job. Of a job of several modules, the language model's sizes vary on its
    /// ranks.
    #[tsify(type = "SearchAxis[] | null")]
    vary: Option<Vec<String>>,
    /// The largest value of each argument. The default is the number of GPUs of a node for TP, and no bound for the
    /// others.
    #[tsify(type = "Partial<Record<SearchAxis, number>> | null")]
    at_most: Option<Entries<u64>>,
    /// How layers are split over stages: `as_given` as the job says; `rest_in_last_stage` evenly, with fewer layers in
    /// the last stage where the number of layers is not divisible. The default is `as_given`.
    #[tsify(type = "\"as_given\" | \"rest_in_last_stage\" | null")]
    split: Option<String>,
    /// By what layouts that fit are ordered: the predicted time of a step (`time`, the default), or what they cost on top
    /// of the model's own work and the GPUs of a replica (`memory`), as where no time is predicted.
    #[tsify(type = "\"time\" | \"memory\" | null")]
    order: Option<String>,
    /// The layouts that are listed: all that Megatron runs (`legal`, the default), or of these those that fit the GPU.
    #[tsify(type = "\"legal\" | \"fitting\" | null")]
    keep: Option<String>,
    /// The index of the first combination to try, counted from 0.
    #[tsify(type = "Exact | null")]
    from: Option<u64>,
    /// The index after the last combination to try. The default is the number of combinations.
    #[tsify(type = "Exact | null")]
    until: Option<u64>,
    /// The most jobs that the call checks and estimates, 1000 by default. `next` of the result continues from there.
    steps: Option<u64>,
    /// The index of a combination for which `remedy` of the result says what would make it fit the GPU.
    #[tsify(type = "Exact | null")]
    explain: Option<u64>,
}

/// The layouts that `search` found among the combinations of one call.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Layouts {
    /// The number of all combinations: the product of the numbers of values.
    total: Exact,
    /// The value of `from` for the call that continues; `null` at the end.
    next: Option<Exact>,
    /// The number of combinations that this call tried: `legal`, `refused` and `out_of_bounds` together.
    looked_at: Exact,
    /// The number of combinations that Megatron runs and that are within the bounds.
    legal: Exact,
    /// The number of legal combinations that need more memory than the GPU has.
    too_large: Exact,
    /// The number of legal combinations that fit the GPU only with the smallest overheads.
    tight: Exact,
    vary: Vec<VariedSize>,
    /// The numbers of combinations that Megatron refuses, by the first rule that they break.
    refused: Vec<RefusedBy>,
    /// The numbers of combinations above a bound of `at_most`, by the argument.
    out_of_bounds: Vec<OutOfBounds>,
    /// The layouts that the option `keep` lists, in the order of their indices.
    candidates: Vec<Layout>,
    /// The layout with the least memory among those that do not fit.
    closest: Option<Layout>,
    /// The job's own layout; `null` where Megatron refuses it, or it is not among the combinations.
    own: Option<Layout>,
    /// What changes the job's memory and is not modelled, as `estimate` has it: with an entry, all layouts are
    /// estimated without it, and their verdict is `not_this_job`.
    not_modelled: Vec<NotModelled>,
    /// Changes, each by itself, with which the combination of the option `explain` fits; `null` where Megatron refuses
    /// that combination, and no key without the option.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(type = "Remedy | null")]
    #[allow(
        clippy::option_option,
        reason = "no key without `explain`, null for a combination that is refused"
    )]
    remedy: Option<Option<Remedy>>,
}

/// An argument that varies, and its values.
#[derive(Debug, Serialize, Tsify)]
pub struct VariedSize {
    #[tsify(type = "SearchAxis")]
    name: &'static str,
    /// The argument's symbol, such as `TP`.
    symbol: &'static str,
    values: Vec<VariedValue>,
}

/// A value of an argument that varies.
#[derive(Debug, Serialize, Tsify)]
#[serde(untagged)]
pub enum VariedValue {
    /// A size.
    Size(#[tsify(type = "number")] Exact),
    /// A way of recomputing or of training, in words.
    Words(String),
}

/// The number of combinations that one rule refuses.
#[derive(Debug, Serialize, Tsify)]
pub struct RefusedBy {
    rule: String,
    combinations: Exact,
}

/// The number of combinations above the bound of one argument.
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
    /// The layout's index among the combinations.
    index: Exact,
    /// The arguments that the layout changes; `null` stands for a default. `{ ...job, ...settings }` is the layout as a
    /// job; in a job of several modules they belong to the language model.
    #[tsify(type = "Job")]
    settings: PlainData,
    /// The largest peak of a stage, as `estimate` gives it for the layout.
    peak_bytes: Exact,
    /// The least memory that the device shows for the layout: the peak with the allocator's fragmentation, the CUDA
    /// context and CUDA graphs. The layout fits where the GPU has at least this much.
    device_bytes: Exact,
    /// The GPU's memory minus the peak, negative where the GPU has less; `null` where no GPU is chosen.
    headroom_bytes: Option<Exact>,
    /// As `estimate` gives it for the layout, but `tight` wherever the factors of reserved over allocated memory leave open
    /// whether it fits: `estimate` settles that by a replay of PyTorch's allocator. `null` where no GPU is chosen.
    #[tsify(type = "\"fits\" | \"tight\" | \"does_not_fit\" | \"not_this_job\" | null")]
    verdict: Option<&'static str>,
    worst_stage: usize,
    /// Whether adapters alone are trained. Such layouts come after all that train every weight and fit: they are
    /// another training.
    trains_adapters: bool,
    /// GPUs of the job.
    #[tsify(type = "number")]
    world_size: Exact,
    /// GPUs of one model replica: the larger of TP · CP and ETP · EP, times PP.
    #[tsify(type = "number")]
    gpus_per_replica: Exact,
    /// The groups inside layers that leave the node or `NVLink` domain.
    #[tsify(type = "LayoutGroup[]")]
    crossing_groups: Vec<&'static str>,
    /// Model chunks on each pipeline rank. They follow from the pipeline layout where the job has one.
    #[tsify(type = "number")]
    virtual_pipeline_model_parallel_size: Exact,
    #[tsify(type = "number")]
    data_parallel_size: Exact,
    #[tsify(type = "number")]
    expert_data_parallel_size: Exact,
    #[tsify(type = "number")]
    num_microbatches: Exact,
    /// The pipeline bubble: waiting time over working time of the pipeline's ranks in millionths, from a replay of the
    /// schedule in which passes take as long as their matrix products. With equal stages (PP - 1) / (VPP · micro
    /// batches), as in arXiv 2104.04473.
    #[tsify(type = "number")]
    pipeline_bubble_ppm: Exact,
    /// What is recomputed on all stages, in millionths of the matrix products of their forward passes.
    #[tsify(type = "number")]
    recomputed_ppm: Exact,
    /// The recomputed floating-point operations of a GPU of the slowest stage in one iteration.
    recomputed_flops: Exact,
    /// What a GPU of the slowest stage sends in one iteration to GPUs of its node or `NVLink` domain.
    near_bytes: Exact,
    /// What it sends over the network.
    network_bytes: Exact,
    /// Both as operations that the GPU could do meanwhile, in millionths of those of its passes.
    #[tsify(type = "number")]
    exchange_ppm: Exact,
    /// What it reads and writes of weights and main gradients for all micro batches, in the same measure.
    #[tsify(type = "number")]
    weights_ppm: Exact,
    /// The predicted time of a step in seconds, by which layouts are ordered; `null` where the prediction does not follow
    /// the job.
    step_seconds: Option<f64>,
    /// The place of the layout among the candidates of this call by the option `order`, the best first, counted from 1.
    /// Layouts whose predicted times differ by less than 5 % are a tie and share one. `null` for a layout that is not
    /// among the candidates.
    #[tsify(type = "number | null")]
    rank: Option<usize>,
    /// Whether another candidate of this call shares the rank.
    is_tie: bool,
    /// Whether the layout fits, but leaves so little memory free that it runs slower than predicted: such layouts stand
    /// behind all others that fit.
    nearly_full: bool,
    /// What the layout gains over the job's own, in words; empty for the own one and where there is none.
    gains: Vec<String>,
}

/// Changes, each by itself, with which a combination fits the GPU.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Remedy {
    index: Exact,
    /// The way of recomputing or offloading that would make it fit, in words; `null` where none would.
    recompute: Option<String>,
    /// The id of the smallest GPU that would hold it as it is; `null` where none would.
    gpu: Option<&'static str>,
}

/// Tries combinations of parallel sizes for a job in order, and lists those that Megatron runs with their memory. A
/// call tries a part of the combinations; pass `next` of its result as `from` to continue.
///
/// # Errors
/// Throws a `ConfigError` for a job with mistakes besides its layout, a `SearchError` for a job whose layouts cannot be
/// searched.
#[wasm_bindgen]
pub fn search(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    options: Option<Ts<SearchOptions>>,
) -> Result<Ts<Layouts>, JsValue> {
    let options = arguments::options(options)?;
    let job = Given::read(job, options.preset.as_deref())?.into_job();
    let space = Space::new(&job, &options.checked(&job)?).map_err(|why| unsearchable(&why))?;
    let range = options.from.unwrap_or(0)..options.until.unwrap_or(space.total());
    let steps = u32::try_from(options.steps.unwrap_or(STEPS).max(1)).unwrap_or(u32::MAX);
    let slice = search::search(&space, range, steps, options.keep()?);
    let explained = options.explain.filter(|index| *index < space.total());
    let mut layouts = Layouts::new(&space, &slice);
    layouts.remedy = explained.map(|index| Remedy::new(&space, index));
    to_ts(&layouts)
}

/// The error for a job whose layouts cannot be searched.
fn unsearchable(why: &Unsearchable) -> JsValue {
    match why {
        Unsearchable::Problems(problems) => error::config(problems),
        why => error::search(&why.to_string()),
    }
}

impl SearchOptions {
    /// Checks the options and converts them to those of the core.
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
        checked.order = match self.order.as_deref() {
            None | Some("time") => Order::Time,
            Some("memory") => Order::Memory,
            Some(_) => return Err(type_error("order must be time or memory")),
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
        let own = space.own_candidate();
        let marks = space.not_modelled();
        let layout = |c: &Candidate| Layout::new(space, c, own.as_ref());
        let ranks = search::ranks_among(&slice.candidates);
        let ranked = slice.candidates.iter().zip(&ranks);
        let candidates: Vec<Layout> = ranked.map(|(c, rank)| layout(c).ranked(*rank)).collect();
        let mut ranked = slice.candidates.iter().zip(&ranks);
        let own_rank = ranked.find(|(c, _)| own.as_ref().is_some_and(|own| own.index == c.index));
        let own_layout = own.as_ref().map(|own| match own_rank {
            Some((_, rank)) => layout(own).ranked(*rank),
            None => layout(own),
        });
        Self {
            total: space.total().into(),
            next: slice.next.map(Exact::from),
            looked_at: slice.looked_at.into(),
            legal: slice.legal.into(),
            too_large: slice.too_large.into(),
            tight: slice.tight.into(),
            vary: space.dimensions().iter().map(VariedSize::from).collect(),
            refused: refused.collect(),
            out_of_bounds: out_of_bounds.collect(),
            candidates,
            closest: slice.closest.as_ref().map(layout),
            own: own_layout,
            not_modelled: marks.iter().map(NotModelled::from).collect(),
            remedy: None,
        }
    }
}

impl From<&Dimension> for VariedSize {
    fn from(dimension: &Dimension) -> Self {
        let value = |pick: &Pick| match pick {
            Pick::Size(size) => VariedValue::Size((*size).into()),
            Pick::Recompute(_) | Pick::Training(_) => VariedValue::Words(pick.label()),
        };
        Self {
            name: name(dimension.axis),
            symbol: dimension.axis.symbol(),
            values: dimension.values.iter().map(value).collect(),
        }
    }
}

impl Layout {
    fn new(space: &Space, candidate: &Candidate, own: Option<&Candidate>) -> Self {
        let scale = Scale::fine(Unit::Gib);
        let gains = own.map(|own| candidate.gains_over(own));
        let gains = gains.into_iter().flatten();
        let crossing = candidate.crossing.kinds();
        let settings = space.settings(candidate.index).into_iter();
        let settings = settings.map(|(id, value)| (id.field().name.to_owned(), value));
        Self {
            index: candidate.index.into(),
            settings: PlainData(Value::Map(settings.collect())),
            peak_bytes: candidate.peak.into(),
            device_bytes: candidate.least.into(),
            headroom_bytes: candidate.headroom().map(Exact::from),
            verdict: space.verdict(candidate).id(),
            worst_stage: candidate.worst.pp_rank,
            trains_adapters: candidate.adapters,
            world_size: candidate.gpus.into(),
            gpus_per_replica: candidate.replica.into(),
            crossing_groups: crossing.map(search::GroupKind::symbol).collect(),
            virtual_pipeline_model_parallel_size: candidate.vpp.into(),
            data_parallel_size: candidate.dp.into(),
            expert_data_parallel_size: candidate.edp.into(),
            num_microbatches: candidate.num_microbatches.into(),
            pipeline_bubble_ppm: candidate.bubble_ppm.into(),
            recomputed_ppm: candidate.recomputed_ppm.into(),
            recomputed_flops: candidate.recomputed_flops.into(),
            near_bytes: candidate.traffic.near.into(),
            network_bytes: candidate.traffic.far.into(),
            exchange_ppm: candidate.exchange_ppm.into(),
            weights_ppm: candidate.weights_ppm.into(),
            step_seconds: candidate.step_nanoseconds.map(in_seconds),
            rank: None,
            is_tie: false,
            nearly_full: candidate.is_nearly_full(),
            gains: gains.map(|gain| gain.text(|b| scale.amount(b))).collect(),
        }
    }

    /// The layout with its rank among the candidates.
    fn ranked(self, rank: LayoutRank) -> Self {
        Self {
            rank: Some(rank.number),
            is_tie: rank.is_tie,
            ..self
        }
    }
}

impl Remedy {
    /// Changes, each by itself, with which a combination fits the GPU; `None` where Megatron refuses it.
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

#[allow(
    clippy::cast_precision_loss,
    clippy::float_arithmetic,
    reason = "a time in seconds has no more digits than a float"
)]
pub(crate) fn in_seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}
