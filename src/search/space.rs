//! The combinations of a search: their number, and the job of each.

mod combination;
mod index;
mod scope;
mod settled;

use std::collections::BTreeMap;

use super::axis::{Axis, Pick, checkable_at, divisors};
use super::candidate::Candidate;
use super::fields::{number, unset};
use super::options::{Options, Order, Split};
use super::reference::{reference_config, unset_other_splits};
use super::training::Training;
use super::unsearchable::Unsearchable;
use crate::config::fields::{Args, FieldId};
use crate::config::hybrid_pattern::HybridPattern;
use crate::config::job::Module;
use crate::config::not_modelled::NotModelled;
use crate::config::parse::{Parsed, parse};
use crate::config::raw::RawJob;
use crate::config::{Prepared, Refusals};
use crate::memory::savings::{Choice, choice_of, choices};
use crate::parallel::mimo::LANGUAGE_MODULE;
use crate::units::Bytes;
use crate::value::Value;
use crate::verdict::Verdict;

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
    /// The arguments that each value sets, with `None` for a default; empty where combinations are not
    /// [prepared](Prepared).
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
    /// For each dimension, in their order, the rules that are checked once its value is chosen.
    pub(super) refusals_at: Vec<Refusals>,
    /// The rules that are not checked before the last dimension has its value.
    pub(super) refusals_at_end: Refusals,
    total: u64,
    split: Split,
    pub(super) order: Order,
    num_layers: u64,
    /// The pattern of a hybrid model, whose `|` decide on stages.
    pattern: Option<HybridPattern>,
    /// This pattern in as many segments as combinations have chunks, by their number.
    cuts: BTreeMap<u64, Parsed>,
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
    /// The largest size that the reader lets the axis have; `None` without a bound.
    #[must_use]
    pub fn bound(&self) -> Option<u64> {
        (self.at_most < u64::MAX).then_some(self.at_most)
    }

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
        let global_batch_size = number(FieldId::global_batch_size).unwrap_or(samples / config.world_size());
        let mut space = Self {
            given: job.clone(),
            base: job.clone(),
            dimensions: Vec::new(),
            prepared: None,
            refusals: Refusals::all(a.launcher),
            refusals_at: Vec::new(),
            refusals_at_end: Refusals::all(a.launcher),
            total: 1,
            split: options.split,
            order: options.order,
            num_layers: a.num_layers,
            pattern: m.hybrid().cloned(),
            cuts: BTreeMap::new(),
            gpu: config.gpu_memory(),
            not_modelled: config.not_modelled().to_vec(),
            experts: a.num_experts.is_some(),
            world_size,
            most_gpus: ranks.unwrap_or_else(|| options.most_gpus(world_size)),
            module,
            ranks,
            global_batch_size,
            sequence_parallel: a.sequence_parallel || given_tp.is_none_or(|tp| tp == 1) || a.num_experts.is_some(),
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
            values.map(|pick| self.changes(dimension.axis, *pick)).collect()
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
        self.cuts = self.all_cuts();
        if let Some(prepared) = &mut self.prepared {
            let texts = self.cuts.values().filter_map(|cut| match cut {
                Parsed::Text(text) => Some(text.as_str()),
                _ => None,
            });
            prepared.read_patterns(texts);
        }
        let of = |d: &Dimension| self.refusals.among(|rule| d.rules.contains(&rule));
        self.refusals_at = self.dimensions.iter().map(of).collect();
        if let Some((_, before)) = self.dimensions.split_last() {
            let at_end = |rule: &str| before.iter().all(|d| !d.rules.contains(&rule));
            self.refusals_at_end = self.refusals.among(at_end);
        }
    }

    /// The pattern of a hybrid model in as many segments as combinations have chunks, by their number.
    fn all_cuts(&self) -> BTreeMap<u64, Parsed> {
        let values = |axis: Axis| {
            let varied = self.level(axis).and_then(|level| self.dimensions.get(level));
            let values = varied.map_or_else(Vec::new, |dimension| dimension.values.clone());
            let given = number(&self.base, self.module, axis.field()).unwrap_or(1);
            let sizes = values.into_iter().filter_map(|pick| match pick {
                Pick::Size(size) => Some(size),
                Pick::Recompute(_) | Pick::Training(_) => None,
            });
            sizes.chain([given]).collect::<Vec<u64>>()
        };
        let (stages, chunks) = (values(Axis::Pipeline), values(Axis::Virtual));
        let products = stages
            .iter()
            .flat_map(|pp| chunks.iter().map(|vpp| pp.saturating_mul(*vpp)));
        let cut = |chunks: u64| Some((chunks, Parsed::Text(self.cut(chunks)?)));
        products.filter_map(cut).collect()
    }

    /// Sets the pattern of a hybrid model in arguments whose numbers of stages and chunks are set.
    pub(super) fn cut_prepared(&self, axis: Axis, args: &mut Args) {
        if self.pattern.is_none() || !matches!(axis, Axis::Pipeline | Axis::Virtual) {
            return;
        }
        let chunks = args.virtual_pipeline_model_parallel_size.unwrap_or(1);
        let chunks = args.pipeline_model_parallel_size.saturating_mul(chunks);
        if let Some(cut) = self.cuts.get(&chunks) {
            Prepared::set(args, FieldId::hybrid_layer_pattern, Some(cut.clone()));
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

    /// The values of an axis that can be legal: parallel sizes divide the number of GPUs, the micro batch the global
    /// batch, and the chunks the number of layers.
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
                let general =
                    |choice: &Choice| matches!(choice, Choice::Nothing | Choice::Selective(_) | Choice::Uniform(1));
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

    /// Whether other modules train beside the language model.
    pub(super) fn has_several_modules(&self) -> bool {
        self.ranks.is_some()
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

    /// The verdict on a layout of the space: that on its job, and [`Verdict::Tight`] where a replay of PyTorch's allocator
    /// may [settle](Self::settled) whether it fits.
    #[must_use]
    pub fn verdict(&self, layout: &Candidate) -> Verdict {
        if self.not_modelled.is_empty() {
            layout.verdict()
        } else {
            Verdict::NotThisJob
        }
    }

    /// The memory of a GPU; `None` where no GPU is chosen.
    #[must_use]
    pub fn gpu_memory(&self) -> Option<Bytes> {
        self.gpu
    }

    /// The job that the search starts from.
    #[must_use]
    pub fn given(&self) -> &RawJob {
        &self.given
    }

    /// The axes that vary, in the order of the digits of an index, highest digit first.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }
}

/// Whether the number of virtual stages follows from the job's pipeline layout.
fn follows_layout(job: &RawJob, module: usize, split: Split) -> bool {
    let layout = job.get(module, FieldId::pipeline_model_parallel_layout);
    split == Split::AsGiven && layout.is_some_and(|layout| *layout != Value::Null)
}
