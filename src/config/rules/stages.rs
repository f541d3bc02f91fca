//! How layers fall into stages; the rules themselves live with the split.

use super::rule::FixValue::Default;
use super::rule::Violation;
use super::{linear_attention, sparse_attention};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;
use crate::parallel::stages::{
    PipelineLayout, StageInput, StageLayout, StageProblem, VppChoice, resolve_vpp, stage_layout,
};
use crate::value::Value;

/// A rule about how layers fall into stages.
type LayoutRule = fn(&Draft<'_>, &StageLayout) -> Option<Violation>;

/// The split of a module's layers over stages.
///
/// # Errors
/// The problems with the split; none where a pattern cannot be read, which is a problem of its own.
pub(crate) fn stages(d: &Draft<'_>) -> Result<StageLayout, Vec<Problem>> {
    stages_of(d, split(d)?)
}

/// The split of a module's layers, where it keeps the rules that depend on more than the split.
///
/// # Errors
/// The problems with the split.
pub(crate) fn stages_of(d: &Draft<'_>, split: StageLayout) -> Result<StageLayout, Vec<Problem>> {
    let rules: [(&'static str, LayoutRule); 3] = [
        ("sparse_attention_stages", sparse_attention::stages),
        ("sparse_attention_mtp_stage", sparse_attention::mtp_stage),
        ("mtp_after_linear_attention", linear_attention::mtp),
    ];
    let broken = rules.into_iter().filter_map(|(name, check)| {
        let violation = check(d, &split)?;
        Some(violation.into_problem(d.context.module, name))
    });
    let broken: Vec<Problem> = broken.collect();
    if broken.is_empty() { Ok(split) } else { Err(broken) }
}

fn split(d: &Draft<'_>) -> Result<StageLayout, Vec<Problem>> {
    // Without a readable pattern nothing is known of the layers; another rule says what is wrong with it.
    if matches!(d.hybrid, Some(Err(_))) {
        return Err(Vec::new());
    }
    let problem = |rule, violation: Violation| violation.into_problem(d.context.module, rule);
    let a = &d.args;
    let text = a.pipeline_model_parallel_layout.as_deref();
    let unread = text.filter(|_| d.context.pipeline_layout.is_none());
    let read = unread.map(str::parse::<PipelineLayout>).transpose();
    let layout = match &read {
        Ok(read) => read.as_ref().or(d.context.pipeline_layout),
        Err(error) => {
            let field = F::pipeline_model_parallel_layout;
            let message = format!("pipeline_model_parallel_layout: {error}");
            let violation = Violation::error(&[field], message).fix(field, Default);
            return Err(vec![problem("layout", violation)]);
        }
    };
    let segments: Option<Vec<u32>> = d.pattern().map(|pattern| {
        let lengths = pattern.segments().iter();
        lengths.map(|segment| narrow(segment.len() as u64)).collect()
    });
    let mut input = StageInput {
        num_layers: narrow(a.num_layers),
        pp: narrow(d.pp),
        vpp: a
            .virtual_pipeline_model_parallel_size
            .filter(|vpp| *vpp > 1)
            .map(narrow),
        decoder_first_pipeline_num_layers: a.decoder_first_pipeline_num_layers.map(narrow),
        decoder_last_pipeline_num_layers: a.decoder_last_pipeline_num_layers.map(narrow),
        account_for_embedding_in_pipeline_split: a.account_for_embedding_in_pipeline_split,
        account_for_loss_in_pipeline_split: a.account_for_loss_in_pipeline_split,
        mtp_num_layers: a.mtp_num_layers.map(narrow),
        layout,
        hybrid_segments: segments.as_deref(),
    };
    let choice = VppChoice {
        num_layers_per_virtual_pipeline_stage: a.num_layers_per_virtual_pipeline_stage.map(narrow),
        num_virtual_stages_per_pipeline_rank: a.num_virtual_stages_per_pipeline_rank.map(narrow),
        ..VppChoice::default()
    };
    let split = match resolve_vpp(&input, &choice) {
        Ok(None) => stage_layout(&input),
        Ok(Some(vpp)) if input.vpp.is_none_or(|given| given == vpp) => {
            input.vpp = Some(vpp);
            stage_layout(&input)
        }
        Ok(Some(vpp)) => {
            let violation = vpp_twice(input.vpp.unwrap_or(1), vpp);
            return Err(vec![problem("vpp_twice", violation)]);
        }
        Err(broken) => Err(broken),
    };
    split.map_err(|broken| {
        let problems = broken.iter().map(|one| problem("stages", violation(d, one)));
        problems.collect()
    })
}

/// `virtual_pipeline_model_parallel_size` is `given`, and the other arguments make `derived` chunks.
fn vpp_twice(given: u32, derived: u32) -> Violation {
    let message = format!(
        "virtual_pipeline_model_parallel_size {given} disagrees with the {derived} chunks that the other arguments give"
    );
    let fields = [
        F::virtual_pipeline_model_parallel_size,
        F::num_layers_per_virtual_pipeline_stage,
        F::num_virtual_stages_per_pipeline_rank,
        F::pipeline_model_parallel_layout,
    ];
    Violation::error(&fields, message).fix(F::virtual_pipeline_model_parallel_size, Default)
}

/// A broken rule of the split, with the fixes that the split suggests.
fn violation(d: &Draft<'_>, broken: &StageProblem) -> Violation {
    let fields: Vec<F> = broken.fields().iter().filter_map(|name| F::by_name(name)).collect();
    let violation = Violation::error(&fields, broken.to_string());
    let sizes = |values: &[u32]| values.iter().map(|n| u64::from(*n)).collect::<Vec<u64>>();
    let chunks = d.chunk_field();
    match broken {
        StageProblem::LayersPerRank {
            near_pp,
            last_rank_layers,
            ..
        } => {
            let last = sizes(last_rank_layers.as_slice());
            violation
                .fix_each(F::pipeline_model_parallel_size, &sizes(near_pp))
                .fix_each(F::decoder_last_pipeline_num_layers, &last)
        }
        StageProblem::LayoutStages { near_pp, .. } => {
            violation.fix_each(F::pipeline_model_parallel_size, &sizes(near_pp))
        }
        StageProblem::ChunksOfRank { near_vpp, .. } => violation.fix_each(chunks, &sizes(near_vpp)),
        StageProblem::LayersPerVirtualStage { near, .. } => {
            violation.fix_each(F::num_layers_per_virtual_pipeline_stage, &sizes(near))
        }
        StageProblem::UnevenRest {
            fits: Some((name, layers)),
            ..
        } => match F::by_name(name) {
            Some(field) => violation.fix_each(field, &[u64::from(*layers)]),
            None => violation,
        },
        StageProblem::InterleavedNeedsPipeline { .. } => violation.fix(chunks, Default),
        StageProblem::HybridSegments { segments, near_pp, .. } => {
            resegmented(d, violation, (*segments).max(1).next_multiple_of(narrow(d.pp).max(1)))
                .fix_each(F::pipeline_model_parallel_size, &sizes(near_pp))
        }
        StageProblem::HybridWithOtherSplit { field } => match F::by_name(field) {
            Some(field) => violation.fix(field, Default),
            None => violation,
        },
        StageProblem::HybridVppNeedsSegments { pp, vpp } => {
            resegmented(d, violation, pp.saturating_mul(*vpp)).fix(chunks, Default)
        }
        _ => violation,
    }
}

/// The violation with a fix: the layers of the pattern in so many segments.
fn resegmented(d: &Draft<'_>, violation: Violation, segments: u32) -> Violation {
    match d.pattern() {
        Some(pattern) => {
            let pattern = pattern.in_segments(segments as usize).to_string();
            violation.fix(F::hybrid_layer_pattern, Value::Text(pattern))
        }
        None => violation,
    }
}

fn narrow(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
