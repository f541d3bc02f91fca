//! The combinations of a search: their number, and the job of each.

use super::axis::{Axis, Pick, checkable_at, divisors};
use super::options::{Options, Split};
use super::reference::{reference_config, unset_other_splits};
use super::shares::Shares;
use super::training::Training;
use super::{Candidate, Keep, search};
use crate::config::canonical::{Meaning, differences, meaning};
use crate::config::fields::FieldId;
use crate::config::hybrid_pattern::HybridPattern;
use crate::config::job::Module;
use crate::config::not_modelled::NotModelled;
use crate::config::parse::{Parsed, parse};
use crate::config::problem::Problem;
use crate::config::raw::RawJob;
use crate::config::{Prepared, Refusals, check};
use crate::memory::savings::{Choice, choice_of, choices};
use crate::parallel::mimo::LANGUAGE_MODULE;
use crate::units::Bytes;
use crate::value::Value;

/// The least number of shares that a space is parted into, if it has as many combinations: many, since some take much longer
/// than others.
const SHARES: u64 = 256;
/// Combinations of a share whose tapes a searcher still has when it comes to the next one.
const SHORT_SHARE: u64 = 1 << 16;
/// The most shares into which a large space is parted to make them short.
const MOST_SHARES: u64 = 8192;

/// Why a job's layouts cannot be searched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unsearchable {
    /// The job breaks these rules with every layout.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Problems(Vec<Problem>),
    /// The job has no language model.
    #[error("the job has no language model, whose layouts are searched")]
    NoLanguageModel,
    /// There are more combinations than 64 bits count.
    #[error("there are more than 2^64 layouts")]
    TooMany,
}

/// One axis of a space with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The axis.
    pub axis: Axis,
    /// The axis's values. Sizes ascend from 1.
    pub values: Vec<Pick>,
    /// The names of the rules that can be checked once this axis has its value.
    pub(super) rules: Vec<&'static str>,
    /// The largest size within the bounds.
    pub(super) at_most: u64,
    /// The arguments that each value sets, with `None` for a default; empty where combinations are not [prepared](Prepared).
    pub(super) changes: Vec<Changes>,
    /// The number of combinations that share the values of this axis and of those before it.
    pub(super) below: u64,
}

/// Fields with the values that they are set to.
pub(super) type Changes = Vec<(FieldId, Option<Parsed>)>;

