//! The combinations of a search: their number, and the job of each.

use serde::{Deserialize, Serialize};

use super::axis::{Axis, Pick, checkable_at, divisors};
use crate::config::canonical::{Meaning, differences, meaning};
use crate::config::fields::FieldId;
use crate::config::hybrid_pattern::HybridPattern;
use crate::config::job::{Config, Module};
use crate::config::parse::Parsed;
use crate::config::problem::{Problem, Severity};
use crate::config::raw::RawJob;
use crate::config::{Checked, check};
use crate::memory::savings::{Choice, choice_of, choices};
use crate::units::Bytes;
use crate::value::Value;

/// How layers are split over stages where the pipeline-parallel size varies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Split {
    /// As the job says: evenly, by its pipeline layout, or with its numbers of layers of the first and last stage.
    #[default]
    AsGiven,
    /// Evenly, with fewer layers in the last stage where the number of layers is not divisible.
    RestInLastStage,
}

/// The axes that a search varies, with their bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The axes that vary. Everything else stays as in the job.
    pub vary: Vec<Axis>,
    /// The largest values of axes. An axis that is not listed has no bound.
    pub at_most: Vec<(Axis, u64)>,
    /// How layers are split over stages.
    pub split: Split,
}

/// Why a job's layouts cannot be searched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unsearchable {
    /// The job breaks these rules with every layout.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Problems(Vec<Problem>),
    /// The job has several modules, each of which would have layouts of its own.
    #[error("layouts are searched for jobs of one model")]
    SeveralModules,
    /// There are more combinations than 64 bits count.
    #[error("there are more than 2^64 layouts")]
    TooMany,
}

/// One axis of a space with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The axis.
    pub axis: Axis,
    /// The axis's values. Sizes ascend from 1.
    pub values: Vec<Pick>,
    /// The names of the rules that can be checked once this axis has its value.
    pub(super) rules: Vec<&'static str>,
    /// The largest size within the bounds.
    pub(super) at_most: u64,
}

/// All combinations of the values of some axes for a job.
#[derive(Clone, Debug)]
pub struct Space {
    /// The job that the search starts from.
    given: RawJob,
    /// The job with the settings that all combinations share, and the first value of every axis.
    pub(super) base: RawJob,
    pub(super) dimensions: Vec<Dimension>,
    total: u64,
    split: Split,
    num_layers: u64,
    /// The pattern of a hybrid model, whose `|` decide on stages.
    pattern: Option<HybridPattern>,
    gpu: Option<Bytes>,
    experts: bool,
    world_size: u64,
    global_batch_size: u64,
    /// Whether combinations with a TP above 1 use sequence parallelism.
    sequence_parallel: bool,
}

impl Dimension {
    /// The number of values within the bound.
    #[must_use]
    pub fn within(&self) -> usize {
        let within = |pick: &&Pick| !matches!(pick, Pick::Size(size) if *size > self.at_most);
        self.values.iter().filter(within).count()
    }
}

impl Options {
    /// The default options for a job: TP (at most the GPUs of a node) and PP vary, EP where the job has experts, and every
    /// other parallel size that the job sets above 1.
    #[must_use]
    pub fn usual(job: &RawJob) -> Self {
        let size = |axis: Axis| number(job, axis.field()).unwrap_or(1);
        let experts = number(job, FieldId::num_experts).is_some_and(|experts| experts > 0);
        let worth = |axis: &Axis| match axis {
            Axis::Pipeline | Axis::Tensor => true,
            Axis::Expert => experts,
            Axis::Virtual | Axis::Context => size(*axis) > 1,
            Axis::ExpertTensor => experts && size(*axis) > 1,
            Axis::MicroBatch | Axis::Recompute => false,
        };
        let node = number(job, FieldId::gpus_per_node);
        Self {
            vary: Axis::ALL.into_iter().filter(worth).collect(),
            at_most: node.map(|node| (Axis::Tensor, node)).into_iter().collect(),
            split: Split::AsGiven,
        }
    }
}

