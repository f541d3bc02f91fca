//! Packed samples: what their budgets must hold, and what Megatron excludes (`validate_args`, `BalancedCPScheduler`,
//! `DotProductAttention.forward`, `MLASelfAttention`).

use super::rule::FixValue::{Default, Number, Off};
use super::rule::rules;
use crate::config::choices::{CudaGraphImpl, TransformerImpl};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::packing::longest_sample;
use crate::config::problem::Problem;

rules! { |d, a|
    error "sample_lengths"
        let mean = a.mean_sample_length?, let longest = longest_sample(a),
        if d.packing.is_some() && mean > longest => [mean_sample_length, longest_sample_length, seq_length],
        format!("mean_sample_length {mean} is more than the longest sample, {longest}"),
        [mean_sample_length = Number(longest), mean_sample_length = Default];
    warning "token_budget"
        let budget = a.max_seqlen_per_dp_cp_rank?,
        let all = budget.saturating_mul(d.cp), let longest = longest_sample(a),
        if d.packing.is_some() && !a.hybrid_context_parallel && longest > all
        => [max_seqlen_per_dp_cp_rank, seq_length, context_parallel_size],
        format!(
            "a sample of {longest} tokens is longer than max_seqlen_per_dp_cp_rank {budget} · CP {} = {all}: it is a micro \
             batch of its own, which verl refuses to run",
            d.cp
        ),
        [max_seqlen_per_dp_cp_rank = Number(longest.div_ceil(d.cp)), seq_length = Number(all)];
    error "dynamic_context_parallel"
        let ranks = d.cp.saturating_mul(d.dp), let budget = a.seq_length.div_ceil(ranks),
        if a.hybrid_context_parallel && a.max_seqlen_per_dp_cp_rank.is_none()
        => [hybrid_context_parallel, max_seqlen_per_dp_cp_rank],
        format!(
            "hybrid_context_parallel needs max_seqlen_per_dp_cp_rank, the tokens that a GPU can hold: at least seq_length {} \
             over DP · CP {ranks} = {budget}",
            a.seq_length
        ),
        [max_seqlen_per_dp_cp_rank = Number(budget), hybrid_context_parallel = Off];
    error "dynamic_context_parallel" by(sample_exceeds_all_ranks);
    error "dynamic_context_parallel" by(excludes);
    error "packed_attention" by(needs_transformer_engine);
}

const BUDGET: F = F::max_seqlen_per_dp_cp_rank;
const DYNAMIC: F = F::hybrid_context_parallel;

/// A sample runs on the next power of two of ranks (`BalancedCPScheduler.gpus_needed`), and there are DP · CP of them.
fn sample_exceeds_all_ranks(d: &Draft<'_>) -> Option<Problem> {
    d.packing?;
    let budget = d.args.max_seqlen_per_dp_cp_rank?;
    let (ranks, longest) = (d.cp.saturating_mul(d.dp), longest_sample(&d.args));
    let needed = longest.div_ceil(budget).next_power_of_two();
    (d.args.hybrid_context_parallel && needed > ranks).then(|| {
        let largest = 1 << ranks.max(1).ilog2();
        let message = format!(
            "a sample of {longest} tokens needs {needed} ranks of max_seqlen_per_dp_cp_rank {budget}, and DP · CP is {ranks}"
        );
        Problem::error(&[BUDGET, F::seq_length, F::world_size], message)
            .fix(BUDGET, Number(longest.div_ceil(largest)))
            .fix(F::seq_length, Number(budget.saturating_mul(largest)))
    })
}

fn excludes(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let (field, what, value) = if d.pp > 1 {
        let field = F::pipeline_model_parallel_size;
        (field, "pipeline stages", Number(1))
    } else if a.use_megatron_fsdp {
        (F::use_megatron_fsdp, "Megatron FSDP", Off)
    } else if a.cuda_graph_impl != CudaGraphImpl::None {
        (F::cuda_graph_impl, "CUDA graphs", Default)
    } else if a.multi_latent_attention {
        (F::multi_latent_attention, "multi_latent_attention", Off)
    } else {
        return None;
    };
    a.hybrid_context_parallel.then(|| {
        let message = format!("hybrid_context_parallel does not support {what}");
        let violation = Problem::error(&[DYNAMIC, field], message).fix(DYNAMIC, Off);
        if field == F::multi_latent_attention {
            violation
        } else {
            violation.fix(field, value)
        }
    })
}

fn needs_transformer_engine(d: &Draft<'_>) -> Option<Problem> {
    let local = d.args.transformer_impl == TransformerImpl::Local;
    (local && d.packing.is_some()).then(|| {
        let message = "transformer_impl local does not support packed samples: its attention knows one sample a row";
        let asked = if d.args.sft { F::sft } else { BUDGET };
        Problem::error(&[F::transformer_impl, asked], message)
            .fix(F::transformer_impl, Default)
            .fix(asked, Default)
    })
}
