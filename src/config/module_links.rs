//! The links between encoders and the language model of a checked job.

use super::choices::FrontEnd;
use super::job::{FirstStage, Module};
use crate::parallel::mimo::LANGUAGE_MODULE;

/// Joins encoders to the language model. The outputs of those on other ranks arrive at its first stage, and their
/// stages come before it in one pipeline as long as the longest path (`compute_total_pipeline_stages`). Those on the
/// ranks of its first stage run with the first chunk of that stage.
pub(super) fn connect(modules: &mut [Module]) {
    let Some(language) = modules.iter().find(|m| m.name == LANGUAGE_MODULE) else {
        return;
    };
    let (first, ranks, pp, dp) = (language.rank_offset, language.ranks(), language.pp, language.dp);
    let apart = |m: &Module| {
        m.name != LANGUAGE_MODULE
            && (m.rank_offset >= first.saturating_add(ranks) || first >= m.rank_offset.saturating_add(m.ranks()))
    };
    let (vpp, group, overlaps) = (
        language.stages.vpp(),
        language.args.microbatch_group_size_per_virtual_pipeline_stage,
        language.args.overlap_moe_expert_parallel_comm,
    );
    let on_first_stage = |m: &&mut Module| m.name != LANGUAGE_MODULE && !apart(m) && m.pp == 1 && pp > 1;
    for m in modules.iter_mut().filter(on_first_stage) {
        m.boundary.first_stage = Some(FirstStage {
            pp,
            vpp,
            microbatch_group_size_per_vp_stage: group,
            overlap_moe_expert_parallel_comm: overlaps,
        });
    }
    let before = modules.iter().filter(|m| apart(m)).map(|m| m.pp).max();
    let before = before.unwrap_or(0);
    let mut received = 0u64;
    for m in modules.iter_mut().filter(|m| apart(m)) {
        let sent = output_bytes(m);
        // The outputs of the encoder's replicas are divided among the language model's replicas.
        let share = u128::from(sent) * u128::from(m.dp) / u128::from(dp.max(1));
        received = received.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
        m.boundary.sent = sent;
        // An encoder with a shorter path starts as early as the longest: more of its micro batches wait.
        m.boundary.stages_after = pp + before - m.pp;
    }
    for m in modules.iter_mut().filter(|m| m.name == LANGUAGE_MODULE) {
        m.boundary.received = received;
        m.boundary.stages_before = before;
    }
}

/// Bytes of a micro batch that an encoder puts out on each of its ranks.
fn output_bytes(module: &Module) -> u64 {
    let a = &module.args;
    let class_tokens = if module.io.front_end == FrontEnd::Patches {
        a.class_token_len
    } else {
        0
    };
    let merged = a.spatial_merge_size.saturating_mul(a.spatial_merge_size);
    let tokens = module.io.tokens.saturating_sub(class_tokens).max(1);
    let tokens = (tokens / merged.max(1)).max(1);
    let width = match module.io.projector {
        Some(projector) => projector.output,
        None => a.hidden_size.saturating_mul(merged),
    };
    tokens
        .saturating_mul(a.micro_batch_size)
        .saturating_mul(width)
        .saturating_mul(module.precision.bytes())
}
