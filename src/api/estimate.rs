//! `estimate`: the memory of a job.

mod alike;
pub mod methods;
pub mod options;
pub mod rank;
pub mod reserved;
pub mod savings;
pub mod stage;
pub mod time;

use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use super::framework_reports::Reports;
use super::job::Given;
use super::plain_data::ByName;
use super::{Exact, error, to_js, to_ts};
use alike::Alike;
use megatron_memory::config::choices::SoftwareStack;
use megatron_memory::config::job::{Config, Module};
use megatron_memory::config::raw::RawJob;
use megatron_memory::config::{Checked, check, not_modelled};
use megatron_memory::memory::bucket::{Bucket, ByBucket};
use megatron_memory::memory::parameters;
use megatron_memory::memory::{self, JobMoment, ModuleEstimate as ModuleResult, StageRef};
use megatron_memory::model::tensor::Sharding;
use megatron_memory::report::summary::Standing;
use megatron_memory::report::verdict;
use megatron_memory::units::Bytes;
use methods::{Method, TensorSaving};
use options::EstimateOptions;
use rank::{RankReport, WorstRank};
use reserved::Reserved;
use savings::Saving;
use stage::Stage;
use time::StepTime;

/// The memory of a job: the result of `estimate`. `derived`, `parameters`, `stages` and `reports` are those of the
/// first module.
#[derive(Debug, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Estimate {
    #[serde(flatten)]
    first_module: ModuleResults,
    /// Pipeline rank of the stage with the largest peak, counted from 0.
    worst_stage: usize,
    /// Index in `modules` of the module that the stage belongs to.
    worst_module: usize,
    /// The rank with the largest peak; where modules share ranks it includes all of them.
    worst_rank: WorstRank,
    /// The memory of the rank that the option `rank` asks for; `null` without the option.
    rank: Option<RankReport>,
    /// With the option `ledger`, the memory that each way of recomputing or offloading would save; otherwise `null`.
    ledger: Option<Vec<Saving>>,
    /// With the option `reserved`, what PyTorch's allocator reserves on `worst_rank`. `null` without it, with CUDA
    /// graphs, which the replay does not follow, and where the job sets other factors than the defaults of
    /// `reserved_over_allocated_low` and `reserved_over_allocated_high`.
    reserved: Option<Reserved>,
    /// With the option `methods`, the job trained in full, with adapters, and with Megatron FSDP; otherwise `null`. In
    /// a job of several modules it is the module of the stage with the largest peak that is trained so.
    methods: Option<Vec<Method>>,
    /// With the option `methods` in a job with adapters: the tensors at the peak of the stage with the largest peak
    /// whose size differs from full training, those that save most first; otherwise `null`.
    saved_by_adapters: Option<Vec<TensorSaving>>,
    modules: Vec<ModuleEstimate>,
    /// The memory with average micro batches of packed samples. Everything else is of the fullest one, which is the one
    /// that runs out of memory. `null` where samples are not packed, every micro batch is full, or `mean_sample_length`
    /// is not given.
    average_batch: Option<AverageBatch>,
    /// The moment whose memory is reported: the option `moment`, or `later_iteration`. The verdict is that of later
    /// iterations, whatever the moment.
    #[tsify(type = "JobMoment")]
    moment: &'static str,
    /// The software whose memory is reported: the option `stack`, or the job's `software_stack`.
    #[tsify(type = "SoftwareStack")]
    stack: &'static str,
    /// Whether the job fits its GPU: with the largest overheads (`fits`), only with the smallest (`tight`), or not even
    /// with those. Where that is `tight` by the factors of reserved over allocated memory, it is found again by a replay of
    /// PyTorch's allocator, which takes up to a third of a second. `not_this_job` where `not_modelled` has an entry: the
    /// memory is then that of a job without it.
    /// `cannot_run` where Megatron's schedule refuses the job when training starts. `null` where no GPU is chosen.
    #[tsify(type = "\"fits\" | \"tight\" | \"does_not_fit\" | \"not_this_job\" | \"cannot_run\" | null")]
    verdict: Option<&'static str>,
    /// The reason of the verdict in words.
    verdict_reason: String,
    /// The predicted time of an optimizer step, in later iterations whatever the moment; `null` where the prediction does
    /// not follow the job.
    time: Option<StepTime>,
    /// Why `time` is `null`; `null` where it is not.
    time_reason: Option<String>,
    /// Settings that the estimate leaves out although they change the job's memory by 2 % or more, sorted by key: those
    /// listed under `not_modelled` in the job, and arguments of the job such as `perform_rl_step`.
    not_modelled: Vec<NotModelled>,
    /// Messages about settings that Megatron accepts but that are probably not meant.
    warnings: Vec<String>,
    /// The assumptions that the estimate makes about this job, one sentence each.
    assumptions: Vec<String>,
}

