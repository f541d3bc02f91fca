//! The arguments that a search can vary, and the arguments that each rule depends on.

use serde::{Deserialize, Serialize};
use strum::{EnumCount, VariantArray};

use super::training::Training;
use crate::config::fields::FieldId;
use crate::memory::savings::Choice;
use crate::variants::all;

/// An argument that a search can vary. The order of the variants is the order of the digits of a combination's index:
/// the arguments whose values rules refuse most often come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, EnumCount, VariantArray)]
pub enum Axis {
    /// The way to train: in full, with adapters, or with Megatron FSDP.
    Training,
    /// The number of GPUs.
    Gpus,
    /// Pipeline-parallel size.
    Pipeline,
    /// Virtual-pipeline size: the number of chunks on each pipeline rank.
    Virtual,
    /// Tensor-parallel size.
    Tensor,
    /// Context-parallel size.
    Context,
    /// Expert-parallel size.
    Expert,
    /// Expert-tensor-parallel size.
    ExpertTensor,
    /// Micro batch size.
    MicroBatch,
    /// The way of recomputing activations.
    Recompute,
}

impl Axis {
    /// All axes, in the order of the digits of an index.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The field that the axis sets. [`Axis::Training`] and [`Axis::Recompute`] set further fields.
    #[must_use]
    pub const fn field(self) -> FieldId {
        match self {
            Self::Training => FieldId::peft_type,
            Self::Gpus => FieldId::world_size,
            Self::Pipeline => FieldId::pipeline_model_parallel_size,
            Self::Virtual => FieldId::virtual_pipeline_model_parallel_size,
            Self::Tensor => FieldId::tensor_model_parallel_size,
            Self::Context => FieldId::context_parallel_size,
            Self::Expert => FieldId::expert_model_parallel_size,
            Self::ExpertTensor => FieldId::expert_tensor_parallel_size,
            Self::MicroBatch => FieldId::micro_batch_size,
            Self::Recompute => FieldId::recompute_granularity,
        }
    }

    /// A short name, such as `TP`.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Training => "Train",
            Self::Gpus => "GPUs",
            Self::Pipeline => "PP",
            Self::Virtual => "VPP",
            Self::Tensor => "TP",
            Self::Context => "CP",
            Self::Expert => "EP",
            Self::ExpertTensor => "ETP",
            Self::MicroBatch => "MBS",
            Self::Recompute => "Recompute",
        }
    }

    /// Whether the values of the axis are sizes.
    #[must_use]
    pub const fn has_sizes(self) -> bool {
        !matches!(self, Self::Training | Self::Recompute)
    }

    /// The axis that sets the field with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let mut axes = Self::ALL.into_iter();
        axes.find(|axis| axis.field().field().name == name)
    }
}

/// The value of an axis in a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// A size.
    Size(u64),
    /// A way of recomputing; `None` for the job's own.
    Recompute(Option<Choice>),
    /// A way to train.
    Training(Training),
}

impl Pick {
    /// The value in words.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Size(size) => size.to_string(),
            Self::Recompute(None) => "as in the job".to_owned(),
            Self::Recompute(Some(choice)) => choice.label(),
            Self::Training(training) => training.label(),
        }
    }
}

/// The rules that depend on few axes, by their names, each with all axes that it depends on. Rules of expert tensor
/// parallelism depend on TP too, which is its default.
const DEPENDENCIES: &[(&str, &[Axis])] = {
    use Axis::{Context, Expert, ExpertTensor, Gpus, MicroBatch, Pipeline, Tensor, Training, Virtual};
    &[
        ("fsdp_pipeline", &[Training, Pipeline]),
        ("stages", &[Pipeline, Virtual]),
        ("vpp_twice", &[Pipeline, Virtual]),
        ("microbatch_group", &[Pipeline, Virtual]),
        ("heads_by_tp", &[Tensor]),
        ("groups_by_tp", &[Tensor]),
        ("ffn_by_tp", &[Tensor]),
        ("padded_vocabulary_by_tp", &[Tensor]),
        ("shared_width_by_tp", &[Tensor]),
        ("sequence_by_tp", &[Tensor, Context]),
        ("sequence_by_cp", &[Context]),
        ("linear_heads_by_ranks", &[Tensor, Context]),
        ("mamba_heads_by_tp", &[Tensor]),
        ("mamba_groups_by_tp", &[Tensor]),
        ("mamba_heads_by_cp", &[Tensor, Context]),
        ("mamba_groups_by_cp", &[Tensor, Context]),
        ("world_holds_one_copy", &[Gpus, Pipeline, Tensor, Context]),
        ("world_by_copy", &[Gpus, Pipeline, Tensor, Context]),
        ("optimizer_instances", &[Gpus, Pipeline, Tensor, Context]),
        ("ep_needs_experts", &[Expert]),
        ("experts_by_ep", &[Expert]),
        ("expert_width_by_etp", &[Tensor, ExpertTensor]),
        ("expert_bias_needs_etp_1", &[Tensor, ExpertTensor]),
        ("expert_grid", &[Gpus, Pipeline, Tensor, Context, Expert, ExpertTensor]),
        (
            "optimizer_instances_experts",
            &[Gpus, Pipeline, Tensor, Expert, ExpertTensor],
        ),
        ("global_batch", &[Gpus, Pipeline, Tensor, Context, MicroBatch]),
        (
            "microbatches_fill_group",
            &[Gpus, Pipeline, Virtual, Tensor, Context, MicroBatch],
        ),
        ("last_group", &[Gpus, Pipeline, Virtual, Tensor, Context, MicroBatch]),
    ]
};

/// The rules that can be checked once `axis` has its value: of the `varied` axes that they depend on it is the last.
pub(super) fn checkable_at(axis: Axis, varied: &[Axis]) -> Vec<&'static str> {
    let last = |on: &[Axis]| on.iter().filter(|on| varied.contains(on)).max().copied();
    let checkable = DEPENDENCIES
        .iter()
        .filter(|(_, on)| last(on) == Some(axis))
        .map(|(rule, _)| *rule);
    checkable.collect()
}

/// The divisors of a number in ascending order.
pub(super) fn divisors(number: u64) -> Vec<u64> {
    let small = (1..)
        .take_while(|d: &u64| d.saturating_mul(*d) <= number)
        .filter(|d| number.is_multiple_of(*d));
    let mut all: Vec<u64> = small.collect();
    let large = all.iter().rev().map(|d| number / d);
    let large: Vec<u64> = large.filter(|d| !all.contains(d)).collect();
    all.extend(large);
    all
}
