//! How layers fall into stages; the rules themselves live with the split.

use crate::config::check::Draft;
use crate::config::fields::FieldId as F;
use crate::config::problem::Problem;
use crate::parallel::stages::{
    PipelineLayout, StageInput, StageLayout, StageProblem, VppChoice, resolve_vpp, stage_layout,
};
use crate::value::Value;

/// The split of one module's layers, or the problems with it.
pub(crate) fn stages(d: &Draft<'_>, problems: &mut Vec<Problem>) -> Option<StageLayout> {
    let a = &d.a;
    let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let layout = match a
        .pipeline_model_parallel_layout
        .as_deref()
        .map(str::parse::<PipelineLayout>)
    {
        None => None,
        Some(Ok(layout)) => Some(layout),
        Some(Err(error)) => {
            d.error(
                problems,
                "layout",
                &[F::pipeline_model_parallel_layout],
                format!("pipeline_model_parallel_layout: {error}"),
            )
            .fix(F::pipeline_model_parallel_layout, Value::Null);
            return None;
        }
    };
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
        layout: layout.as_ref(),
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
            let message = format!(
                "virtual_pipeline_model_parallel_size {} disagrees with the {vpp} chunks that the other arguments give",
                input.vpp.unwrap_or(1)
            );
            let fields = [
                F::virtual_pipeline_model_parallel_size,
                F::num_layers_per_virtual_pipeline_stage,
                F::num_virtual_stages_per_pipeline_rank,
                F::pipeline_model_parallel_layout,
            ];
            let field = F::virtual_pipeline_model_parallel_size;
            d.error(problems, "vpp_twice", &fields, message)
                .fix(field, Value::Null);
            return None;
        }
        Err(found) => Err(found),
    };
    match split {
        Ok(stages) => Some(stages),
        Err(found) => {
            for problem in &found {
                report(d, problem, problems);
            }
            None
        }
    }
}

fn report(d: &Draft<'_>, problem: &StageProblem, problems: &mut Vec<Problem>) {
    let mut fields = Vec::new();
    for name in problem.fields() {
        fields.extend(F::by_name(name));
    }
    let reported = d.error(problems, "stages", &fields, problem.to_string());
    // The field that asks for chunks.
    let chunks = match (
        d.a.num_virtual_stages_per_pipeline_rank,
        d.a.num_layers_per_virtual_pipeline_stage,
    ) {
        (Some(_), _) => F::num_virtual_stages_per_pipeline_rank,
        (_, Some(_)) => F::num_layers_per_virtual_pipeline_stage,
        _ => F::virtual_pipeline_model_parallel_size,
    };
    let (field, near): (F, &[u32]) = match problem {
        StageProblem::LayersPerRank { near_pp, .. }
        | StageProblem::LayoutStages { near_pp, .. } => (F::pipeline_model_parallel_size, near_pp),
        StageProblem::ChunksOfRank { near_vpp, .. } => (chunks, near_vpp),
        StageProblem::LayersPerVirtualStage { near, .. } => {
            (F::num_layers_per_virtual_pipeline_stage, near)
        }
        _ => (F::pipeline_model_parallel_size, &[]),
    };
    for size in near {
        reported.fix_each(field, &[u64::from(*size)]);
    }
    match problem {
        StageProblem::LayersPerRank {
            last_rank_layers: Some(layers),
            ..
        } => {
            let field = F::decoder_last_pipeline_num_layers;
            reported.fix_each(field, &[u64::from(*layers)]);
        }
        StageProblem::UnevenRest {
            fits: Some((name, layers)),
            ..
        } => {
            if let Some(field) = F::by_name(name) {
                reported.fix_each(field, &[u64::from(*layers)]);
            }
        }
        StageProblem::InterleavedNeedsPipeline { .. } => {
            reported.fix(chunks, Value::Null);
        }
        _ => {}
    }
}