/// A key that changes memory by 2 % or more and is not modelled.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct NotModelled {
    /// The key as its source spells it.
    key: String,
    /// The part of the memory that the estimate leaves out, in words.
    reason: String,
}

/// The memory with average micro batches of packed samples.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct AverageBatch {
    /// Tokens of the average micro batch over context-parallel ranks, with the padding of its samples.
    tokens: Exact,
    /// Tokens of the fullest micro batch.
    fullest_tokens: Exact,
    /// The peak of the rank that needs most, in bytes.
    total: Exact,
}

impl From<memory::AverageBatch> for AverageBatch {
    fn from(average: memory::AverageBatch) -> Self {
        Self {
            tokens: average.tokens.into(),
            fullest_tokens: average.fullest.into(),
            total: average.total.into(),
        }
    }
}

/// The memory of one module.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct ModuleEstimate {
    name: String,
    /// The module's first rank.
    rank_offset: Exact,
    /// The number of the module's ranks.
    ranks: Exact,
    #[serde(flatten)]
    results: ModuleResults,
}

/// The results of one module. They are JavaScript values, so that `estimate` returns the first module's objects twice
/// without converting them twice.
#[derive(Clone, Debug, Default, Serialize, Tsify)]
pub struct ModuleResults {
    #[serde(with = "serde_wasm_bindgen::preserve")]
    #[tsify(type = "Derived")]
    derived: JsValue,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    #[tsify(type = "ModelParameters")]
    parameters: JsValue,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    #[tsify(type = "Stage[]")]
    stages: JsValue,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    #[tsify(type = "Reports")]
    reports: JsValue,
}

/// Sizes that Megatron derives from a module's arguments.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct Derived {
    world_size: Exact,
    data_parallel_size: Exact,
    expert_data_parallel_size: Exact,
    expert_tensor_parallel_size: Exact,
    virtual_pipeline_model_parallel_size: Exact,
    padded_vocab_size: Exact,
    num_microbatches: Exact,
    global_batch_size: Exact,
    ffn_hidden_size: Exact,
    kv_channels: Exact,
    experts_per_rank: Exact,
    sequence_parallel: bool,
}

/// Numbers of parameter elements, in a chunk or in a whole model.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct Parameters {
    total: Exact,
    /// Elements that are trained. Without adapters and frozen modules these are all.
    trainable: Exact,
    /// Elements that are not trained.
    frozen: Exact,
    /// Elements of parameters that tensor parallelism splits.
    tp_sharded: Exact,
    /// Elements of parameters that every tensor-parallel rank holds in full.
    replicated: Exact,
    /// Elements of routed experts.
    expert: Exact,
    /// Elements by component, such as `attention` or `mtp_routed_experts`.
    #[tsify(type = "Record<string, Exact>")]
    components: ByName,
}

/// Numbers of parameter elements of a whole model, before any parallelism.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct ModelParameters {
    /// Elements that take part in the computation for one token: of the routed experts only the top k.
    active: Exact,
    #[serde(flatten)]
    all: Parameters,
}

