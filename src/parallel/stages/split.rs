//! The three splits by number: even, with uneven first or last rank, with embedding and loss as layers.

use super::divisors::{near_common_divisors, near_divisors};
use super::problem::{Place, StageProblem};
use super::{Share, StageInput, StageLayout, deal};

impl StageInput<'_> {
    /// Layers to share out, with the embedding and the loss where they count as one.
    pub(super) fn slots(&self) -> u32 {
        self.num_layers
            .saturating_add(u32::from(self.account_for_embedding_in_pipeline_split))
            .saturating_add(u32::from(self.account_for_loss_in_pipeline_split))
    }

    pub(super) fn uneven(&self) -> bool {
        self.decoder_first_pipeline_num_layers.is_some() || self.decoder_last_pipeline_num_layers.is_some()
    }

    pub(super) fn accounts(&self) -> bool {
        self.account_for_embedding_in_pipeline_split || self.account_for_loss_in_pipeline_split
    }
}

/// Layers of a rank, all its chunks together.
struct PerRank {
    first: u32,
    middle: u32,
    last: u32,
}

pub(super) fn split(input: &StageInput<'_>) -> Result<StageLayout, Vec<StageProblem>> {
    let per_rank = if input.uneven() { uneven(input)? } else { even(input)? };
    let stages = input.vpp.unwrap_or(1);
    let layout = deal(input, input.vpp, &|pp_rank, vp_stage| {
        let is_last_rank = pp_rank + 1 == input.pp;
        let is_last = is_last_rank && vp_stage + 1 == stages;
        let on_rank = if is_last_rank && input.decoder_last_pipeline_num_layers.is_some() {
            per_rank.last
        } else if pp_rank == 0 {
            per_rank.first
        } else {
            per_rank.middle
        };
        let mut layers = on_rank / stages;
        if pp_rank == 0 && vp_stage == 0 && input.account_for_embedding_in_pipeline_split {
            layers = layers.saturating_sub(1);
        }
        if is_last && input.account_for_loss_in_pipeline_split {
            layers = layers.saturating_sub(1);
        }
        Share {
            layers,
            mtp: input.mtp_num_layers.filter(|_| is_last).unwrap_or(0),
        }
    });
    Ok(layout)
}

fn even(input: &StageInput<'_>) -> Result<PerRank, Vec<StageProblem>> {
    let slots = input.slots();
    if !slots.is_multiple_of(input.pp) {
        return Err(vec![StageProblem::layers_per_rank(input)]);
    }
    let layers = slots / input.pp;
    if let Some(vpp) = input.vpp
        && !layers.is_multiple_of(vpp)
    {
        return Err(vec![StageProblem::ChunksOfRank {
            place: Place::Every,
            layers,
            vpp,
            near_vpp: near_divisors(layers, vpp),
        }]);
    }
    Ok(PerRank {
        first: layers,
        middle: layers,
        last: layers,
    })
}

fn uneven(input: &StageInput<'_>) -> Result<PerRank, Vec<StageProblem>> {
    let first = input.decoder_first_pipeline_num_layers;
    let last = input.decoder_last_pipeline_num_layers;
    let mut problems = Vec::new();
    if input.accounts() {
        problems.push(StageProblem::UnevenWithAccountFor);
    }
    let ends = [
        (first, "decoder_first_pipeline_num_layers"),
        (last, "decoder_last_pipeline_num_layers"),
    ];
    for (given, field) in ends {
        if given == Some(0) {
            problems.push(StageProblem::Zero { field });
        }
    }

    let middle_layers = i64::from(input.num_layers) - i64::from(first.unwrap_or(0)) - i64::from(last.unwrap_or(0));
    let middle_ranks = i64::from(input.pp) - i64::from(first.is_some()) - i64::from(last.is_some());
    // Megatron only compares the two for being zero; a negative number of layers would build nothing.
    let (Ok(layers), Ok(ranks)) = (u32::try_from(middle_layers), u32::try_from(middle_ranks)) else {
        problems.push(StageProblem::UnevenMiddle {
            middle_layers,
            middle_ranks,
        });
        return Err(problems);
    };
    if (layers == 0) != (ranks == 0) {
        problems.push(StageProblem::UnevenMiddle {
            middle_layers,
            middle_ranks,
        });
        return Err(problems);
    }
    if ranks > 0 && !layers.is_multiple_of(ranks) {
        problems.push(StageProblem::UnevenRest {
            middle_layers: layers,
            middle_ranks: ranks,
            fits: ends
                .into_iter()
                .rev()
                .find_map(|(end, field)| Some((field, nearest_fit(layers, ranks, end?)?))),
        });
    }
    let middle = layers.checked_div(ranks).unwrap_or(0);

    if let Some(vpp) = input.vpp {
        // The layer offset divides by the number of middle ranks; upstream stops with a ZeroDivisionError.
        if ranks == 0 {
            problems.push(StageProblem::UnevenInterleavedNeedsMiddle { pp: input.pp, vpp });
        }
        let shares = [
            (Place::First, first),
            (Place::Last, last),
            (Place::Middle, (ranks > 0).then_some(middle)),
        ];
        for (place, layers) in shares {
            if let Some(layers) = layers
                && !layers.is_multiple_of(vpp)
            {
                problems.push(StageProblem::ChunksOfRank {
                    place,
                    layers,
                    vpp,
                    near_vpp: near_common_divisors(layers, middle, vpp),
                });
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(PerRank {
        first: first.unwrap_or(middle),
        middle,
        last: last.unwrap_or(middle),
    })
}

/// The number of layers nearest to `end`, on that end, that lets the middle ranks share the rest.
fn nearest_fit(middle_layers: u32, middle_ranks: u32, end: u32) -> Option<u32> {
    let over = middle_layers.checked_rem(middle_ranks)?;
    let more = end.saturating_add(over);
    let fewer = end.checked_sub(middle_ranks - over).filter(|n| *n > 0);
    let more = (middle_layers > over).then_some(more);
    match (fewer, more) {
        (Some(fewer), Some(more)) if end - fewer < more - end => Some(fewer),
        (fewer, more) => more.or(fewer),
    }
}
