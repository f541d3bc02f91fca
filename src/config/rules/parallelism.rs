//! How ranks tile the job.

use super::rule::FixValue::{Default, Number, Off};
use super::rule::{Alternatives, rules};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::nearby::{common_multiple, near_matches, or_list};
use crate::config::problem::Problem;
use crate::value::Value;

rules! { |d, a|
    error "world_holds_one_copy"
        if d.world_size < d.total_model_size()
        => [world_size, tensor_model_parallel_size, pipeline_model_parallel_size, context_parallel_size],
        format!(
            "world_size {} cannot hold one replica of the model: TP {} × PP {} × CP {} = {} GPUs",
            d.world_size, d.tp, d.pp, d.cp, d.total_model_size()
        ),
        [world_size = Number(tile(d))];
    error "world_by_copy" by(world_by_copy);
    error "data_parallel_size"
        let given = a.data_parallel_size?,
        if d.has_whole_copies() && given != d.dp => [data_parallel_size, world_size],
        format!(
            "data_parallel_size {given} does not fit {} GPUs with TP {} × PP {} × CP {}: that gives {}",
            d.world_size, d.tp, d.pp, d.cp, d.dp
        ),
        [data_parallel_size = Default, world_size = Value::Int(i128::from(d.total_model_size()).saturating_mul(i128::from(given)))];
    error "expert_grid" by(expert_grid);
    error "sequence_by_cp" : (d.splits_sequences() && !pads_samples(d)).then_some(a.seq_length) => "seq_length {}",
        2 * d.cp => "2 · CP = {}", [seq_length, context_parallel_size],
        or(|d, length, parts| {
            let near = near_matches(d.cp, 4096, 3, &|cp| length.is_multiple_of(2 * cp));
            Alternatives::sizes(F::context_parallel_size, &near, F::seq_length, length, parts)
        });
    warning "sequence_parallel_needs_tp" if a.sequence_parallel && d.tp == 1
        => [sequence_parallel, tensor_model_parallel_size],
        "Megatron-LM turns sequence_parallel off with TP 1", [sequence_parallel = Off];
    error "sequence_by_tp" by(sequence_by_tp);
}

/// The fields that make one copy of the model, and the world that holds it.
const COPY: &[F] = &[
    F::world_size,
    F::tensor_model_parallel_size,
    F::pipeline_model_parallel_size,
    F::context_parallel_size,
];

/// The ranks that a copy of the model and the grid of its experts both divide.
fn tile(d: &Draft<'_>) -> u64 {
    common_multiple(d.total_model_size(), expert_grid_size(d))
}

/// The ranks of the grid of experts, over all pipeline stages.
fn expert_grid_size(d: &Draft<'_>) -> u64 {
    d.etp.saturating_mul(d.ep).saturating_mul(d.pp)
}

fn world_by_copy(d: &Draft<'_>) -> Option<Problem> {
    let (world_size, copy) = (d.world_size, d.total_model_size());
    if world_size < copy || d.has_whole_copies() {
        return None;
    }
    let step = tile(d);
    let below = world_size / step * step;
    let near = [below, below.saturating_add(step)].into_iter().filter(|near| *near > 0);
    let near: Vec<u64> = near.collect();
    let and_experts = if step == copy {
        String::new()
    } else {
        format!(
            " and of ETP {} · EP {} · PP {} = {}",
            d.etp,
            d.ep,
            d.pp,
            expert_grid_size(d)
        )
    };
    let message = format!(
        "world_size {world_size} must be a multiple of TP {} × PP {} × CP {} = {copy}{and_experts}; {} GPUs would work",
        d.tp,
        d.pp,
        d.cp,
        or_list(&near)
    );
    Some(Problem::error(COPY, message).fix_each(F::world_size, &near))
}

/// The expert grid must cover the same ranks as the dense one (`initialize_model_parallel`).
fn expert_grid(d: &Draft<'_>) -> Option<Problem> {
    let (stage, span) = (d.world_size / d.pp, d.etp.saturating_mul(d.ep));
    if !d.has_whole_copies() || stage.is_multiple_of(span) {
        return None;
    }
    let divides = |ep: u64| d.args.num_experts.is_none_or(|n| n.is_multiple_of(ep));
    let expert_sizes = near_matches(d.ep, stage.min(4096), 3, &|ep| {
        divides(ep) && stage.is_multiple_of(d.etp.saturating_mul(ep))
    });
    let tensor_sizes = near_matches(d.etp, 64, 2, &|etp| stage.is_multiple_of(etp.saturating_mul(d.ep)));
    let world = expert_grid_size(d);
    let hint = if !expert_sizes.is_empty() {
        format!("EP {} would work", or_list(&expert_sizes))
    } else if !tensor_sizes.is_empty() {
        format!("ETP {} would work", or_list(&tensor_sizes))
    } else {
        format!("world_size must be a multiple of ETP · EP · PP = {world}")
    };
    let message = format!(
        "ETP {} · EP {} = {span} must divide the {stage} ranks of a pipeline stage (TP · CP · DP = {} · {} · {}); {hint}",
        d.etp, d.ep, d.tp, d.cp, d.dp
    );
    let mut violation = Problem::error(
        &[
            F::expert_model_parallel_size,
            F::expert_tensor_parallel_size,
            F::tensor_model_parallel_size,
            F::pipeline_model_parallel_size,
            F::context_parallel_size,
            F::world_size,
        ],
        message,
    );
    // Where nothing says how many GPUs there are, there can be as many as the experts need.
    let open = d.args.world_size.is_none() && d.args.data_parallel_size.is_none();
    if open && stage < span && world.is_multiple_of(d.total_model_size()) {
        violation = violation.fix(F::world_size, Number(world));
    }
    Some(
        violation
            .fix_each(F::expert_model_parallel_size, &expert_sizes)
            .fix_each(F::expert_tensor_parallel_size, &tensor_sizes),
    )
}

/// Whether every sample is padded to a length that context and sequence parallelism can split.
fn pads_samples(d: &Draft<'_>) -> bool {
    d.packing.is_some() && d.args.max_seqlen_per_dp_cp_rank.is_some()
}

fn sequence_by_tp(d: &Draft<'_>) -> Option<Problem> {
    let length = d.args.seq_length;
    if !d.args.sequence_parallel || pads_samples(d) || (length / d.cp).is_multiple_of(d.tp) {
        return None;
    }
    let message = format!(
        "with sequence_parallel, seq_length {length} over CP {} must be a multiple of TP {}",
        d.cp, d.tp
    );
    let fields = [F::seq_length, F::tensor_model_parallel_size, F::sequence_parallel];
    let step = d.tp.saturating_mul(d.cp);
    Some(Alternatives::tp(d, F::seq_length, length, step).offer(&fields, &message))
}
