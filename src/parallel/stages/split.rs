//! The three splits by number: even, with uneven first or last rank, with embedding and loss as layers.

use super::divisors::{near_common_divisors, near_divisors};
use super::rules::{EMBEDDING, FIRST, LAST, LAYERS, LOSS, PP, VPP, chunks_of_rank, layers_per_rank, zero};
use super::{Share, StageInput, StageLayout, StageProblem, deal};
use crate::value::Value;

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
        return Err(vec![layers_per_rank(input)]);
    }
    let layers = slots / input.pp;
    if let Some(vpp) = input.vpp
        && !layers.is_multiple_of(vpp)
    {
        let near = near_divisors(layers, vpp);
        let fields = [VPP, LAYERS, PP];
        return Err(vec![chunks_of_rank("each pipeline rank", &fields, layers, vpp, &near)]);
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
        let message = format!("{FIRST} and {LAST} cannot be combined with {EMBEDDING} or {LOSS}");
        problems.push(StageProblem::error(&[FIRST, LAST, EMBEDDING, LOSS], message));
    }
    let ends = [(first, FIRST), (last, LAST)];
    for (given, field) in ends {
        if given == Some(0) {
            problems.push(zero(field));
        }
    }

    let middle_layers = i64::from(input.num_layers) - i64::from(first.unwrap_or(0)) - i64::from(last.unwrap_or(0));
    let middle_ranks = i64::from(input.pp) - i64::from(first.is_some()) - i64::from(last.is_some());
    // Megatron only compares the two for being zero; a negative number of layers would build nothing.
    let middle = (u32::try_from(middle_layers).ok()).zip(u32::try_from(middle_ranks).ok());
    let Some((layers, ranks)) = middle.filter(|(layers, ranks)| (*layers == 0) == (*ranks == 0)) else {
        let message = format!(
            "beside the first and last pipeline rank that are set, {middle_layers} layers are left for {middle_ranks} ranks"
        );
        problems.push(StageProblem::error(&[FIRST, LAST, PP], message));
        return Err(problems);
    };
    if ranks > 0 && !layers.is_multiple_of(ranks) {
        let mut ends = ends.into_iter().rev();
        let fits = ends.find_map(|(end, field)| Some((field, nearest_fit(layers, ranks, end?)?)));
        let near = fits.map_or_else(String::new, |(field, layers)| format!("; near: {field} {layers}"));
        let message = format!(
            "the {layers} layers that are left must be divisible by the {ranks} pipeline ranks that are left{near}"
        );
        let problem = StageProblem::error(&[FIRST, LAST, PP], message);
        problems.push(match fits {
            Some((field, layers)) => problem.fix(field, Value::Int(layers.into())),
            None => problem,
        });
    }
    let middle = layers.checked_div(ranks).unwrap_or(0);

    if let Some(vpp) = input.vpp {
        // The layer offset divides by the number of middle ranks; upstream stops with a ZeroDivisionError.
        if ranks == 0 {
            let message = format!(
                "with {FIRST} and {LAST} set, {vpp} virtual stages need a pipeline rank between the first and the last, and there are {} ranks in all",
                input.pp
            );
            problems.push(StageProblem::error(&[VPP, FIRST, LAST], message));
        }
        let shares: [(_, &[&str], _); 3] = [
            ("the first pipeline rank", &[VPP, FIRST], first),
            ("the last pipeline rank", &[VPP, LAST], last),
            (
                "each middle pipeline rank",
                &[VPP, LAYERS, PP],
                (ranks > 0).then_some(middle),
            ),
        ];
        for (which, fields, layers) in shares {
            if let Some(layers) = layers
                && !layers.is_multiple_of(vpp)
            {
                let near = near_common_divisors(layers, middle, vpp);
                problems.push(chunks_of_rank(which, fields, layers, vpp, &near));
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
