//! A combination as a job: its settings, its words, and the place of the job's own layout.

use super::Space;
use crate::config::canonical::differences;
use crate::config::fields::{Args, FieldId};
use crate::config::parse::Parsed;
use crate::config::raw::RawJob;
use crate::config::{Prepared, check};
use crate::memory::savings::Choice;
use crate::search::axis::{Axis, Pick};
use crate::search::fields::{number, unset};
use crate::search::options::Split;
use crate::value::Value;

impl Space {
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

    /// The settings in which a combination differs from the job, or its language model from that of the job; null
    /// stands for a default.
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
    pub(in crate::search) fn apply(&self, job: &mut RawJob, axis: Axis, pick: Pick) {
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

    /// Sets the data-parallel size with which the language model has all its ranks.
    fn keep_ranks(&self, job: &mut RawJob, ranks: u64) {
        let size = |axis: Axis| number(job, self.module, axis.field()).unwrap_or(1);
        let dp = copies(ranks, [Axis::Tensor, Axis::Pipeline, Axis::Context].map(size));
        job.put(self.module, FieldId::data_parallel_size, Value::Int(dp.into()));
    }

    /// Sets the same in arguments whose value of an axis is set.
    pub(in crate::search) fn keep_ranks_prepared(&self, axis: Axis, args: &mut Args) {
        let Some(ranks) = self.ranks else { return };
        if matches!(axis, Axis::Tensor | Axis::Pipeline | Axis::Context) {
            let sizes = [
                args.tensor_model_parallel_size,
                args.pipeline_model_parallel_size,
                args.context_parallel_size,
            ];
            let dp = Parsed::Int(copies(ranks, sizes));
            Prepared::set(args, FieldId::data_parallel_size, Some(dp));
        }
    }

    /// Cuts the pattern of a hybrid model into one segment for each chunk of a combination. Where the job's own pattern
    /// has as many segments, it stays as it is.
    fn cut_pattern(&self, job: &mut RawJob) {
        let size = |field| number(job, self.module, field).unwrap_or(1);
        let chunks = size(FieldId::pipeline_model_parallel_size)
            .saturating_mul(size(FieldId::virtual_pipeline_model_parallel_size));
        if let Some(cut) = self.cut(chunks) {
            job.put(self.module, FieldId::hybrid_layer_pattern, Value::Text(cut));
        }
    }

    /// The pattern of a hybrid model in one segment for each of these chunks; `None` for other models.
    pub(super) fn cut(&self, chunks: u64) -> Option<String> {
        let pattern = self.pattern.as_ref()?;
        let chunks = usize::try_from(chunks).unwrap_or(usize::MAX);
        if chunks == pattern.segments().len() {
            return Some(pattern.to_string());
        }
        // No more segments than layers: a combination with more chunks is refused.
        let layers = pattern.layers().count();
        Some(pattern.in_segments(chunks.min(layers)).to_string())
    }
}

/// The copies of a model split by these sizes that so many ranks hold. Where they hold no whole one, Megatron refuses the
/// combination: the next module's ranks do not follow.
fn copies(ranks: u64, sizes: [u64; 3]) -> u64 {
    let one: u64 = sizes.into_iter().fold(1, u64::saturating_mul);
    (ranks / one.max(1)).max(1)
}

/// The layers that are left for the last stage where the others have `layers / stages` each, rounded up; `None` where
/// the division is exact or nothing is left.
fn layers_of_last_stage(layers: u64, stages: u64) -> Option<u64> {
    let others = layers.div_ceil(stages).saturating_mul(stages.saturating_sub(1));
    let rest = layers.checked_sub(others)?;
    (rest > 0 && !layers.is_multiple_of(stages)).then_some(rest)
}