/// The memory of every pipeline stage of a job. The options add the memory of one `rank`, the `timeline` of an
/// iteration, the `ledger` of what recomputing would save, what PyTorch's allocator has `reserved`, and the `methods`
/// of training beside each other; they set the `moment` whose memory is reported, such as `first_iteration`, and the
/// software, as `stack`. These keys may also stand in the job itself.
///
/// # Errors
/// Throws a `ConfigError` whose `problems` lists everything that is wrong with the job, a `TypeError` for what is no job
/// and for an option that does not exist, such as an unknown moment or stack, and a `RankError` for a rank that no module
/// has.
#[wasm_bindgen]
pub fn estimate(
    #[wasm_bindgen(unchecked_param_type = "Job | string")] job: &JsValue,
    options: Option<Ts<EstimateOptions>>,
) -> Result<Ts<Estimate>, JsValue> {
    let options = EstimateOptions::of(options, job)?;
    let Given { state, notices } = Given::read(job, None)?;
    let mut raw = state.setup.job;
    options::remove_from(&mut raw);
    options.set_stack(&mut raw);
    let checked = check(&raw);
    let Some(config) = &checked.config else {
        return Err(error::config(&checked.problems));
    };
    let mut estimate = Estimate::new(&raw, &checked, config, options)?;
    estimate.warnings.splice(..0, notices);
    to_ts(&estimate)
}

/// A checked job with its estimate and the caller's options.
#[derive(Clone, Copy, Debug)]
struct Results<'r> {
    config: &'r Config,
    estimate: &'r memory::Estimate,
    options: EstimateOptions,
}

impl Estimate {
    fn new(raw: &RawJob, checked: &Checked, config: &Config, options: EstimateOptions) -> Result<Self, JsValue> {
        let moment = options.moment.unwrap_or_default();
        let estimate = &memory::estimate_at(config, moment);
        let results = Results {
            config,
            estimate,
            options,
        };
        let of_rank = |rank| memory::rank_memory(config, estimate, rank).ok_or_else(|| error::no_rank(config));
        let rank = options.rank.map(of_rank).transpose()?;
        let ledger = options.ledger.unwrap_or_default().then(|| {
            let stage = rank.as_ref().and_then(|rank| rank.stages.first());
            savings::ledger(raw, *stage.unwrap_or(&estimate.worst))
        });
        let replays = options.reserved.unwrap_or_default();
        let compares = options.methods.unwrap_or_default();
        let modules = config.modules().iter().zip(&estimate.modules).enumerate();
        let modules = modules.map(|(index, (m, of))| ModuleEstimate::new(results, index, m, of));
        let modules: Vec<ModuleEstimate> = modules.collect::<Result<_, _>>()?;
        let first_module = modules.first().map(|module| module.results.clone());
        let assumptions = memory::assumptions(config);
        // A job has to fit all its iterations.
        let of_later = (moment != JobMoment::default()).then(|| memory::estimate(config));
        let later = of_later.as_ref().unwrap_or(estimate);
        let summary = Standing::new(config, later);
        let time = StepTime::new(config, later);
        let stack = config.modules().first();
        let stack = stack.map_or(SoftwareStack::MegatronMain, |m| m.args().software_stack);
        Ok(Self {
            first_module: first_module.unwrap_or_default(),
            worst_stage: estimate.worst.pp_rank,
            worst_module: estimate.worst.module,
            worst_rank: WorstRank::new(config, &estimate.worst_rank),
            rank: rank.map(|rank| RankReport::new(results, &rank)).transpose()?,
            ledger,
            reserved: replays.then(|| Reserved::new(config, estimate, moment)).flatten(),
            methods: compares.then(|| methods::methods(raw, estimate.worst.module)),
            saved_by_adapters: compares.then(|| methods::tensors(raw, estimate.worst)),
            modules,
            average_batch: estimate.average_batch.map(AverageBatch::from),
            moment: moment.name(),
            stack: stack.name(),
            verdict: summary.verdict.id(),
            verdict_reason: verdict::reason(config, summary.device),
            time_reason: time.as_ref().err().map(ToString::to_string),
            time: time.ok(),
            not_modelled: config.not_modelled().iter().map(NotModelled::from).collect(),
            warnings: checked.warnings().map(|problem| problem.message.clone()).collect(),
            assumptions: assumptions
                .into_iter()
                .chain(memory::freezing(config, estimate))
                .collect(),
        })
    }
}