impl Space {
    /// The space of a job. The job's own layout may be refused as long as the job can run with another.
    ///
    /// # Errors
    /// When the job's layouts cannot be searched.
    pub fn new(job: &RawJob, options: &Options) -> Result<Self, Unsearchable> {
        if !job.modules.is_empty() {
            return Err(Unsearchable::SeveralModules);
        }
        let varied: Vec<Axis> = Axis::ALL
            .into_iter()
            .filter(|axis| options.vary.contains(axis))
            .filter(|axis| *axis != Axis::Virtual || !follows_layout(job, options.split))
            .collect();
        let config = reference_config(job, &varied, options.split)?;
        let Some(m) = config.modules().first() else {
            return Err(Unsearchable::SeveralModules);
        };
        let a = m.args();
        let given_tp = number(job, FieldId::tensor_model_parallel_size);
        // The reference configuration may have another number of GPUs. The batch keeps its samples for each GPU.
        let world_size = number(job, FieldId::world_size).unwrap_or(config.world_size());
        let samples = m.derived().global_batch_size.saturating_mul(world_size);
        let global_batch_size =
            number(job, FieldId::global_batch_size).unwrap_or(samples / config.world_size());
        let mut space = Self {
            given: job.clone(),
            base: job.clone(),
            dimensions: Vec::new(),
            total: 1,
            split: options.split,
            num_layers: a.num_layers,
            pattern: m.hybrid().cloned(),
            gpu: config.gpu_memory(),
            experts: a.num_experts.is_some(),
            world_size,
            global_batch_size,
            sequence_parallel: a.sequence_parallel
                || given_tp.is_none_or(|tp| tp == 1)
                || a.num_experts.is_some(),
        };
        // Without these settings both would follow from the sizes of each combination.
        for (field, value) in [
            (FieldId::world_size, space.world_size),
            (FieldId::global_batch_size, space.global_batch_size),
        ] {
            space.base.shared.set(field, Value::Int(value.into()));
        }
        space.base.shared.unset(FieldId::data_parallel_size);
        unset_other_splits(&mut space.base, &varied, options.split);
        for axis in &varied {
            let values = space.values(*axis, m);
            let bound = options.at_most.iter().find(|(of, _)| of == axis);
            let length = u64::try_from(values.len()).unwrap_or(u64::MAX);
            let total = space.total.checked_mul(length);
            space.total = total.ok_or(Unsearchable::TooMany)?;
            space.dimensions.push(Dimension {
                axis: *axis,
                values,
                rules: checkable_at(*axis, &varied),
                at_most: bound.map_or(u64::MAX, |(_, most)| *most),
            });
        }
        for dimension in space.dimensions.clone() {
            if let Some(first) = dimension.values.first() {
                let mut base = core::mem::take(&mut space.base);
                space.apply(&mut base, dimension.axis, *first);
                space.base = base;
            }
        }
        Ok(space)
    }

    /// The values of an axis that can be legal: parallel sizes divide the number of GPUs, the micro batch the global batch,
    /// and the chunks the number of layers.
    fn values(&self, axis: Axis, m: &Module) -> Vec<Pick> {
        let a = m.args();
        let sizes = match axis {
            Axis::Pipeline | Axis::Tensor | Axis::Context | Axis::Expert | Axis::ExpertTensor => {
                divisors(self.world_size)
            }
            Axis::Virtual => {
                let counted = [
                    a.account_for_embedding_in_pipeline_split,
                    a.account_for_loss_in_pipeline_split,
                ];
                let counted = counted.into_iter().map(u64::from).sum::<u64>();
                divisors(a.num_layers.saturating_add(counted))
            }
            Axis::MicroBatch => divisors(self.global_batch_size),
            Axis::Recompute => {
                // Choices that recompute some layers of a chunk fit one layout only.
                let now = choice_of(m);
                let general = |choice: &Choice| {
                    matches!(
                        choice,
                        Choice::Nothing | Choice::Selective(_) | Choice::Uniform(1)
                    )
                };
                let others = choices(m)
                    .into_iter()
                    .filter(|choice| general(choice) && *choice != now)
                    .map(|choice| Pick::Recompute(Some(choice)));
                return [Pick::Recompute(None)].into_iter().chain(others).collect();
            }
        };
        sizes.into_iter().map(Pick::Size).collect()
    }

    /// The number of combinations, legal or not.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of GPUs, the same for all combinations.
    #[must_use]
    pub fn world_size(&self) -> u64 {
        self.world_size
    }

    /// The global batch size, the same for all combinations.
    #[must_use]
    pub fn global_batch_size(&self) -> u64 {
        self.global_batch_size
    }