/// All combinations of the values of some axes for a job.
#[derive(Clone, Debug)]
pub struct Space {
    /// The job that the search starts from.
    given: RawJob,
    /// The job with the settings that all combinations share, and the first value of every axis.
    pub(super) base: RawJob,
    pub(super) dimensions: Vec<Dimension>,
    /// The base, with its fields read; `None` where combinations are checked as raw jobs.
    pub(super) prepared: Option<Prepared>,
    /// All rules that refuse combinations.
    pub(super) refusals: Refusals,
    /// Those of each dimension, in their order.
    pub(super) refusals_at: Vec<Refusals>,
    /// Those that are not checked before the last axis has its value.
    pub(super) refusals_at_end: Refusals,
    total: u64,
    split: Split,
    num_layers: u64,
    /// The pattern of a hybrid model, whose `|` decide on stages.
    pattern: Option<HybridPattern>,
    gpu: Option<Bytes>,
    not_modelled: Vec<NotModelled>,
    experts: bool,
    /// The language model among the modules of the job.
    module: usize,
    /// The ranks of the language model, where other modules have ranks too.
    ranks: Option<u64>,
    /// GPUs of the job.
    world_size: u64,
    /// The largest number of GPUs that a combination has for the language model.
    most_gpus: u64,
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

impl Space {
    /// The space of a job. The job's own layout may be refused as long as the job can run with another.
    ///
    /// # Errors
    /// When the job's layouts cannot be searched.
    pub fn new(job: &RawJob, options: &Options) -> Result<Self, Unsearchable> {
        let language = job.modules.iter().position(|m| m.name == LANGUAGE_MODULE);
        if language.is_none() && !job.modules.is_empty() {
            return Err(Unsearchable::NoLanguageModel);
        }
        let module = language.unwrap_or(0);
        let number = |field| number(job, module, field);
        let varied: Vec<Axis> = Axis::ALL
            .into_iter()
            .filter(|axis| options.vary.contains(axis))
            .filter(|axis| *axis != Axis::Virtual || !follows_layout(job, module, options.split))
            // Other modules have ranks of their own, after those of the language model.
            .filter(|axis| *axis != Axis::Gpus || job.modules.len() < 2)
            .collect();
        let config = reference_config(job, &varied, options.split)?;
        let Some(m) = config.modules().get(module) else {
            return Err(Unsearchable::NoLanguageModel);
        };
        let ranks = (job.modules.len() > 1).then(|| m.ranks());
        let a = m.args();
        let given_tp = number(FieldId::tensor_model_parallel_size);
        // The reference configuration may have another number of GPUs. The batch keeps its samples for each GPU.
        let world_size = number(FieldId::world_size).unwrap_or(config.world_size());
        let samples = m.derived().global_batch_size.saturating_mul(world_size);
        let global_batch_size =
            number(FieldId::global_batch_size).unwrap_or(samples / config.world_size());
        let mut space = Self {
            given: job.clone(),
            base: job.clone(),
            dimensions: Vec::new(),
            prepared: None,
            refusals: Refusals::all(),
            refusals_at: Vec::new(),
            refusals_at_end: Refusals::all(),
            total: 1,
            split: options.split,
            num_layers: a.num_layers,
            pattern: m.hybrid().cloned(),
            gpu: config.gpu_memory(),
            not_modelled: config.not_modelled().to_vec(),
            experts: a.num_experts.is_some(),
            world_size,
            most_gpus: ranks.unwrap_or_else(|| options.most_gpus(world_size)),
            module,
            ranks,
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
            space.base.put(module, field, Value::Int(value.into()));
        }
        unset(&mut space.base, module, FieldId::data_parallel_size);
        unset_other_splits(&mut space.base, module, &varied, options.split);
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
                changes: Vec::new(),
                below: 1,
            });
        }
        let mut below = 1;
        for dimension in space.dimensions.iter_mut().rev() {
            dimension.below = below;
            below *= u64::try_from(dimension.values.len()).unwrap_or(1);
        }
        for dimension in space.dimensions.clone() {
            if let Some(first) = dimension.values.first() {
                let mut base = core::mem::take(&mut space.base);
                space.apply(&mut base, dimension.axis, *first);
                space.base = base;
            }
        }
        space.prepare();
        Ok(space)
    }

    /// Reads the fields of the base and of every value once, where they can be read.
    fn prepare(&mut self) {
        self.prepared = Prepared::new(&self.base);
        if self.prepared.is_none() {
            return;
        }
        let changes = self.dimensions.iter().map(|dimension| {
            let values = dimension.values.iter();
            values
                .map(|pick| self.changes(dimension.axis, *pick))
                .collect()
        });
        let changes: Option<Vec<Vec<Changes>>> = changes.collect();
        match changes {
            Some(changes) => {
                for (dimension, changes) in self.dimensions.iter_mut().zip(changes) {
                    dimension.changes = changes;
                }
            }
            None => self.prepared = None,
        }
        let of = |d: &Dimension| self.refusals.among(|rule| d.rules.contains(&rule));
        self.refusals_at = self.dimensions.iter().map(of).collect();
        if let Some((_, before)) = self.dimensions.split_last() {
            let at_end = |rule: &str| before.iter().all(|d| !d.rules.contains(&rule));
            self.refusals_at_end = self.refusals.among(at_end);
        }
    }

    /// The arguments that a value of an axis sets; `None` where a field cannot take the value.
    fn changes(&self, axis: Axis, pick: Pick) -> Option<Changes> {
        let mut job = self.base.clone();
        self.apply(&mut job, axis, pick);
        let fields: Vec<FieldId> = match (axis, pick) {
            (_, Pick::Recompute(choice)) => {
                let settings = choice.map(Choice::settings).unwrap_or_default();
                settings.into_iter().map(|(field, _)| field).collect()
            }
            (_, Pick::Training(training)) => {
                let settings = training.settings().into_iter();
                settings.map(|(field, _)| field).collect()
            }
            (Axis::Tensor, _) => vec![axis.field(), FieldId::sequence_parallel],
            (Axis::Pipeline, _) => {
                vec![axis.field(), FieldId::decoder_last_pipeline_num_layers]
            }
            _ => vec![axis.field()],
        };
        let value = |field: FieldId| match job.get(self.module, field) {
            Some(value) => parse(field.field(), value).ok(),
            None => Some(None),
        };
        let changes = fields.into_iter().map(|field| Some((field, value(field)?)));
        changes.collect()
    }

    /// The values of an axis that can be legal: parallel sizes divide the number of GPUs, the micro batch the global batch,
    /// and the chunks the number of layers.
    fn values(&self, axis: Axis, m: &Module) -> Vec<Pick> {
        let a = m.args();
        let sizes = match axis {
            Axis::Training => {
                let each = Training::each(m).into_iter();
                return each.map(Pick::Training).collect();
            }
            Axis::Gpus => divisors(self.most_gpus),
            Axis::Pipeline | Axis::Tensor | Axis::Context | Axis::Expert | Axis::ExpertTensor => {
                divisors(self.most_gpus)
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

    /// The number of GPUs of the job, which all combinations have unless it varies.
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

    /// What changes the job's memory and is not modelled.
    #[must_use]
    pub fn not_modelled(&self) -> &[NotModelled] {
        &self.not_modelled
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

    /// Whether the axis at a level is the last one that model states depend on: those after it are the micro batch and what is
    /// recomputed.
    pub(super) fn states_known_at(&self, level: usize) -> bool {
        let decides = |d: &Dimension| !matches!(d.axis, Axis::MicroBatch | Axis::Recompute);
        self.dimensions.iter().rposition(decides) == Some(level)
    }

    /// The place of the last axis that the split of layers into stages depends on.
    pub(super) fn stages_level(&self) -> Option<usize> {
        let decides = |d: &Dimension| matches!(d.axis, Axis::Pipeline | Axis::Virtual);
        self.dimensions.iter().rposition(decides)
    }

    /// The place of an axis among those that vary.
    pub(super) fn level(&self, axis: Axis) -> Option<usize> {
        self.dimensions.iter().position(|d| d.axis == axis)
    }

    /// The number of combinations that share all digits of their index up to and including `level`.
    pub(super) fn combinations_below(&self, level: usize) -> u64 {
        self.dimensions.get(level).map_or(1, |d| d.below)
    }

    /// The parts of the space that workers take one after another.
    #[must_use]
    pub fn shares(&self) -> Shares {
        use Axis::{Gpus, Pipeline, Training, Virtual};
        let stages = |d: &&Dimension| matches!(d.axis, Training | Gpus | Pipeline | Virtual);
        let leading = self.dimensions.iter().filter(stages).count();
        let of_stages = match leading {
            0 => self.total,
            levels => self.combinations_below(levels - 1),
        };
        let pipelines = (self.total / of_stages.max(1)).max(1);
        let short = (self.total / SHORT_SHARE).min(MOST_SHARES);
        let parts = SHARES.max(short).div_ceil(pipelines);
        let share = of_stages.div_ceil(parts).max(1);
        let starts = (0..of_stages.div_ceil(share)).map(|number| number * share);
        Shares::new(starts.map(|start| {
            let end = (start + share).min(of_stages);
            let of_pipelines =
                (0..pipelines).map(|of| of * of_stages + start..of * of_stages + end);
            of_pipelines.collect()
        }))
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

    /// The number of axes, from the first on, on which a combination has these values.
    pub(super) fn common(&self, index: u64, picks: &[Pick]) -> usize {
        let picks = picks.iter().enumerate();
        let same = |(level, pick): &(usize, &Pick)| self.pick(index, *level) == Some(**pick);
        picks.take_while(same).count()
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

    /// The index of the job's own layout; `None` where Megatron refuses the job, or it has a size that is not among the
    /// values.
    #[must_use]
    pub fn given_index(&self) -> Option<u64> {
        let config = check(&self.given).config?;
        let m = config.modules().get(self.module)?;
        let size = |axis| match axis {
            Axis::Gpus => config.world_size(),
            Axis::Pipeline => m.pp,
            Axis::Virtual => m.derived().virtual_pipeline_model_parallel_size,
            Axis::Tensor => m.tp,
            Axis::Context => m.cp,
            Axis::Expert => m.ep,
            Axis::ExpertTensor => m.etp,
            Axis::MicroBatch | Axis::Training | Axis::Recompute => m.args().micro_batch_size,
        };
        let mut index = 0;
        for dimension in &self.dimensions {
            let own = match dimension.axis {
                Axis::Recompute => Pick::Recompute(None),
                Axis::Training => *dimension.values.first()?,
                axis => Pick::Size(size(axis)),
            };
            let digit = dimension.values.iter().position(|value| *value == own)?;
            let length = u64::try_from(dimension.values.len()).ok()?;
            index = index * length + u64::try_from(digit).ok()?;
        }
        Some(index)
    }

    /// The job's own layout with its memory; `None` where it is not among the combinations, or Megatron refuses it.
    #[must_use]
    pub fn own_candidate(&self) -> Option<Candidate> {
        self.candidate(self.given_index()?)
    }

    /// A combination with its memory; `None` where Megatron refuses it.
    #[must_use]
    pub fn candidate(&self, index: u64) -> Option<Candidate> {
        let alone = search(self, index..index + 1, u32::MAX, Keep::Legal);
        alone.candidates.first().copied()
    }

    /// The sizes of a combination in words, such as `PP 4, TP 2`.
    #[must_use]
    pub fn sizes(&self, index: u64) -> String {
        let sizes = self.dimensions.iter().zip(self.picks(index));
        let sizes = sizes.map(|(d, pick)| match pick {
            Pick::Size(size) => format!("{} {size}", d.axis.symbol()),
            Pick::Recompute(None) => "recompute as in the job".to_owned(),
            Pick::Recompute(Some(choice)) => format!("recompute {}", choice.label()),
            Pick::Training(training) => format!("train {}", training.label()),
        });
        sizes.collect::<Vec<_>>().join(", ")
    }

    /// The settings in which a combination differs from the job, or its language model from that of the job; null stands for
    /// a default.
    #[must_use]
    pub fn settings(&self, index: u64) -> Vec<(FieldId, Value)> {
        let job = self.job(index);
        let of = |job: &RawJob| match job.modules.get(self.module) {
            Some(module) => module.settings.clone(),
            None => job.shared.clone(),
        };
        differences(&of(&job), &of(&self.given))
            .map(|(id, meaning)| (id, meaning.to_value(id)))
            .collect()
    }

    /// Sets the fields of a job that a value of an axis stands for.
    pub(super) fn apply(&self, job: &mut RawJob, axis: Axis, pick: Pick) {
        let size = match pick {
            Pick::Size(size) => size,
            Pick::Recompute(choice) => {
                let settings = choice.map(Choice::settings);
                return self.put(job, settings.unwrap_or_default());
            }
            Pick::Training(training) => return self.put(job, training.settings()),
        };
        let value = match (axis, size) {
            (Axis::Virtual, 1) => Value::Null,
            _ => Value::Int(size.into()),
        };
        job.put(self.module, axis.field(), value);
        if let Some(ranks) = self.ranks
            && matches!(axis, Axis::Tensor | Axis::Pipeline | Axis::Context)
        {
            self.keep_ranks(job, ranks);
        }
        match axis {
            Axis::Tensor if size > 1 && self.sequence_parallel => {
                job.put(self.module, FieldId::sequence_parallel, Value::Bool(true));
            }
            Axis::Tensor => match self.given.get(self.module, FieldId::sequence_parallel) {
                Some(given) => job.put(self.module, FieldId::sequence_parallel, given.clone()),
                None => unset(job, self.module, FieldId::sequence_parallel),
            },
            Axis::Pipeline | Axis::Virtual if self.pattern.is_some() => self.cut_pattern(job),
            Axis::Pipeline if self.split == Split::RestInLastStage => {
                let field = FieldId::decoder_last_pipeline_num_layers;
                match layers_of_last_stage(self.num_layers, size) {
                    Some(layers) => job.put(self.module, field, Value::Int(layers.into())),
                    None => unset(job, self.module, field),
                }
            }
            _ => {}
        }
    }
}

impl Space {
    /// Sets fields of the language model.
    fn put(&self, job: &mut RawJob, settings: Vec<(FieldId, Value)>) {
        for (field, value) in settings {
            job.put(self.module, field, value);
        }
    }

    /// Sets the data-parallel size with which the language model has all its ranks. Where there is none, Megatron refuses the
    /// combination: the next module's ranks do not follow.
    fn keep_ranks(&self, job: &mut RawJob, ranks: u64) {
        let size = |axis: Axis| number(job, self.module, axis.field()).unwrap_or(1);
        let replica = size(Axis::Tensor)
            .saturating_mul(size(Axis::Pipeline))
            .saturating_mul(size(Axis::Context));
        let dp = (ranks / replica.max(1)).max(1);
        job.put(
            self.module,
            FieldId::data_parallel_size,
            Value::Int(dp.into()),
        );
    }

    /// Cuts the pattern of a hybrid model into one segment for each chunk of a combination. Where the job's own pattern has
    /// as many segments, it stays as it is.
    fn cut_pattern(&self, job: &mut RawJob) {
        let Some(pattern) = &self.pattern else { return };
        let size = |field| number(job, self.module, field).unwrap_or(1);
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
        job.put(self.module, FieldId::hybrid_layer_pattern, Value::Text(cut));
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
fn follows_layout(job: &RawJob, module: usize, split: Split) -> bool {
    let layout = job.get(module, FieldId::pipeline_model_parallel_layout);
    split == Split::AsGiven && layout.is_some_and(|layout| *layout != Value::Null)
}

/// Goes back to the default of a field of a module.
pub(super) fn unset(job: &mut RawJob, module: usize, field: FieldId) {
    job.place(module, field).unset(field);
}

/// The whole number that a field of a module has, set or by default.
pub(super) fn number(job: &RawJob, module: usize, field: FieldId) -> Option<u64> {
    match meaning(field, job.get(module, field)) {
        Meaning::Is(Parsed::Int(number)) => Some(number),
        _ => None,
    }
}
