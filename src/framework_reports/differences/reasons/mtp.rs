//! Multi-token prediction.

use super::super::difference::{BOTH, Difference, Effect};
use super::super::fullest_stage::{Elements, FullestStage};
use crate::model::tensor::Component;

pub(super) fn mtp_projection(fullest: &FullestStage<'_>) -> Option<Difference> {
    let around =
        |c, mtp| matches!(c, Component::EhProj | Component::EnormHnorm) || (mtp && c == Component::FinalLayernorm);
    fullest.left_out(
        "mtp_projection",
        BOTH,
        &around,
        "It counts an MTP depth as a layer, without the projection and the three norms around it.",
    )
}

pub(super) fn mtp_embedding(fullest: &FullestStage<'_>) -> Option<Difference> {
    let m = fullest.m;
    let copies = m.stages.chunks().iter().filter(|c| c.word_embedding_copy_for_mtp());
    let copy = copies.min_by_key(|chunk| chunk.pp_rank)?;
    let chunks = m.stages.rank(copy.pp_rank);
    let (also, here) = (
        chunks.iter().any(|c| c.output),
        copy.pp_rank as usize == fullest.pp_rank,
    );
    let table = u128::from(m.padded_vocab_size) * u128::from(m.args().hidden_size) / u128::from(m.tp);
    let table = Elements {
        dense: u64::try_from(table).unwrap_or(u64::MAX),
        expert: 0,
    };
    Some(Difference {
        id: "mtp_embedding",
        frameworks: BOTH,
        text: format!(
            "It counts one vocabulary table on a stage; stage {} holds a copy of the word embedding for MTP{}.",
            copy.pp_rank,
            if also { " besides the output layer" } else { "" }
        ),
        effect: if also && here {
            Effect::Less(fullest.bytes(table))
        } else {
            Effect::Unsaid
        },
    })
}