    /// Whether the model has routed experts.
    #[must_use]
    pub fn has_experts(&self) -> bool {
        self.experts
    }

    /// The memory of a GPU; `None` where no GPU is chosen.
    #[must_use]
    pub fn gpu_memory(&self) -> Option<Bytes> {
        self.gpu
    }

    /// The axes that vary, in the order of the digits of an index, highest digit first.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The number of combinations that share all digits of their index up to and including `level`.
    pub(super) fn combinations_below(&self, level: usize) -> u64 {
        let later = self.dimensions.iter().skip(level + 1);
        later
            .map(|d| u64::try_from(d.values.len()).unwrap_or(1))
            .product()
    }

    /// One digit of a combination's index: the position of its value in the list of the axis at `level`.
    #[must_use]
    pub fn digit(&self, index: u64, level: usize) -> u64 {
        let dimension = self.dimensions.get(level);
        let length = dimension.map_or(1, |d| u64::try_from(d.values.len()).unwrap_or(1));
        index / self.combinations_below(level) % length.max(1)
    }

    /// The value that a combination has on the axis at `level`.
    #[must_use]
    pub fn pick(&self, index: u64, level: usize) -> Option<Pick> {
        let digit = usize::try_from(self.digit(index, level)).ok()?;
        self.dimensions.get(level)?.values.get(digit).copied()
    }

    /// The values that a combination has, axis by axis.
    #[must_use]
    pub fn picks(&self, index: u64) -> Vec<Pick> {
        let levels = 0..self.dimensions.len();
        levels.filter_map(|level| self.pick(index, level)).collect()
    }

    /// The job of a combination.
    #[must_use]
    pub fn job(&self, index: u64) -> RawJob {
        let mut job = self.base.clone();
        for (dimension, pick) in self.dimensions.iter().zip(self.picks(index)) {
            self.apply(&mut job, dimension.axis, pick);
        }
        job
    }

    /// The settings in which a combination differs from the job; null stands for a default.
    #[must_use]
    pub fn settings(&self, index: u64) -> Vec<(FieldId, Value)> {
        let job = self.job(index);
        differences(&job.shared, &self.given.shared)
            .map(|(id, meaning)| (id, meaning.to_value(id)))
            .collect()
    }

    /// Sets the fields of a job that a value of an axis stands for.
    pub(super) fn apply(&self, job: &mut RawJob, axis: Axis, pick: Pick) {
        let size = match pick {
            Pick::Size(size) => size,
            Pick::Recompute(choice) => {
                for (field, value) in choice.map(Choice::settings).unwrap_or_default() {
                    job.shared.set(field, value);
                }
                return;
            }
        };
        let value = match (axis, size) {
            (Axis::Virtual, 1) => Value::Null,
            _ => Value::Int(size.into()),
        };
        job.shared.set(axis.field(), value);
        match axis {
            Axis::Tensor if size > 1 && self.sequence_parallel => {
                job.shared
                    .set(FieldId::sequence_parallel, Value::Bool(true));
            }
            Axis::Tensor => match self.given.shared.get(FieldId::sequence_parallel) {
                Some(given) => job.shared.set(FieldId::sequence_parallel, given.clone()),
                None => job.shared.unset(FieldId::sequence_parallel),
            },
            Axis::Pipeline | Axis::Virtual if self.pattern.is_some() => self.cut_pattern(job),
            Axis::Pipeline if self.split == Split::RestInLastStage => {
                let field = FieldId::decoder_last_pipeline_num_layers;
                match layers_of_last_stage(self.num_layers, size) {
                    Some(layers) => job.shared.set(field, Value::Int(layers.into())),
                    None => job.shared.unset(field),
                }
            }
            _ => {}
        }
    }
}

impl Space {
    /// Cuts the pattern of a hybrid model into one segment for each chunk of a combination. Where the job's own pattern has
    /// as many segments, it stays as it is.
    fn cut_pattern(&self, job: &mut RawJob) {
        let Some(pattern) = &self.pattern else { return };
        let size = |field| number(job, field).unwrap_or(1);
        let chunks = size(FieldId::pipeline_model_parallel_size)
            .saturating_mul(size(FieldId::virtual_pipeline_model_parallel_size));
        let chunks = usize::try_from(chunks).unwrap_or(usize::MAX);
        let cut = if chunks == pattern.segments().len() {
            pattern.to_string()
        } else {
            // No more segments than layers: a combination with more chunks is refused.
            let layers = pattern.layers().count();
            pattern.in_segments(chunks.min(layers)).to_string()
        };
        job.shared
            .set(FieldId::hybrid_layer_pattern, Value::Text(cut));
    }
}

