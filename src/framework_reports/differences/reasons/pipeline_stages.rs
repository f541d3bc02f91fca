//! How layers are placed on pipeline stages.

use super::super::difference::Framework::{self, MegatronBridge, MegatronLm};
use super::super::difference::{BOTH, Difference, Effect};
use super::super::fullest_stage::FullestStage;
use crate::config::layers::MlpKind;
use crate::parallel::stages::Chunk;

pub(super) fn average_stage(fullest: &FullestStage<'_>) -> Option<Difference> {
    let m = fullest.m;
    let mut loads = m
        .stages
        .chunks()
        .chunks(m.stages.chunks_per_rank().max(1) as usize)
        .map(|chunks| {
            let layers = chunks.iter().map(Chunk::num_layers).sum::<u32>();
            let moe_layers = chunks
                .iter()
                .flat_map(|chunk| chunk.layers.clone())
                .filter_map(|layer| m.layers().decoder().get(layer as usize))
                .filter(|layer| layer.mlp == Some(MlpKind::Moe))
                .count();
            (layers, moe_layers)
        });
    let first = loads.next()?;
    if m.pp == 1 || (m.mtp_num_layers == 0 && loads.all(|load| load == first)) {
        return None;
    }
    let mtp = match m.mtp_num_layers {
        0 => String::new(),
        1 => String::from(", and the MTP layer"),
        n => format!(", and all {n} MTP layers"),
    };
    Some(Difference {
        id: "average_stage",
        frameworks: if fullest.first_or_last_given() {
            &[MegatronLm]
        } else {
            BOTH
        },
        text: format!(
            "It takes an average stage of {} / {} layers, of every kind alike, with one embedding on it{mtp}. The stage with most weights and states, {}, really has {} layers.",
            m.args().num_layers,
            m.pp,
            fullest.pp_rank,
            fullest.layers()
        ),
        effect: Effect::Unsaid,
    })
}

pub(super) fn unread_split(fullest: &FullestStage<'_>) -> Option<Difference> {
    let a = fullest.m.args();
    let accounts = a.account_for_embedding_in_pipeline_split || a.account_for_loss_in_pipeline_split;
    let (name, frameworks): (_, &[Framework]) = if a.pipeline_model_parallel_layout.is_some() {
        ("pipeline_model_parallel_layout", BOTH)
    } else if accounts {
        (
            "account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split",
            BOTH,
        )
    } else if fullest.first_or_last_given() {
        (
            "decoder_first_pipeline_num_layers and decoder_last_pipeline_num_layers",
            &[MegatronLm],
        )
    } else {
        return None;
    };
    Some(Difference {
        id: "unread_split",
        frameworks,
        text: format!("It does not read {name}."),
        effect: Effect::Unsaid,
    })
}

pub(super) fn ends_added_up(fullest: &FullestStage<'_>) -> Option<Difference> {
    (fullest.first_or_last_given() && fullest.m.moe.is_some()).then(|| Difference {
        id: "ends_added_up",
        frameworks: &[MegatronBridge],
        text: String::from(
            "It adds the stage with most dense parameters and the stage with most experts, even where these are two stages.",
        ),
        effect: Effect::Unsaid,
    })
}
