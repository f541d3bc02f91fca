//! How layers fall into stages; the rules themselves live with the split.

use super::rule::FixValue::Default;
use super::{compressed_attention, hyper_connections, linear_attention, sparse_attention};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::{Fix, Problem};
use crate::parallel::stages::{
    PipelineLayout, StageInput, StageLayout, StageProblem, VppChoice, resolve_vpp, stage_layout,
};
use crate::value::Value;

/// A rule about how layers fall into stages.
type LayoutRule = fn(&Draft<'_>, &StageLayout) -> Option<Problem>;

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
    let rules: [(&'static str, LayoutRule); 6] = [
        ("sparse_attention_stages", sparse_attention::stages),
        ("sparse_attention_mtp_stage", sparse_attention::mtp_stage),
        ("hash_routing_stages", compressed_attention::hash_stages),
        ("compressed_attention_mtp_stage", compressed_attention::mtp_stage),
        ("hyper_connections_mtp_stage", hyper_connections::mtp_stage),
        ("mtp_after_linear_attention", linear_attention::mtp),
    ];
    let broken = rules.into_iter().filter_map(|(name, check)| {
        let problem = check(d, &split)?;
        Some(problem.of(d.context.module, name))
    });
    let broken: Vec<Problem> = broken.collect();
    if broken.is_empty() { Ok(split) } else { Err(broken) }
}

fn split(d: &Draft<'_>) -> Result<StageLayout, Vec<Problem>> {
    // Without a readable pattern nothing is known of the layers; another rule says what is wrong with it.
    if matches!(d.hybrid, Some(Err(_))) {
        return Err(Vec::new());
    }
    let module = d.context.module;
    let a = &d.args;
    let text = a.pipeline_model_parallel_layout.as_deref();
    let unread = text.filter(|_| d.context.pipeline_layout.is_none());
    let read = unread.map(str::parse::<PipelineLayout>).transpose();
    let layout = match &read {
        Ok(read) => read.as_ref().or(d.context.pipeline_layout),
        Err(error) => {
            let field = F::pipeline_model_parallel_layout;
            let message = format!("pipeline_model_parallel_layout: {error}");
            let problem = Problem::error(&[field], message).fix(field, Default);
            return Err(vec![problem.of(module, "layout")]);
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
            let problem = vpp_twice(input.vpp.unwrap_or(1), vpp);
            return Err(vec![problem.of(module, "vpp_twice")]);
        }
        Err(broken) => Err(broken),
    };
    split.map_err(|problems| {
        let problems = problems.into_iter().map(|problem| of_job(d, input.vpp, problem));
        problems.map(|problem| problem.of(module, "stages")).collect()
    })
}

/// `virtual_pipeline_model_parallel_size` is `given`, and the other arguments make `derived` chunks.
fn vpp_twice(given: u32, derived: u32) -> Problem {
    let message = format!(
        "virtual_pipeline_model_parallel_size {given} disagrees with the {derived} chunks that the other arguments give"
    );
    let fields = [
        F::virtual_pipeline_model_parallel_size,
        F::num_layers_per_virtual_pipeline_stage,
        F::num_virtual_stages_per_pipeline_rank,
        F::pipeline_model_parallel_layout,
    ];
    Problem::error(&fields, message).fix(F::virtual_pipeline_model_parallel_size, Default)
}

/// A broken rule of the split as a problem of the job, whose fixes set the argument that says how many chunks a rank
/// has. Where a pattern has too few segments for the `vpp` chunks that are asked for, it comes first with more.
fn of_job(d: &Draft<'_>, vpp: Option<u32>, broken: StageProblem) -> Problem {
    let mut problem = broken.rename_fields(F::by_name);
    for fix in &mut problem.fixes {
        if fix.field == F::virtual_pipeline_model_parallel_size {
            fix.field = d.chunk_field();
        }
    }
    if let (Some(pattern), Some(F::hybrid_layer_pattern)) = (d.pattern(), problem.fields.first()) {
        let segments = match (pattern.segments().len(), vpp) {
            (1, Some(vpp)) => narrow(d.pp).saturating_mul(vpp) as usize,
            (segments, _) => segments.max(1).next_multiple_of((narrow(d.pp) as usize).max(1)),
        };
        let value = Value::Text(pattern.in_segments(segments).to_string());
        let field = F::hybrid_layer_pattern;
        problem.fixes.insert(0, Fix { field, value });
    }
    problem
}

fn narrow(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
