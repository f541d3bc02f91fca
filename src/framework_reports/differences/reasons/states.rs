//! Bytes of parameters and of their optimizer states.

use super::super::difference::Framework::MegatronLm;
use super::super::difference::{BOTH, Difference, Effect};
use super::super::fullest_stage::{Elements, FullestStage};
use crate::config::field::Decimal;
use crate::memory::bucket::{Bucket, State};
use crate::memory::state_rule::{AppliesTo, StateRule};
use crate::parallel::groups::View;
use crate::units::Bytes;

pub(super) fn optimizer_shard(fullest: &FullestStage<'_>) -> Option<Difference> {
    let m = fullest.m;
    if m.cp == 1 || !m.args().use_distributed_optimizer {
        return None;
    }
    let dense = Elements {
        expert: 0,
        ..fullest.on_stage(&|_, _| true)
    };
    let theirs = fullest.bytes_by(dense, &|state, _, rule| {
        let shard = if is_split(state) { m.dp } else { 1 };
        StateRule { shard, ..rule }
    });
    Some(Difference {
        id: "optimizer_shard",
        frameworks: &[MegatronLm],
        text: format!(
            "It splits the optimizer states of dense parameters over DP = {} ranks; Megatron splits them over DP·CP = {}.",
            m.dp,
            m.dp * m.cp
        ),
        effect: Effect::of(theirs, fullest.bytes(dense)),
    })
}

pub(super) fn bytes_of_a_parameter(fullest: &FullestStage<'_>) -> Option<Difference> {
    let theirs = fullest.bytes_by(fullest.on_stage(&|_, _| true), &|state, held, _| StateRule {
        fp8_saving: 0,
        applies_to: AppliesTo::All,
        bytes: if state == State::Weights { 2 } else { 4 },
        bytes_in_fp32: if state == State::Weights { 2 } else { 4 },
        shard: match held {
            _ if !is_split(state) => 1,
            View::Dense => fullest.m.dense_shard(),
            View::Expert => fullest.m.expert_shard(),
        },
        on_gpu: Decimal::ONE,
    });
    let states = Bucket::ALL.into_iter().filter(|bucket| bucket.state().is_some());
    let ours: Bytes = states.map(|bucket| fullest.stage.bytes(bucket)).sum();
    (theirs != ours).then(|| Difference {
        id: "bytes_of_a_parameter",
        frameworks: BOTH,
        text: String::from(
            "It counts 18 bytes for every parameter: bf16 weights, fp32 gradients, fp32 main parameters and two fp32 moments. This job keeps its states otherwise.",
        ),
        effect: Effect::of(theirs, ours),
    })
}

/// Whether data-parallel ranks share the state; weights and gradients are whole on every rank.
const fn is_split(state: State) -> bool {
    !matches!(state, State::Weights | State::MainGrads)
}