impl From<&not_modelled::NotModelled> for NotModelled {
    fn from(mark: &not_modelled::NotModelled) -> Self {
        Self {
            key: mark.key.clone(),
            reason: mark.reason.clone().into_owned(),
        }
    }
}

impl ModuleEstimate {
    fn new(results: Results<'_>, module: usize, m: &Module, estimate: &ModuleResult) -> Result<Self, JsValue> {
        let stages = estimate.stages.iter().enumerate();
        let mut alike = Alike::default();
        let stages = stages.map(|(pp_rank, stage)| {
            let at = StageRef { module, pp_rank };
            Stage::new(results, at, (m, stage), &mut alike)
        });
        let stages: Vec<Stage> = stages.collect::<Result<_, _>>()?;
        let parameters = ModelParameters {
            active: estimate.active_parameters.into(),
            all: Parameters::new(m, &estimate.parameters),
        };
        Ok(Self {
            name: m.name().to_owned(),
            rank_offset: m.rank_offset().into(),
            ranks: m.ranks().into(),
            results: ModuleResults {
                derived: to_js(&Derived::new(results.config, m))?,
                parameters: to_js(&parameters)?,
                stages: to_js(&stages)?,
                reports: to_js(&Reports::new(m, estimate))?,
            },
        })
    }
}

impl Derived {
    fn new(config: &Config, m: &Module) -> Self {
        let derived = m.derived();
        Self {
            world_size: config.world_size().into(),
            data_parallel_size: derived.data_parallel_size.into(),
            expert_data_parallel_size: derived.expert_data_parallel_size.into(),
            expert_tensor_parallel_size: derived.expert_tensor_parallel_size.into(),
            virtual_pipeline_model_parallel_size: derived.virtual_pipeline_model_parallel_size.into(),
            padded_vocab_size: derived.padded_vocab_size.into(),
            num_microbatches: derived.num_microbatches.into(),
            global_batch_size: derived.global_batch_size.into(),
            ffn_hidden_size: derived.ffn_hidden_size.into(),
            kv_channels: derived.kv_channels.into(),
            experts_per_rank: derived.experts_per_rank.into(),
            sequence_parallel: derived.sequence_parallel,
        }
    }
}

impl Parameters {
    /// Those of a module, counted somewhere.
    fn new(m: &Module, parameters: &parameters::Parameters) -> Self {
        let trainable = parameters.trainable(m);
        let components = parameters.components();
        let components = components.map(|(of, mtp, elements)| (of.id(mtp), elements.into()));
        Self {
            total: parameters.total().into(),
            trainable: trainable.into(),
            frozen: parameters.total().saturating_sub(trainable).into(),
            tp_sharded: parameters.held(Sharding::TpSharded).into(),
            replicated: parameters.held(Sharding::Replicated).into(),
            expert: parameters.held(Sharding::Expert).into(),
            components: ByName(components.collect()),
        }
    }
}

/// Bytes by bucket under the buckets' ids, and their sum as `total`.
pub(super) fn by_bucket(memory: &ByBucket, total: Bytes) -> ByName {
    let buckets = Bucket::ALL.iter().map(|bucket| bucket.id());
    let buckets = buckets.zip(memory.iter().map(|bytes| Exact::from(*bytes)));
    ByName(buckets.chain([("total", total.into())]).collect())
}
