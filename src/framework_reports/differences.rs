//! Why the frameworks' reports differ from the estimate of a job: only what applies to it, and what it
//! comes to where that can be said.
//!
//! What a report gets wrong is found by reading both programs; how much of it is on the fullest stage
//! is counted here. The effects explain and are not made to add up: what a report misses on one stage
//! it may have counted on another.

mod reasons;

use crate::config::job::Module;
use crate::memory::bucket::{Bucket, State};
use crate::memory::parameters::{Count, Parameters};
use crate::memory::states::{StateRule, StateRules};
use crate::memory::{ModuleEstimate, StageEstimate};
use crate::model::tensor::{Component, ParamTensor, Sharding};
use crate::model::{Architecture, Part};
use crate::parallel::groups::View;
use crate::units::{Bytes, multiply};

/// A framework with an estimator of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Framework {
    /// Megatron-LM.
    MegatronLm,
    /// Megatron-Bridge.
    MegatronBridge,
}

impl Framework {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MegatronLm => "Megatron-LM",
            Self::MegatronBridge => "Megatron-Bridge",
        }
    }
}

/// What a difference does to a report, on the stage that really is the fullest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The report has so much less.
    Less(Bytes),
    /// The report has so much more.
    More(Bytes),
    /// It depends on other differences, or is on another stage.
    Unsaid,
}

impl Effect {
    /// The effect of counting `theirs` where `ours` is right.
    fn of(theirs: Bytes, ours: Bytes) -> Self {
        match theirs.cmp(&ours) {
            core::cmp::Ordering::Less => Self::Less(ours.saturating_sub(theirs)),
            core::cmp::Ordering::Equal => Self::Unsaid,
            core::cmp::Ordering::Greater => Self::More(theirs.saturating_sub(ours)),
        }
    }

    const fn size(self) -> Bytes {
        match self {
            Self::Less(bytes) | Self::More(bytes) => bytes,
            Self::Unsaid => Bytes::ZERO,
        }
    }
}

/// A reason why a report differs from the estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A stable name.
    pub id: &'static str,
    /// Whose report it concerns.
    pub frameworks: &'static [Framework],
    /// The reason, in a sentence or two.
    pub text: String,
    /// What it does.
    pub effect: Effect,
}

/// Every known reason that applies to a module, largest effect first.
#[must_use]
pub fn differences(m: &Module, estimate: &ModuleEstimate) -> Vec<Difference> {
    let stages = estimate.stages.iter().enumerate();
    let fullest = stages.rev().max_by_key(|(_, stage)| stage.states());
    let Some((pp_rank, stage)) = fullest else {
        return Vec::new();
    };
    let job = Job {
        m,
        estimate,
        pp_rank,
        stage,
        held: stage.parameters(),
        rules: StateRules::new(m),
    };
    let mut found: Vec<Difference> = reasons::ALL
        .iter()
        .filter_map(|reason| reason(&job))
        .collect();
    found.sort_by_key(|difference| core::cmp::Reverse(difference.effect.size()));
    found
}

/// Which components to count, of the decoder or of the MTP block. One copy of what counts serves them all.
type Wanted<'a> = &'a dyn Fn(Component, bool) -> bool;

/// A module with its fullest stage.
struct Job<'a> {
    m: &'a Module,
    estimate: &'a ModuleEstimate,
    pp_rank: usize,
    stage: &'a StageEstimate,
    held: Parameters,
    rules: StateRules,
}

impl Job<'_> {
    /// Elements of some components on the stage: dense ones and routed experts.
    fn on_stage(&self, wanted: Wanted<'_>) -> Elements {
        count(&self.held, wanted)
    }

    /// Elements of some tensors on the stage.
    fn tensors_on_stage(&self, wanted: &dyn Fn(&ParamTensor) -> bool) -> Elements {
        let architecture = Architecture::new(self.m);
        let mut sum = Elements::default();
        for (part, times) in self.parts(&architecture) {
            for tensor in part.parameters.iter().filter(|t| wanted(t)) {
                sum.add(tensor.sharding, multiply(tensor.shape.elements(), times));
            }
        }
        sum
    }

    /// Every part of the model, and how many of it the stage holds.
    fn parts<'a>(
        &'a self,
        architecture: &'a Architecture,
    ) -> impl Iterator<Item = (&'a Part, u64)> {
        let parts = architecture.parts().iter().enumerate();
        parts.map(|(place, part)| {
            let chunks = self.stage.chunks.iter();
            let counts = chunks.filter_map(|chunk| chunk.parts.get(place));
            (part, counts.sum())
        })
    }

    /// All states of so many parameters.
    fn bytes(&self, elements: Elements) -> Bytes {
        self.bytes_by(elements, &|_, _, rule| rule)
    }

    /// The same by other rules.
    fn bytes_by(
        &self,
        elements: Elements,
        change: &dyn Fn(State, View, StateRule) -> StateRule,
    ) -> Bytes {
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

    /// A difference when the whole model has such parameters, which the reports leave out.
    fn left_out(
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
    fn layers(&self) -> u64 {
        let architecture = Architecture::new(self.m);
        let parts = self.parts(&architecture);
        let layers = parts.filter(|(part, _)| part.kind.layer().is_some());
        layers.map(|(_, times)| times).sum()
    }

    fn first_or_last_given(&self) -> bool {
        let a = self.m.args();
        a.decoder_first_pipeline_num_layers.is_some()
            || a.decoder_last_pipeline_num_layers.is_some()
    }
}

/// Elements on a rank, by whose optimizer shards hold their states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Elements {
    dense: u64,
    expert: u64,
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

    /// A part of them.
    const fn over(self, divisor: u64) -> Self {
        Self {
            dense: self.dense / divisor,
            expert: self.expert / divisor,
        }
    }
}

fn count(parameters: &Parameters, wanted: Wanted<'_>) -> Elements {
    let mut sum = Elements::default();
    for (component, mtp, sharding, count) in parameters.iter() {
        if wanted(component, mtp) {
            sum.add(sharding, count.elements);
        }
    }
    sum
}
