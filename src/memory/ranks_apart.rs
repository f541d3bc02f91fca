//! The stage that needs most of a job whose modules have ranks to themselves, for a search through its layouts.

use core::cmp::Reverse;

use super::estimate::StageRef;
use super::job_moment::JobMoment;
use super::shared::{LanguageStages, SharedTables, TooLarge};
use super::stage_bytes::StageBytes;
use super::{Replayed, estimate_module};
use crate::config::job::Module;
use crate::units::Bytes;

/// Whether no two modules share a rank, so that every rank runs one stage.
pub(crate) fn are_apart(modules: &[Module]) -> bool {
    let ends = |m: &Module| (m.rank_offset, m.rank_offset.saturating_add(m.ranks()));
    modules.iter().enumerate().all(|(index, m)| {
        let (start, end) = ends(m);
        let mut others = modules.iter().skip(index + 1).map(ends);
        others.all(|(other_start, other_end)| end <= other_start || other_end <= start)
    })
}

/// The heaviest stages of the encoders that were met, each with its pipeline rank. Most layouts of a job have the same
/// encoders.
#[derive(Default)]
pub(crate) struct HeaviestOfEncoders(Vec<(Module, (u32, StageBytes))>);

impl HeaviestOfEncoders {
    fn of(&mut self, m: &Module) -> Option<(u32, StageBytes)> {
        if let Some((_, heaviest)) = self.0.iter().find(|(of, _)| of == m) {
            return Some(*heaviest);
        }
        let estimate = estimate_module(m, JobMoment::default(), Replayed::EveryStage)?;
        let stages = (0u32..).zip(&estimate.stages);
        // The first of several.
        let (pp_rank, heaviest) = stages.max_by_key(|(pp_rank, stage)| (stage.total, Reverse(*pp_rank)))?;
        let heaviest = (pp_rank, StageBytes::from(heaviest));
        self.0.push((m.clone(), heaviest));
        Some(heaviest)
    }
}

impl SharedTables {
    /// The stage that needs most in later iterations of a job whose modules [are apart](are_apart), on the first rank of
    /// several that need as much. It is the worst one of [`estimate`](super::estimate). Beside it the stages of the language
    /// model, if there is one.
    ///
    /// # Errors
    /// Where a stage of the language model has a peak that is `too_large`.
    pub(crate) fn worst_of_modules(
        &mut self,
        modules: &[Module],
        too_large: impl Fn(Bytes) -> bool,
    ) -> Result<(StageRef, StageBytes, Option<LanguageStages>), TooLarge> {
        let mut worst: Option<((Bytes, Reverse<u64>), StageRef, StageBytes)> = None;
        let mut of_language = None;
        for (module, m) in modules.iter().enumerate() {
            let (pp_rank, stage) = if m.io.is_language() {
                let (pp_rank, stage, stages) = self.worst_stage(m, &too_large)?;
                of_language = Some(stages);
                (pp_rank, stage)
            } else {
                let heaviest = self.encoders.of(m);
                heaviest.ok_or(TooLarge::WithThisMicroBatch)?
            };
            let rank = m.rank_offset + u64::from(pp_rank) * (m.ranks() / m.pp.max(1));
            let order = (stage.total, Reverse(rank));
            if worst.as_ref().is_none_or(|(most, ..)| order > *most) {
                let pp_rank = usize::try_from(pp_rank).unwrap_or(usize::MAX);
                worst = Some((order, StageRef { module, pp_rank }, stage));
            }
        }
        let (_, at, stage) = worst.ok_or(TooLarge::WithThisMicroBatch)?;
        Ok((at, stage, of_language))
    }
}
