//! The pipeline stage on which effects are counted.

use super::difference::{Difference, Effect, Framework};
use crate::config::job::Module;
use crate::memory::bucket::{Bucket, State};
use crate::memory::parameters::{Count, Parameters};
use crate::memory::state_rule::StateRule;
use crate::memory::states::StateRules;
use crate::memory::{ModuleEstimate, StageEstimate};
use crate::model::built_depths;
use crate::model::tensor::{Component, ParamTensor, Sharding};
use crate::parallel::groups::View;
use crate::units::{Bytes, multiply};

/// The components to count: the second argument is true for those of the MTP block.
type Wanted<'a> = &'a dyn Fn(Component, bool) -> bool;

/// The pipeline stage of a module with most weights and states; the first of several.
pub(super) struct FullestStage<'a> {
    pub(super) m: &'a Module,
    pub(super) estimate: &'a ModuleEstimate,
    pub(super) pp_rank: usize,
    pub(super) stage: &'a StageEstimate,
    parameters: Parameters,
    rules: StateRules,
}

impl<'a> FullestStage<'a> {
    /// The fullest stage; `None` for an estimate without stages.
    pub(super) fn of(m: &'a Module, estimate: &'a ModuleEstimate) -> Option<Self> {
        let stages = estimate.stages.iter().enumerate();
        let (pp_rank, stage) = stages.rev().max_by_key(|(_, stage)| stage.states())?;
        Some(Self {
            m,
            estimate,
            pp_rank,
            stage,
            parameters: stage.parameters(),
            rules: StateRules::new(m),
        })
    }
}

impl FullestStage<'_> {
    /// Elements of some components on the stage: dense ones and routed experts.
    pub(super) fn on_stage(&self, wanted: Wanted<'_>) -> Elements {
        count(&self.parameters, wanted)
    }

    /// Elements of some tensors on the stage.
    pub(super) fn tensors_on_stage(&self, wanted: &dyn Fn(&ParamTensor) -> bool) -> Elements {
        let mut sum = Elements::default();
        for (place, part) in self.estimate.architecture.parts().iter().enumerate() {
            let chunks = self.stage.chunks.iter();
            let times = chunks.filter_map(|chunk| chunk.parts.get(place)).sum();
            for tensor in part.parameters.iter().filter(|t| wanted(t)) {
                sum.add(tensor.sharding, multiply(tensor.shape.elements(), times));
            }
        }
        sum
    }

    /// Weights, gradients and optimizer states of these parameters.
    pub(super) fn bytes(&self, elements: Elements) -> Bytes {
        self.bytes_by(elements, &|_, _, rule| rule)
    }

    /// Weights, gradients and optimizer states of these parameters, each state by what `change` makes of its rule.
    pub(super) fn bytes_by(&self, elements: Elements, change: &dyn Fn(State, View, StateRule) -> StateRule) -> Bytes {
        let bytes = Bucket::ALL.into_iter().filter_map(|bucket| {
            let (state, view) = bucket.state()?;
            let count = match view {
                View::Dense => elements.dense,
                View::Expert => elements.expert,
            };
            let rule = change(state, view, self.rules.rule(bucket));
            Some(rule.bytes_of(Count {
                elements: count,
                ..Count::default()
            }))
        });
        bytes.sum()
    }

    /// A difference where the model has parameters that the reports leave out; it counts those on the stage.
    pub(super) fn left_out(
        &self,
        id: &'static str,
        frameworks: &'static [Framework],
        wanted: Wanted<'_>,
        text: &str,
    ) -> Option<Difference> {
        let anywhere = count(&self.estimate.parameters, wanted);
        if anywhere == Elements::default() {
            return None;
        }
        let effect = Effect::of(Bytes::ZERO, self.bytes(self.on_stage(wanted)));
        Some(Difference {
            id,
            frameworks,
            text: text.to_owned(),
            effect,
        })
    }

    /// Decoder layers and MTP depths on the stage.
    pub(super) fn layers(&self) -> u64 {
        let chunks = self.m.stages.chunks().iter();
        let own = chunks.filter(|chunk| chunk.pp_rank as usize == self.pp_rank);
        own.map(|chunk| u64::from(chunk.num_layers()) + built_depths(self.m, chunk.mtp.into()))
            .sum()
    }

    /// Whether the number of layers is set for the first or the last pipeline stage.
    pub(super) fn first_or_last_given(&self) -> bool {
        let a = self.m.args();
        a.decoder_first_pipeline_num_layers.is_some() || a.decoder_last_pipeline_num_layers.is_some()
    }
}

/// Elements on a rank: routed experts have other optimizer shards than dense parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Elements {
    pub(super) dense: u64,
    pub(super) expert: u64,
}

impl Elements {
    fn add(&mut self, sharding: Sharding, elements: u64) {
        let side = if sharding == Sharding::Expert {
            &mut self.expert
        } else {
            &mut self.dense
        };
        *side = side.saturating_add(elements);
    }

    /// The elements divided by a parallel size.
    pub(super) const fn over(self, divisor: u64) -> Self {
        Self {
            dense: self.dense / divisor,
            expert: self.expert / divisor,
        }
    }
}

/// Elements of the components that are wanted.
fn count(parameters: &Parameters, wanted: Wanted<'_>) -> Elements {
    let mut sum = Elements::default();
    for (component, mtp, sharding, count) in parameters.iter() {
        if wanted(component, mtp) {
            sum.add(sharding, count.elements);
        }
    }
    sum
}