/// The layers that are left for the last stage where the others have `layers / stages` each, rounded up; `None` where the
/// division is exact or nothing is left.
fn layers_of_last_stage(layers: u64, stages: u64) -> Option<u64> {
    let others = layers
        .div_ceil(stages)
        .saturating_mul(stages.saturating_sub(1));
    let rest = layers.checked_sub(others)?;
    (rest > 0 && !layers.is_multiple_of(stages)).then_some(rest)
}

/// Whether the number of virtual stages follows from the job's pipeline layout.
fn follows_layout(job: &RawJob, split: Split) -> bool {
    let layout = job.shared.get(FieldId::pipeline_model_parallel_layout);
    split == Split::AsGiven && layout.is_some_and(|layout| *layout != Value::Null)
}

/// The whole number that a field has in a job, set or by default.
fn number(job: &RawJob, field: FieldId) -> Option<u64> {
    match meaning(field, job.shared.get(field)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    }
}

/// Unsets the fields that split layers in another way than the search does.
fn unset_other_splits(job: &mut RawJob, varied: &[Axis], split: Split) {
    use FieldId as F;
    if varied.contains(&Axis::Virtual) {
        job.shared.unset(F::num_layers_per_virtual_pipeline_stage);
        job.shared.unset(F::num_virtual_stages_per_pipeline_rank);
    }
    if split == Split::RestInLastStage {
        for field in [
            F::pipeline_model_parallel_layout,
            F::decoder_first_pipeline_num_layers,
            F::decoder_last_pipeline_num_layers,
            F::account_for_embedding_in_pipeline_split,
            F::account_for_loss_in_pipeline_split,
        ] {
            job.shared.unset(field);
        }
    }
}

/// The job's own configuration, or, where Megatron refuses the job's layout, that of the job with the smallest layout: all
/// sizes that vary are 1. Problems of single layouts are found when their combinations are tried; so this job also drops
/// the number of GPUs and the split of layers, which need not fit the smallest layout.
fn reference_config(job: &RawJob, varied: &[Axis], split: Split) -> Result<Config, Unsearchable> {
    use FieldId as F;
    if let Some(config) = check(job).config {
        return Ok(config);
    }
    let mut smallest = job.clone();
    smallest.shared.unset(FieldId::data_parallel_size);
    unset_other_splits(&mut smallest, varied, split);
    for axis in varied.iter().filter(|axis| **axis != Axis::Recompute) {
        smallest.shared.unset(axis.field());
    }
    if let Some(config) = check(&smallest).config {
        return Ok(config);
    }
    if varied.contains(&Axis::Pipeline) {
        for field in [
            F::pipeline_model_parallel_layout,
            F::decoder_first_pipeline_num_layers,
            F::decoder_last_pipeline_num_layers,
            F::virtual_pipeline_model_parallel_size,
            F::num_layers_per_virtual_pipeline_stage,
            F::num_virtual_stages_per_pipeline_rank,
        ] {
            smallest.shared.unset(field);
        }
    }
    let sizes = [
        F::tensor_model_parallel_size,
        F::pipeline_model_parallel_size,
        F::context_parallel_size,
        F::expert_model_parallel_size,
        F::expert_tensor_parallel_size,
        F::num_distributed_optimizer_instances,
    ];
    let sizes = sizes.iter().filter_map(|field| number(&smallest, *field));
    let ranks = sizes.fold(1, u64::saturating_mul);
    for (field, value) in [
        (F::world_size, Value::Int(ranks.into())),
        (F::global_batch_size, Value::Null),
    ] {
        // A value that cannot be read stays, so that the check reports it.
        if number(&smallest, field).is_some() {
            smallest.shared.set(field, value);
        }
    }
    let Checked {
        config,
        mut problems,
    } = check(&smallest);
    problems.retain(|p| p.severity == Severity::Error);
    config.ok_or(Unsearchable::Problems(problems))
}
