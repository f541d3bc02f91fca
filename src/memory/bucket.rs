//! The buckets that a stage's memory is sorted into.

use strum::{EnumCount, EnumString, IntoStaticStr, VariantArray};

use crate::model::tape::Family;
use crate::model::tape::liveness::TRANSIENT;
use crate::model::tensor::Sharding;
use crate::parallel::groups::View;
use crate::units::Bytes;
use crate::variants::all;

/// Bytes of each bucket, indexed by [`Bucket`].
pub type ByBucket = [Bytes; Bucket::COUNT];

/// A top-level group of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumCount, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum Bucket {
    /// Dense parameters in their training dtype.
    WeightsDense,
    /// Routed experts in their training dtype.
    WeightsExpert,
    /// Gradients that dense parameters accumulate into.
    MainGradsDense,
    /// Gradients that routed experts accumulate into.
    MainGradsExpert,
    /// Main copies of dense parameters.
    MainParamsDense,
    /// Main copies of routed experts.
    MainParamsExpert,
    /// First moments of dense parameters.
    ExpAvgDense,
    /// First moments of routed experts.
    ExpAvgExpert,
    /// Second moments of dense parameters.
    ExpAvgSqDense,
    /// Second moments of routed experts.
    ExpAvgSqExpert,
    /// Workspaces, tables and padding, which stay for the whole run.
    Buffers,
    /// The residual stream and the norms on it, kept for the backward pass.
    ActivationsResidual,
    /// Activations that attention saves for its backward pass.
    ActivationsAttention,
    /// Activations that dense MLPs save for their backward pass.
    ActivationsMlp,
    /// Activations that router and experts save for their backward pass.
    ActivationsExperts,
    /// Activations that embedding, output layer and loss save for their backward pass.
    ActivationsOutput,
    /// Tensors that live only around the peak: gradients, temporaries, recomputed tensors.
    Transients,
}

/// The model states: the parameters, and the tensors beside each of them that training needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumCount, VariantArray)]
pub enum State {
    /// The parameters themselves.
    Weights,
    /// Main gradients.
    MainGrads,
    /// Main parameters.
    MainParams,
    /// First moment, or SGD's momentum.
    ExpAvg,
    /// Second moment.
    ExpAvgSq,
}

impl State {
    /// All states in the order of the rules.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);
}

impl Bucket {
    /// The number of buckets.
    pub const COUNT: usize = <Self as EnumCount>::COUNT;
    /// All buckets in stacking order.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// The bucket's id, in results and in style sheets.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The bucket with this id.
    #[must_use]
    pub fn by_id(id: &str) -> Option<Self> {
        id.parse().ok()
    }

    /// The bucket's name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::WeightsDense => "Weights",
            Self::WeightsExpert => "Expert weights",
            Self::MainGradsDense => "Main grads",
            Self::MainGradsExpert => "Expert main grads",
            Self::MainParamsDense => "Main params",
            Self::MainParamsExpert => "Expert main params",
            Self::ExpAvgDense => "exp_avg",
            Self::ExpAvgExpert => "Expert exp_avg",
            Self::ExpAvgSqDense => "exp_avg_sq",
            Self::ExpAvgSqExpert => "Expert exp_avg_sq",
            Self::Buffers => "Buffers",
            Self::ActivationsResidual => "Residual and norms",
            Self::ActivationsAttention => "Attention activations",
            Self::ActivationsMlp => "MLP activations",
            Self::ActivationsExperts => "Expert activations",
            Self::ActivationsOutput => "Embedding and loss",
            Self::Transients => "Transient at the peak",
        }
    }

    /// The state that the bucket holds, and whether of routed experts or of all other parameters; `None` for buckets
    /// that hold no model state.
    #[must_use]
    pub const fn state(self) -> Option<(State, View)> {
        Some(match self {
            Self::WeightsDense => (State::Weights, View::Dense),
            Self::WeightsExpert => (State::Weights, View::Expert),
            Self::MainGradsDense => (State::MainGrads, View::Dense),
            Self::MainGradsExpert => (State::MainGrads, View::Expert),
            Self::MainParamsDense => (State::MainParams, View::Dense),
            Self::MainParamsExpert => (State::MainParams, View::Expert),
            Self::ExpAvgDense => (State::ExpAvg, View::Dense),
            Self::ExpAvgExpert => (State::ExpAvg, View::Expert),
            Self::ExpAvgSqDense => (State::ExpAvgSq, View::Dense),
            Self::ExpAvgSqExpert => (State::ExpAvgSq, View::Expert),
            Self::Buffers
            | Self::ActivationsResidual
            | Self::ActivationsAttention
            | Self::ActivationsMlp
            | Self::ActivationsExperts
            | Self::ActivationsOutput
            | Self::Transients => return None,
        })
    }

    /// The index of the bucket's bytes in a [`Usage`](crate::model::tape::liveness::Usage); `None` for buckets that do
    /// not change during a pass.
    #[must_use]
    pub const fn usage(self) -> Option<usize> {
        Some(match self {
            Self::ActivationsResidual => Family::Residual as usize,
            Self::ActivationsAttention => Family::Attention as usize,
            Self::ActivationsMlp => Family::Mlp as usize,
            Self::ActivationsExperts => Family::Experts as usize,
            Self::ActivationsOutput => Family::Output as usize,
            Self::Transients => TRANSIENT,
            Self::WeightsDense
            | Self::WeightsExpert
            | Self::MainGradsDense
            | Self::MainGradsExpert
            | Self::MainParamsDense
            | Self::MainParamsExpert
            | Self::ExpAvgDense
            | Self::ExpAvgExpert
            | Self::ExpAvgSqDense
            | Self::ExpAvgSqExpert
            | Self::Buffers => return None,
        })
    }

    /// Whether parameters of this sharding count towards the bucket.
    #[must_use]
    pub const fn holds(self, sharding: Sharding) -> bool {
        match self.state() {
            Some((_, view)) => view as u8 == sharding.view() as u8,
            None => false,
        }
    }
}

/// The padding in a bucket of states.
pub(crate) struct Padding {
    pub(crate) bucket: Bucket,
    /// Elements without and with padding, where a whole buffer is padded.
    pub(crate) elements: Option<(u64, u64)>,
    pub(crate) bytes: u64,
}
